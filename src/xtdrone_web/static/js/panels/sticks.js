// Sticks of a gamepad, the keyboard or the touch screen, read every 4 ms and sent at once.
// A gamepad is read in a frame of another process where there is one, see ../pad.js.

import { CENTRED, clip, Gamepad } from "../gamepad.js";
import { narrow } from "../panels.js";
import { token } from "../socket.js";

const READ_MS = 4, KEYS_PER_S = 3.2, STORE = "xtdrone-sticks";
const FUNCTIONS = { roll: "Roll", pitch: "Pitch", yaw: "Yaw", throttle: "Throttle" };
const DEFAULTS = { roll: { axis: 2, invert: false }, pitch: { axis: 3, invert: true }, yaw: { axis: 0, invert: false }, throttle: { axis: 1, invert: true } };
const OTHER_NAME = { localhost: "127.0.0.1", "127.0.0.1": "localhost" }; // of this machine, another origin
const SILENT_MS = 500; // after which the frame counts as gone
const KEYS = { w: ["throttle", 1], s: ["throttle", -1], a: ["yaw", -1], d: ["yaw", 1], arrowup: ["pitch", 1], arrowdown: ["pitch", -1], arrowleft: ["roll", -1], arrowright: ["roll", 1] };
const NOTES = {
  gamepad: "Left stick: throttle and yaw; right stick: pitch and roll. Hold LB to fly; let go and the vehicle holds its position. A takes off, B lands, X returns, Y POSCTL, RT arms, LT disarms.",
  keyboard: "W S throttle, A D yaw, arrows pitch and roll. Hold Shift to fly; let go and the vehicle holds its position.",
  touch: "Two sticks appear over the view. They count while a finger is on one; lift it and the vehicle holds its position." };

const NO_GAMEPAD = "No gamepad is seen: press one of its buttons, or choose Keyboard or Touch sticks.";
const DEAD_MAN = { gamepad: "LB", keyboard: "Shift", touch: "the finger" };
const MODES = ["MANUAL", "ALTCTL", "POSCTL", "ACRO", "STABILIZED"];

const field = (id) => document.getElementById(id);

class Sticks {
  constructor(app) {
    this.app = app;
    this.on = false;
    this.held = false;
    this.values = { ...CENTRED };
    this.own = new Gamepad();
    this.heard = -Infinity; // when the frame spoke last
    addEventListener("message", (event) => this.fromFrame(event));
    this.keys = new Set();
    this.shift = false;
    this.touches = { left: null, right: null };
    this.buttons = [];
    this.store = { mapping: structuredClone(DEFAULTS), ranges: {}, deadman: true, ...JSON.parse(localStorage.getItem(STORE) || "{}") };
    this.input = field("input");
    this.input.onchange = () => this.choose();
    field("fly").onclick = () => this.toggle();
    field("stickhelp").onclick = () => this.help?.();
    for (const button of field("stickmodes").children) button.onclick = () => app.order("mode", { mode: button.dataset.mode, ...(this.on && { vehicles: [this.vehicle] }) });
    field("deadman").checked = this.store.deadman;
    field("deadman").onchange = (event) => { this.store.deadman = event.target.checked; this.save(); };
    field("calibrate").onclick = () => this.calibrate();
    field("defaults").onclick = () => { this.store.mapping = structuredClone(DEFAULTS); this.store.ranges = {}; this.save(); this.showMapping(); };
    this.showMapping();
    this.listen();
    this.choose();
  }

  save() {
    localStorage.setItem(STORE, JSON.stringify(this.store));
    this.toFrame();
  }

  /** Opens the frame, if the page was opened by a name of this machine. */
  openFrame() {
    const other = OTHER_NAME[location.hostname];
    if (this.frame || !other) return;
    this.origin = `http://${other}:${location.port}`;
    this.frame = document.createElement("iframe");
    Object.assign(this.frame, { id: "padframe", src: `${this.origin}/gamepad`, allow: "gamepad", tabIndex: -1, title: "gamepad" });
    this.frame.ariaHidden = "true";
    document.body.append(this.frame);
  }

  toFrame() {
    const { mapping, ranges, deadman } = this.store, on = this.on && this.input.value === "gamepad";
    this.frame?.contentWindow.postMessage({ on, vehicle: this.vehicle, mapping, ranges, deadman, token: token() }, this.origin);
  }

