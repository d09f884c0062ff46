// What is always there around the view: the list of vehicles, orders, and the clock.

import { colour } from "./fleet.js";
import { metres } from "./hud.js";

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
    field("all").onclick = () => { if (app.everyone) app.chosen = []; else app.chooseAll(); };
    this.rows = app.scene.vehicles.map((vehicle, i) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.append(document.createElement("i"), Object.assign(document.createElement("span"), { textContent: vehicle.name }),
        Object.assign(document.createElement("span"), { className: "charge" }), Object.assign(document.createElement("span"), { className: "chip" }), document.createElement("small"));
      button.style.setProperty("--c", colour(i));
      button.onclick = (event) => app.choose(i, event.shiftKey || event.ctrlKey);
      item.append(button);
      field("vehicles").append(item);
      const [, , charge, chip, small] = button.children;
      return { button, charge, chip, small };
    });
  }

  makeOrders() {
    const { app } = this;
    this.buttons = [...field("orders").querySelectorAll("button")].map((button) => [button, button.textContent]);
    for (const name of ["arm", "disarm", "land", "hold", "rtl", "mission"]) field(name).onclick = () => app.order(name);
    field("takeoff").onclick = () => app.takeOff();
    field("goto").onclick = () => app.going = !app.going;
    for (const name of Object.values(app.scene.modes)) field("mode").add(new Option(name));
    field("setmode").onclick = () => { if (field("mode").value) app.order("mode", { mode: field("mode").value }); else app.say("choose a mode first", true); };
    field("reset").onclick = () => app.reset();
    field("kill").onclick = () => app.kill();
    this.aim();
  }

  /** Has each order name its targets. */
  aim() {
    const { target } = this.app;
    if (this.aimed === target) return;
    this.aimed = target;
    const count = this.app.chosen.length;
    field("target").textContent = count === 1 ? target : count ? `${count} vehicles` : "no vehicle selected";
    field("all").textContent = this.app.everyone ? "None" : "All";
    for (const [button, words] of this.buttons) {
      button.disabled = !count;
      button.replaceChildren(words, ...(count ? [Object.assign(document.createElement("span"), { className: count === 1 ? "to name" : "to", textContent: ` ${target}` })] : []));
    }
  }

  makeClock() {
    const { app } = this;
    field("pause").onclick = () => app.control(app.status.paused ? "resume" : "pause");
    field("step").onclick = () => app.control("step", { n: 1 });
    field("speed").onchange = (event) => app.control("speed", { speed: Number(event.target.value) });
    for (const id of ["pause", "step", "speed"]) field(id).disabled = !app.scene.control;
    if (!app.scene.control) field("pause").title = "this simulation has no control socket";
  }

  /** Modes, heights and reasons in the list of vehicles; a few times a second. */
  update(frame) {
    const { app } = this;
    this.aim();
    this.rows.forEach((row, i) => {
      const armed = frame.get(i, "armed"), waiting = app.status.waiting?.[i], connected = app.status.connected?.[i] !== false;
      const crashed = frame.get(i, "crashed");
      put(row.button, "className", crashed ? "crashed" : armed ? "armed" : waiting || !connected ? "wait" : "");
      put(row.button, "ariaPressed", String(app.chosen.includes(i)));
      put(row.chip, "textContent", crashed ? "crashed" : armed ? "armed" : connected ? (waiting ? "waits" : "ready") : "silent");
      put(row.button, "title", crashed ? "has crashed: Reset puts it back to its start" : armed ? "" : waiting || "");
      const charge = frame.get(i, "battery"), speed = Math.hypot(frame.get(i, "vel", 0), frame.get(i, "vel", 1), frame.get(i, "vel", 2));
      const mode = (app.scene.modes[frame.get(i, "mode")] || "").replace("AUTO.", "");
      put(row.small, "textContent", [mode, `${metres(frame.get(i, "height"))} m`, `${speed.toFixed(1)} m/s`].filter(Boolean).join(" · "));
      put(row.charge, "textContent", Number.isFinite(charge) ? `${(100 * charge).toFixed(0)} %` : "");
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
