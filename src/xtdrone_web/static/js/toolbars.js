// What is always there around the view: the list of vehicles, orders, and the clock.

import { colour } from "./fleet.js";

const field = (id) => document.getElementById(id);

/** Sets a text or class only where it changes: what stays need not be painted again. */
function put(node, name, value) { if (node[name] !== value) node[name] = value; }

export class Toolbars {
  constructor(app) {
    this.app = app;
    this.makeVehicles();
    this.makeOrders();
    this.makeClock();
  }

  makeVehicles() {
    const { app } = this;
    field("count").textContent = `${app.scene.vehicles.length} vehicle${app.scene.vehicles.length > 1 ? "s" : ""}`;
    field("all").onclick = () => app.chooseAll();
    this.rows = app.scene.vehicles.map((vehicle, i) => {
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

  makeOrders() {
    const { app } = this;
    for (const name of ["arm", "disarm", "land", "hold", "rtl", "mission"]) field(name).onclick = () => app.order(name);
    field("takeoff").onclick = () => app.takeOff();
    field("goto").onclick = () => app.going = !app.going;
    for (const name of Object.values(app.scene.modes)) field("mode").add(new Option(name));
    field("mode").onchange = (event) => { if (event.target.value) app.order("mode", { mode: event.target.value }); event.target.value = ""; };
    field("reset").onclick = () => app.control("reset", { vehicles: app.indices() });
  }

  makeClock() {
    const { app } = this;
    field("pause").onclick = () => app.control(app.status.paused ? "resume" : "pause");
    field("step").onclick = () => app.control("step", { n: 1 });
    field("speed").onchange = (event) => app.control("speed", { speed: Number(event.target.value) });
    for (const id of ["pause", "step", "speed"]) field(id).disabled = !app.scene.control;
  }

  /** Modes, heights and reasons in the list of vehicles; a few times a second. */
  update(frame) {
    const { app } = this;
    this.rows.forEach((row, i) => {
      const armed = frame.get(i, "armed"), waiting = app.status.waiting?.[i], connected = app.status.connected?.[i] !== false;
      put(row.button, "className", armed ? "armed" : waiting || !connected ? "wait" : "");
      put(row.button, "ariaPressed", String(app.chosen.includes(i)));
      put(row.chip, "textContent", armed ? (app.scene.modes[frame.get(i, "mode")] || "").replace("AUTO.", "") : connected ? (waiting ? "waits" : "ready") : "silent");
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
}