  fromFrame({ data, origin, source }) {
    if (!this.frame || source !== this.frame.contentWindow || origin !== this.origin) return;
    if (data.ready) this.toFrame();
    else if (data.error) this.app.say(data.error, true);
    else {
      this.heard = performance.now();
      this.found = data.found;
      if (this.input.value === "gamepad") for (const order of data.found?.orders ?? []) this.press(order);
    }
  }

  /** Whether the frame reads a gamepad, and sends its sticks. */
  get framed() { return Boolean(this.found) && performance.now() - this.heard < SILENT_MS; }

  choose() {
    const missing = this.on && this.input.value === "gamepad" && !this.pad();
    if (missing) this.app.say(NO_GAMEPAD, true);
    field("sticknote").textContent = NOTES[this.input.value];
    field("touch").hidden = !(this.on && this.input.value === "touch");
    this.values = { ...CENTRED };
    this.toFrame();
    this.input.blur();
  }

  toggle() {
    const refusal = this.on ? "" : this.refusal();
    if (refusal) { this.app.say(refusal, true); return; }
    this.on = this.app.steering = !this.on;
    field("fly").setAttribute("aria-pressed", String(this.on));
    if (this.on) {
      [this.vehicle] = this.app.chosen;
      this.openFrame();
      this.timer = setInterval(() => this.read(), READ_MS);
    } else {
      clearInterval(this.timer);
      this.held ||= MODES.includes(this.app.scene.modes[this.app.frame.get(this.vehicle, "mode")]);
      this.release();
    }
    this.choose();
    if (this.on && this.input.value === "touch" && narrow()) this.app.panels.show(""); // room for the sticks
  }

  /** Why the sticks do not take over, or "". */
  refusal() {
    if (this.input.value === "gamepad" && !this.pad()) return NO_GAMEPAD;
    return this.app.chosen.length === 1 ? "" : "select the one vehicle that the sticks fly: click it";
  }

  /** In words why the sticks do nothing now, and what would help: [words, label of a button, its act]. */
  state(frame) {
    const { app } = this, gamepad = this.input.value === "gamepad";
    if (!this.on) return gamepad && !this.pad() ? [NO_GAMEPAD] : [`The sticks are off. ${app.chosen.length === 1 ? `Fly by sticks takes ${app.target}.` : "Select the one vehicle that they shall fly."}`];
    const i = this.vehicle, name = app.scene.vehicles[i].name, vehicles = [i];
    const mode = app.scene.modes[frame.get(i, "mode")] || "";
    if (gamepad && !this.pad()) return [`The gamepad is gone: ${name} holds its position. Press one of its buttons.`];
    if (app.connection.silent || performance.now() - frame.arrived > SILENT_MS) return [`The simulation does not answer: the sticks do not reach ${name}.`];
    if (app.status.paused) return ["The simulation is paused.", "Go on", () => app.control("resume")];
    if (frame.get(i, "crashed")) return [`${name} has crashed.`, "Reset", () => app.control("reset", { vehicles })];
    if (!frame.get(i, "armed")) return [app.status.waiting?.[i] ? `${name} does not arm yet: ${app.status.waiting[i]}` : `${name} is disarmed.`, `Take off ${name}`, () => app.takeOff(vehicles)];
    if (!MODES.includes(mode)) return [`${name} is in ${mode}, which takes no sticks.`, "POSCTL", () => app.order("mode", { vehicles, mode: "POSCTL" })];
    if (!this.held) return [`${name} holds: ${DEAD_MAN[this.input.value]} is let go.`];
    return [`The sticks fly ${name} in ${mode}.`];
  }

  tell([words, label = "", act = null]) {
    const [span, button] = field("stickstate").children;
    if (span.textContent !== words) span.textContent = words;
    if (button.textContent !== label) button.textContent = label;
    button.hidden = !label;
    this.help = act;
  }

