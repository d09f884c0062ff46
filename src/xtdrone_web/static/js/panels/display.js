// What is drawn and how well: overlays, quality, images of the vehicles' cameras.

import { OVERLAYS } from "../overlays.js";

const CAMERA_MS = 250;
const field = (id) => document.getElementById(id);

class Display {
  constructor(app) {
    for (const [name, [title, on]] of Object.entries(OVERLAYS)) {
      const label = document.createElement("label"), check = Object.assign(document.createElement("input"), { type: "checkbox", checked: on, id: `o-${name}` });
      check.onchange = () => { app.overlays.on[name] = check.checked; };
      label.append(check, title);
      field("toggles").append(label);
    }
    field("quality").onchange = (event) => app.pace.choose(event.target.value);
    app.scene.cameras.forEach(({ vehicle, sensor, kind }, k) => { if (kind !== "lidar") field("camera").add(new Option(`${vehicle} ${sensor}`, k)); });
    field("camera").disabled = app.scene.cameras.length === 0;
    field("nocamera").hidden = !field("camera").disabled;
    field("camera").onchange = () => this.showCamera();
  }

  showPace(text) { field("fps").textContent = text; }

  showCamera() {
    const number = field("camera").value, image = field("cameraimage");
    clearTimeout(this.cameraTimer);
    image.hidden = true;
    if (number === "") return;
    const next = async () => {
      try {
        const answer = await fetch(`/camera/${number}.jpg`, { cache: "no-store" });
        if (answer.status === 200) {
          const before = image.src;
          image.src = URL.createObjectURL(await answer.blob());
          image.hidden = false;
          if (before.startsWith("blob:")) URL.revokeObjectURL(before);
        }
      } catch { /* the simulation has ended */ }
      if (field("camera").value === number) this.cameraTimer = setTimeout(next, CAMERA_MS);
    };
    next();
  }
}

export const panel = {
  title: "Display",
  place: 80,
  markup: `
    <div id="toggles"></div>
    <h2>Quality</h2><div class="row wrap"><select id="quality" aria-label="quality"><option value="auto">follows the machine</option><option value="0">fast</option><option value="1">with shadows</option><option value="2">best</option></select><span id="fps" class="quiet"></span></div>
    <h2>Cameras</h2><div class="row wrap"><select id="camera" aria-label="camera"><option value="">none</option></select></div><p id="nocamera" class="empty" hidden>These vehicles carry no camera: give one to their SDF, or fly a type that has one.</p><img id="cameraimage" alt="image of the vehicle's camera" hidden>`,
  style: `
    #toggles { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 10px; margin-top: 6px; }
    #toggles label { min-height: 27px; display: flex; gap: 7px; align-items: center; }
    #cameraimage { width: 100%; border-radius: 8px; margin-top: 8px; background: #000; }`,
  open: (app) => new Display(app),
  on: { pace: (display, text) => display.showPace(text) },
};
