// Lists, buttons and forms around the view.

import { colour } from "./fleet.js";
import { OVERLAYS, planOf } from "./overlays.js";

const TABS = { plots: "Plots", map: "Map", params: "Params", events: "Events", disturb: "Disturb", sticks: "Sticks", race: "Race", display: "Display" };
const EVENTS = 400, CAMERA_MS = 250;
const field = (id) => document.getElementById(id);

/** Sets a text or class only where it changes: what stays need not be painted again. */
function put(node, name, value) { if (node[name] !== value) node[name] = value; }

export class Panels {
  constructor(app) {
    this.app = app;
    this.tab = "plots";
    this.events = [];
    this.makeTabs();
    this.makeVehicles();
    this.makeOrders();
    this.makeClock();
    this.makeDisturbances();
    this.makeDisplay();
    field("loadplan").onclick = () => this.loadPlan();
    field("gotoform").onsubmit = (event) => { event.preventDefault(); const of = new FormData(event.target); app.goTo(Number(of.get("x")), Number(of.get("y")), Number(of.get("z"))); };
    field("level").onchange = () => this.showEvents();
    this.show(innerWidth < 821 ? "" : "plots");
  }

  makeTabs() {
    for (const [name, title] of Object.entries(TABS)) {
      const button = document.createElement("button"), panel = field(`p-${name}`);
      Object.assign(button, { textContent: title, id: `t-${name}` });
      button.setAttribute("role", "tab");
      button.hidden = name === "race"; // there is none, as far as is known
      button.setAttribute("aria-controls", panel.id);
      panel.setAttribute("aria-labelledby", button.id);
      button.onclick = () => this.show(this.tab === name && innerWidth < 821 ? "" : name);
      field("tabs").append(button);
    }
    field("tabs").onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const names = Object.keys(TABS).filter((name) => !field(`t-${name}`).hidden), next = names[(names.indexOf(this.tab) + step + names.length) % names.length];
      this.show(next);
      field(`t-${next}`).focus();
      event.stopPropagation();
    };
  }

  show(tab) {
    this.tab = tab;
    field("side").classList.toggle("closed", !tab);
    field("orders").classList.toggle("lifted", Boolean(tab));
    for (const name of Object.keys(TABS)) {
      field(`p-${name}`).hidden = name !== tab;
      field(`t-${name}`).setAttribute("aria-selected", String(name === tab));
    }
    if (tab === "events") this.showEvents();
  }

  makeVehicles() {
    const { app } = this;
    field("count").textContent = `${app.told.vehicles.length} vehicle${app.told.vehicles.length > 1 ? "s" : ""}`;
    field("all").onclick = () => app.chooseAll();
    this.rows = app.told.vehicles.map((vehicle, i) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.append(document.createElement("i"), Object.assign(document.createElement("span"), { textContent: vehicle.name }),
        Object.assign(document.createElement("span"), { className: "chip" }), document.createElement("small"));
      button.style.setProperty("--c", colour(i));
      button.onclick = (event) => app.choose(i, event.shiftKey || event.ctrlKey);
      item.append(button);
      field("vehicles").append(item);
      return { button, chip: button.children[2], small: button.children[3] };
    });
  }

  /** Modes, heights and reasons in the list of vehicles; a few times a second. */
  update(frame) {
    const { app } = this;
    this.rows.forEach((row, i) => {
      const armed = frame.get(i, "armed"), waiting = app.status.waiting?.[i], connected = app.status.connected?.[i] !== false;
      put(row.button, "className", armed ? "armed" : waiting || !connected ? "wait" : "");
      put(row.button, "ariaPressed", String(app.chosen.includes(i)));
      put(row.chip, "textContent", armed ? (app.told.modes[frame.get(i, "mode")] || "").replace("AUTO.", "") : connected ? (waiting ? "waits" : "ready") : "silent");
      put(row.button, "title", armed ? "" : waiting || "");
      const charge = frame.get(i, "battery"), volt = frame.get(i, "voltage");
      put(row.small, "textContent", `${frame.get(i, "pos", 2).toFixed(1)} m  ·  ${Math.hypot(frame.get(i, "vel", 0), frame.get(i, "vel", 1), frame.get(i, "vel", 2)).toFixed(1)} m/s${Number.isFinite(volt) ? `  ·  ${(100 * charge).toFixed(0)} %` : ""}`);
    });
    put(field("time"), "textContent", `${frame.t.toFixed(1)} s`);
  }

  status(status) {
    field("factor").textContent = status.paused ? "paused" : `${status.factor.toFixed(2)}×`;
    field("pause").textContent = status.paused ? "Go on" : "Pause";
    field("pause").setAttribute("aria-pressed", String(status.paused));
    const speed = field("speed");
    if (document.activeElement !== speed && [...speed.options].some((option) => Number(option.value) === status.speed)) speed.value = String(status.speed);
  }

  makeOrders() {
    const { app } = this;
    for (const name of ["arm", "disarm", "land", "hold", "rtl", "mission"]) field(name).onclick = () => app.order(name);
    field("takeoff").onclick = () => app.takeOff();
    field("goto").onclick = () => app.going = !app.going;
    for (const name of Object.values(app.told.modes)) field("mode").add(new Option(name));
    field("mode").onchange = (event) => { if (event.target.value) app.order("mode", { mode: event.target.value }); event.target.value = ""; };
    field("reset").onclick = () => app.control("reset", { vehicles: app.indices() });
  }

  makeClock() {
    const { app } = this;
    field("pause").onclick = () => app.control(app.status.paused ? "resume" : "pause");
    field("step").onclick = () => app.control("step", { n: 1 });
    field("speed").onchange = (event) => app.control("speed", { speed: Number(event.target.value) });
    for (const id of ["pause", "step", "speed"]) field(id).disabled = !app.told.control;
  }

  makeDisturbances() {
    const { app } = this, each = (text) => app.indices().forEach((i) => app.control("disturb", { disturbance: text(app.told.vehicles[i].name) }));
    const on = (id, act) => { field(id).onsubmit = (event) => { event.preventDefault(); act(new FormData(event.target, event.submitter)); }; };
    on("windform", (of) => app.control("wind", { wind: `mean=${of.get("e") || 0},${of.get("n") || 0},${of.get("u") || 0}${Number(of.get("dryden")) ? ` dryden=${of.get("dryden")}` : ""}` }));
    field("still").onclick = () => app.control("wind", { wind: "" });
    on("payloadform", (of) => each((name) => `payload ${name} ${of.get("mass")}`));
    on("rotorform", (of) => each((name) => `rotor ${name} ${of.get("rotor")} ${of.get("share")}`));
    on("chargeform", (of) => each((name) => `charge ${name} ${of.get("charge")}`));
    for (const unit of app.told.failures) field("failureform").unit.add(new Option(unit));
    on("failureform", (of) => app.order("failure", { unit: of.get("unit"), failed: of.get("failed") === "true" }));
  }

  makeDisplay() {
    const { app } = this;
    for (const [name, [title, on]] of Object.entries(OVERLAYS)) {
      const label = document.createElement("label"), check = Object.assign(document.createElement("input"), { type: "checkbox", checked: on, id: `o-${name}` });
      check.onchange = () => { app.overlays.on[name] = check.checked; };
      label.append(check, title);
      field("toggles").append(label);
    }
    field("quality").onchange = (event) => app.pace.choose(event.target.value);
    app.told.cameras.forEach(({ vehicle, sensor, kind }, k) => { if (kind !== "lidar") field("camera").add(new Option(`${vehicle} ${sensor}`, k)); });
    field("camera").disabled = app.told.cameras.length === 0;
    field("camera").onchange = () => this.showCamera();
  }

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

  async loadPlan() {
    const { app } = this;
    try {
      const answer = await app.connection.ask("items", { vehicles: [app.chosen[0] ?? 0] });
      app.overlays.plan = planOf(answer);
      field("plan").textContent = `${answer.mission.length} items, ${answer.fence.length} of the fence`;
    } catch (error) { app.say(error.message, true); }
  }

  event(event) {
    this.events.push(event);
    if (this.events.length > EVENTS) this.events.shift();
    if (this.tab === "events") this.showEvents();
    if (event.level <= 3) this.app.say(`${event.who} ${event.text}`, true);
  }

  showEvents() {
    const most = Number(field("level").value);
    field("events").replaceChildren(...this.events.filter(({ level }) => level <= most).slice(-120).reverse().map(({ t, who, text, level }) => {
      const item = document.createElement("li"), words = document.createElement("span");
      item.className = `l${level}`;
      words.append(Object.assign(document.createElement("b"), { textContent: who ? `${who} ` : "" }), text);
      item.append(Object.assign(document.createElement("time"), { textContent: `${t.toFixed(1)} s` }), words);
      return item;
    }));
  }
}