  listen() {
    const key = (event, down) => {
      const typing = /INPUT|SELECT|TEXTAREA/.test(event.target.tagName) && event.target.type !== "checkbox";
      if (!this.on || this.input.value !== "keyboard" || typing) return;
      if (event.key === "Shift") this.shift = down;
      const name = event.key.toLowerCase();
      if (name in KEYS) { if (down) this.keys.add(name); else this.keys.delete(name); event.preventDefault(); event.stopImmediatePropagation(); }
    };
    addEventListener("keydown", (event) => key(event, true), true);
    addEventListener("keyup", (event) => key(event, false), true);
    addEventListener("blur", () => { this.keys.clear(); this.shift = false; });
    for (const pad of document.querySelectorAll(".pad")) {
      const move = (event) => {
        const box = pad.getBoundingClientRect(), r = box.width / 2;
        const at = [clip((event.clientX - box.left - r) / (0.75 * r)), clip(-(event.clientY - box.top - r) / (0.75 * r))];
        this.touches[pad.dataset.stick] = at;
        pad.firstElementChild.style.transform = `translate(${at[0] * 0.6 * r}px, ${-at[1] * 0.6 * r}px)`;
      };
      pad.onpointerdown = (event) => { pad.setPointerCapture(event.pointerId); move(event); };
      pad.onpointermove = (event) => { if (this.touches[pad.dataset.stick]) move(event); };
      pad.onpointerup = pad.onpointercancel = () => { this.touches[pad.dataset.stick] = null; pad.firstElementChild.style.transform = ""; };
    }
  }

  /** Reads the input and sends it; every READ_MS. */
  read() {
    const now = performance.now(), held = this[this.input.value](now);
    if (this.held && !held) this.release();
    this.held = held;
    if (this.input.value === "gamepad" && this.framed) return;
    this.app.connection.sticks(this.vehicle, held ? this.values : CENTRED, now);
  }

  /** The dead-man button was let go: the vehicle holds its position. */
  release() {
    if (this.held) this.app.order("hold", { vehicles: [this.vehicle] }, true);
    this.held = false;
  }

  /** What the gamepad says, from the frame or from here. */
  pad() {
    if (this.framed) return this.found;
    const found = this.own.read(this.store);
    for (const order of found?.orders ?? []) this.press(order);
    return found;
  }

  gamepad() {
    const found = this.pad();
    if (!found) return false;
    if (this.ranges) found.axes.forEach((x, k) => { const r = (this.ranges[k] ??= [x, x, x]); r[0] = Math.min(r[0], x); r[1] = Math.max(r[1], x); r[2] = x; });
    this.values = { ...found.values };
    return found.held;
  }

  press(order) {
    const vehicles = this.on ? [this.vehicle] : this.app.chosen; // the one that the sticks fly, whatever is selected
    if (order === "POSCTL") this.app.order("mode", { vehicles, mode: order });
    else if (order === "takeoff") this.app.takeOff(vehicles);
    else this.app.order(order, { vehicles });
  }

  keyboard() {
    const step = (KEYS_PER_S * READ_MS) / 1000;
    for (const name of Object.keys(this.values)) {
      let aim = 0;
      for (const key of this.keys) if (KEYS[key][0] === name) aim += KEYS[key][1];
      const away = clip(aim) - this.values[name];
      this.values[name] += Math.max(-2 * step, Math.min(2 * step, away));
    }
    return !this.store.deadman || this.shift;
  }

  touch() {
    const { left, right } = this.touches;
    [this.values.yaw, this.values.throttle] = left || [0, 0];
    [this.values.roll, this.values.pitch] = right || [0, 0];
    return Boolean(left || right);
  }

  calibrate() {
    const button = field("calibrate"), note = field("calnote");
    if (!this.ranges) {
      if (!this.pad()) { note.textContent = "No gamepad is seen: press one of its buttons first."; return; }
      this.ranges = {};
      this.timerCalibration = setInterval(() => { if (!this.on) this.gamepad(); }, 20);
      note.textContent = "Move every stick to all of its ends, let go, then press Done.";
      button.textContent = "Done";
      return;
    }
    clearInterval(this.timerCalibration);
    this.store.ranges = this.ranges;
    this.ranges = null;
    this.save();
    button.textContent = "Calibrate";
    note.textContent = `Calibrated: ${Object.values(this.store.ranges).map(([a, b]) => `${a.toFixed(2)} to ${b.toFixed(2)}`).join(", ")}`;
  }

  showMapping() {
    const box = field("mapping");
    box.replaceChildren();
    for (const [name, title] of Object.entries(FUNCTIONS)) {
      const label = document.createElement("span"), axis = document.createElement("select"), turn = document.createElement("label"), check = document.createElement("input");
      label.textContent = title;
      for (let k = 0; k < 8; k++) axis.add(new Option(`axis ${k}`, k));
      axis.value = this.store.mapping[name].axis;
      axis.setAttribute("aria-label", `axis of ${name}`);
      axis.onchange = () => { this.store.mapping[name].axis = Number(axis.value); this.save(); };
      check.type = "checkbox";
      check.checked = this.store.mapping[name].invert;
      check.onchange = () => { this.store.mapping[name].invert = check.checked; this.save(); };
      turn.append(check, "reversed");
      box.append(label, axis, turn);
    }
  }

