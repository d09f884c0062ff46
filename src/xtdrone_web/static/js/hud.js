// The head-up display: horizon, speed, height, heading, battery, mode, warnings; names in the view.

import * as THREE from "../vendor/three.module.js";
import { euler } from "./frame.js";
import { colour } from "./fleet.js";
import { slotError } from "./slots.js";
import { apart } from "./twins.js";

/** A height as a pilot reads it, never -0.0. */
export function metres(height) { return (Math.round(10 * height) / 10 + 0).toFixed(1); }

const LOW = 300; // a view lower than this has no room for the instrument [px]
const NAMES_UP_TO = 40; // vehicles

export class Hud {
  constructor(canvas, fleet) {
    this.canvas = canvas;
    this.fleet = fleet;
    this.context = canvas.getContext("2d");
    this.at = new THREE.Vector3();
  }

  resize(width, height) {
    this.scale = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = width * this.scale;
    this.canvas.height = height * this.scale;
    this.width = width;
    this.height = height;
  }

  draw(frame, views, first, app) {
    const c = this.context;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = "600 11px Inter, sans-serif";
    c.textAlign = "center";
    c.lineJoin = "round";
    if (app.overlays.on.names) for (const part of views.parts()) this.names(part, views, app.everyone ? [] : app.chosen);
    if (views.name === "split") this.seams(views);
    this.instrument(frame, first, app);
  }

  names([name, left, low, wide, high], views, chosen) {
    if (name === "fpv" || (this.fleet.n > NAMES_UP_TO && !chosen.length)) return;
    const c = this.context, camera = views.cameras[name];
    for (let i = 0; i < this.fleet.n; i++) {
      if (this.fleet.n > NAMES_UP_TO && !chosen.includes(i)) continue;
      const at = this.at.copy(this.fleet.pos[i]), away = at.distanceTo(camera.position);
      at.z += 0.3;
      at.project(camera);
      if (at.z > 1 || Math.abs(at.x) > 1 || Math.abs(at.y) > 1 || away < 0.5) continue;
      const x = (left + wide * (at.x + 1) / 2) * this.width, y = (1 - low - high * (at.y + 1) / 2) * this.height - 7;
      const text = this.fleet.description.vehicles[i].name;
      c.globalAlpha = Math.max(0.35, Math.min(1, 18 / away));
      c.lineWidth = 3;
      c.strokeStyle = "rgba(5,10,20,.75)";
      c.strokeText(text, x, y);
      c.fillStyle = chosen.includes(i) ? "#fff" : colour(i);
      c.fillText(text, x, y);
    }
    c.globalAlpha = 1;
  }

  seams() {
    const c = this.context;
    c.fillStyle = "rgba(5,10,20,.8)";
    c.fillRect(this.width / 2 - 1, 0, 2, this.height);
    c.fillRect(0, this.height / 2 - 1, this.width, 2);
  }

  /** The instrument of one vehicle, in the middle above the orders. */
  instrument(frame, i, app) {
    const c = this.context, small = this.width < 560 || this.height < 420, radius = small ? 40 : 54;
    const x = this.width / 2, y = this.height - 16 - radius;
    if (this.height < LOW) { this.status(frame, i, x, this.height - 12, app); return; }
    const [roll, pitch, yaw] = euler(frame.read(i, "quat", [0, 0, 0, 1]));
    const vel = frame.read(i, "vel", [0, 0, 0]);
    c.save();
    c.translate(x, y);
    this.horizon(radius, roll, pitch);
    c.restore();
    this.tape(x - radius - 14, y, "right", Math.hypot(vel[0], vel[1]).toFixed(1), "m/s", `${vel[2] >= 0 ? "↑" : "↓"} ${Math.abs(vel[2]).toFixed(1)} m/s`);
    this.tape(x + radius + 14, y, "left", metres(frame.get(i, "height")), "m", `${((90 - yaw * 180 / Math.PI + 720) % 360).toFixed(0).padStart(3, "0")}°`);
    this.status(frame, i, x, y - radius - 12, app);
  }

  horizon(r, roll, pitch) {
    const c = this.context;
    c.beginPath();
    c.arc(0, 0, r, 0, 2 * Math.PI);
    c.save();
    c.clip();
    c.rotate(-roll);
    const shift = pitch * r * 1.6; // positive nose down in FLU: the horizon rises
    c.fillStyle = "rgba(58,132,214,.8)";
    c.fillRect(-2 * r, -3 * r - shift, 4 * r, 3 * r);
    c.fillStyle = "rgba(112,84,58,.85)";
    c.fillRect(-2 * r, -shift, 4 * r, 3 * r);
    c.strokeStyle = "rgba(255,255,255,.9)";
    c.lineWidth = 1.5;
    for (let k = -3; k <= 3; k++) {
      const half = k === 0 ? 2 * r : k % 2 ? 9 : 17, at = -shift - k * r * 0.28;
      c.beginPath();
      c.moveTo(-half, at);
      c.lineTo(half, at);
      c.stroke();
    }
    c.restore();
    c.strokeStyle = "rgba(10,18,32,.85)";
    c.lineWidth = 5;
    c.stroke();
    c.strokeStyle = "rgba(255,255,255,.65)";
    c.lineWidth = 1.2;
    c.stroke();
    c.strokeStyle = "#ffb020";
    c.lineWidth = 3;
    c.beginPath();
    c.moveTo(-0.55 * r, 0); c.lineTo(-0.2 * r, 0); c.lineTo(0, 0.14 * r); c.lineTo(0.2 * r, 0); c.lineTo(0.55 * r, 0);
    c.stroke();
  }

  text(text, x, y, font, fill = "#fff") {
    const c = this.context;
    c.font = `${font} Inter, sans-serif`;
    c.lineWidth = 3.5;
    c.strokeStyle = "rgba(5,10,20,.7)";
    c.strokeText(text, x, y);
    c.fillStyle = fill;
    c.fillText(text, x, y);
  }

  tape(x, y, align, value, unit, more) {
    const c = this.context;
    c.textAlign = align;
    this.text(value, x, y + 4, "650 24px");
    this.text(unit, x, y + 21, "500 11px", "#cfd8e6");
    this.text(more, x, y - 24, "600 13px", "#cfe3ff");
  }

  status(frame, i, x, y, app) {
    const c = this.context, vehicle = this.fleet.description.vehicles[i];
    const armed = frame.get(i, "armed"), mode = app.scene.modes[frame.get(i, "mode")] || "";
    const charge = frame.get(i, "battery"), volt = frame.get(i, "voltage");
    c.textAlign = "center";
    const battery = [Number.isFinite(charge) ? `${(100 * charge).toFixed(0)} %` : "", Number.isFinite(volt) ? `${volt.toFixed(1)} V` : ""].filter(Boolean).join("  ") || "no battery";
    const slotAway = slotError(frame, i), slot = Number.isFinite(slotAway) ? `   slot ${slotAway.toFixed(2)} m` : "";
    this.text(`${vehicle.name}   ${mode.replace("AUTO.", "")}   ${armed ? "armed" : "disarmed"}   ${battery}${slot}`, x, y, "600 13px", charge < 0.2 ? "#ff6b6b" : "#fff");
    const away = app.scene.replay ? apart(frame, i, app.scene) : NaN;
    if (Number.isFinite(away)) this.text(`${away.toFixed(2)} m from the other`, x, y - 38, "600 12.5px", "#9cc8ff");
    const warning = app.warning(i);
    if (warning) this.text(warning, x, y - 19, "600 12.5px", "#ffc24a");
  }
}