  draw(frame) {
    const canvas = field("sticksview"), c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    this.openFrame();
    if (this.input.value === "gamepad" && !this.on) this.gamepad();
    this.tell(this.state(frame));
    c.clearRect(0, 0, 300, 130);
    [[75, this.values.yaw, this.values.throttle], [225, this.values.roll, this.values.pitch]].forEach(([x, u, v]) => {
      c.strokeStyle = style.getPropertyValue("--quiet");
      c.lineWidth = 1.5;
      c.beginPath(); c.arc(x, 65, 56, 0, 7); c.stroke();
      c.fillStyle = style.getPropertyValue(this.held ? "--accent" : "--quiet");
      c.beginPath(); c.arc(x + 46 * u, 65 - 46 * v, 11, 0, 7); c.fill();
    });
    const [, median, worst, count] = frame.latency;
    field("latency").textContent = count ? `${median.toFixed(1)} ms, 99 % within ${worst.toFixed(1)} ms` : "–";
    field("roundtrip").textContent = Number.isFinite(this.app.connection.roundTrip) ? `${this.app.connection.roundTrip.toFixed(1)} ms there and back` : "–";
  }
}

export const panel = {
  title: "Sticks",
  place: 60,
  orders: ["hold", "mode", "reset", "resume"],
  pilot: true,
  available: (scene) => !scene.replay,
  markup: `
    <div class="row wrap"><label>Input <select id="input"><option value="gamepad">Gamepad</option><option value="keyboard">Keyboard</option><option value="touch">Touch sticks</option></select></label><button id="fly" aria-pressed="false">Fly by sticks</button></div>
    <div id="stickstate" role="status"><span>The sticks are off.</span><button id="stickhelp" hidden></button></div>
    <p id="sticknote" class="quiet"></p>
    <div class="row wrap" role="group" aria-label="mode of the sticks" id="stickmodes"><button data-mode="POSCTL">POSCTL</button><button data-mode="ALTCTL">ALTCTL</button><button data-mode="STABILIZED">STABILIZED</button><button data-mode="ACRO">ACRO</button></div>
    <canvas id="sticksview" width="300" height="130" aria-hidden="true"></canvas>
    <dl class="figures"><dt>stick to actuator</dt><dd id="latency">–</dd><dt>page to server</dt><dd id="roundtrip">–</dd></dl>
    <h2>Mapping</h2><div id="mapping"></div>
    <div class="row wrap"><button id="calibrate">Calibrate</button><button id="defaults">Defaults</button><label><input id="deadman" type="checkbox"> dead-man button</label></div>
    <p id="calnote" class="quiet"></p>`,
  overlay: `
    <div id="touch" hidden>
      <div class="pad" data-stick="left" aria-label="left stick: throttle and yaw"><i></i></div>
      <div class="pad" data-stick="right" aria-label="right stick: pitch and roll"><i></i></div>
    </div>`,
  style: `
    #mapping { display: grid; grid-template-columns: auto 1fr auto; gap: 5px 10px; align-items: center; }
    #p-sticks label { display: flex; gap: 7px; align-items: center; }
    #sticksview { width: 100%; margin-top: 8px; }
    #padframe { position: fixed; left: 0; bottom: 0; width: 2px; height: 2px; border: 0; pointer-events: none; }
    #touch { position: absolute; inset: auto 0 12px 0; display: flex; justify-content: space-between; padding: 0 16px; pointer-events: none; }
    .pad { pointer-events: auto; width: 142px; height: 142px; border-radius: 50%; background: rgba(255,255,255,.1); border: 1.5px solid rgba(255,255,255,.35); position: relative; touch-action: none; }
    .pad i { position: absolute; left: 50%; top: 50%; width: 54px; height: 54px; margin: -27px; border-radius: 50%; background: var(--accent); box-shadow: 0 3px 12px rgba(0,0,0,.4); }
    #stickstate { margin: 8px 0; padding: 6px 10px; border-radius: 8px; background: var(--field); display: flex; gap: 8px; align-items: center; flex-wrap: wrap; min-height: 44px; }
    #stickstate span { flex: 1 1 12em; }`,
  open: (app) => new Sticks(app),
  on: { draw: (sticks, frame) => sticks.draw(frame) },
};
