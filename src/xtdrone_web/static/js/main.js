// The page: connects, loads what is there, and draws.

import * as THREE from "../vendor/three.module.js";
import { Layout } from "./frame.js";
import { Connection } from "./socket.js";
import { World } from "./world.js";
import { Actors } from "./actors.js";
import { Fleet, setTwins } from "./fleet.js";
import { Views, VIEWS } from "./views.js";
import { Overlays } from "./overlays.js";
import { Hud } from "./hud.js";
import { Panels } from "./panels.js";
import { Toolbars } from "./toolbars.js";
import { Recorder } from "./record.js";
import { Pace } from "./pace.js";
import { Replay } from "./replay.js";
import { confirmed } from "./confirm.js";
import { backLink } from "./back.js";

const field = (id) => document.getElementById(id);
const AHEAD_S = 0.06; // the longest that a state is carried on by its velocity
const PICK_PIXELS = 34, SLOW_MS = 400, PANEL_MS = [250, 120, 80], SAY_MS = 4500;

class App {
  #chosen = []; // nothing at first: an order needs a vehicle that somebody has selected

  constructor(layout) {
    this.layout = layout;
    this.canvas = field("view");
    this.status = {};
    this.frame = null;
    this.steering = false; // sticks of this page fly a vehicle
    this.warnings = new Map();
    this.early = []; // what came before the panels were loaded
    this.connection = new Connection(layout, {
      frame: (frame) => { this.previous = this.frame; this.frame = frame; this.publish("frame", frame); this.replay?.take(frame); },
      past: (frames) => { this.overlays.recall(frames); this.publish("past", frames); },
      scene: (scene) => (this.scene ? this.again(scene) : this.begin(scene)),
      status: (status) => { this.status = status; this.toolbars?.status(status); this.replay?.status(status); this.publish("status", status); },
      event: (event) => this.event(event),
      other: (message) => this.publish(message.op, message),
      error: ({ error }) => this.say(error, true),
      lost: (why) => this.say(why || "the simulation does not answer; trying again …", true) });
  }

  async begin(scene) {
    this.scene = scene;
    this.status = scene.status;
    field("world").textContent = scene.world.name;
    this.admit(scene);
    backLink(field("back"));
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: false, alpha: false, stencil: false, powerPreference: "high-performance" });
    this.renderer.toneMapping = THREE.ACESFilmicToneMapping;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.setScissorTest(true);
    setTwins(scene.vehicles);
    this.world = new World(scene.world);
    this.actors = new Actors(scene.world.actors, this.world);
    this.fleet = new Fleet(scene, this.world.scene);
    this.overlays = new Overlays(this.world.scene, this.fleet);
    this.views = new Views(this.canvas, this.fleet);
    this.hud = new Hud(field("hud"), this.fleet);
    this.pace = new Pace(this);
    this.toolbars = new Toolbars(this);
    this.recorder = new Recorder(this);
    if (scene.replay) this.replay = new Replay(this, scene);
    this.makeControls();
    const panels = await Panels.load(this, scene.panels);
    this.panels = panels;
    panels.open();
    this.publish("events", scene.events);
    for (const [topic, values] of this.early.splice(0)) this.publish(topic, ...values);
    await Promise.all([this.world.load(), this.actors.load(), this.fleet.load()]);
    this.setTheme(localStorage.getItem("xtdrone-theme") || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
    this.setView("orbit");
    new ResizeObserver(() => this.setQuality()).observe(field("stage"));
    this.setQuality();
    this.replay?.again();
    requestAnimationFrame((now) => this.draw(now));
  }

  /** The connection is back. */
  again(scene) {
    const same = scene.vehicles.length === this.scene.vehicles.length && scene.world.name === this.scene.world.name;
    if (!same) location.reload();
    this.admit(scene);
    this.status = scene.status;
    this.replay?.again();
    this.publish("scene", scene);
    this.say("connected again");
  }

  /** Whether the page may command; one that may not says why. */
  admit({ pilot, replay }) {
    document.body.classList.toggle("viewer", !pilot);
    field("role").hidden = pilot || Boolean(replay);
    this.panels?.admit(pilot);
    for (const each of document.querySelectorAll(".pilot")) each.inert = !pilot;
  }

  /** The panels' objects by name, for tests and for the curious in the console. */
  get panel() { return this.panels.opened; }

  /** Tells the panels; until they are there, what is not told again soon is kept for them. */
  publish(topic, ...values) {
    if (this.panels) this.panels.publish(topic, ...values);
    else if (topic !== "frame" && topic !== "status") this.early.push([topic, values]);
  }

  makeControls() {
    for (const button of field("views").children) button.onclick = () => this.setView(button.dataset.view);
    field("theme").onclick = () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    field("help").onclick = () => field("keys").showModal();
    let down = null;
    this.canvas.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
    this.canvas.addEventListener("pointerup", (event) => {
      if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 5) this.click(event);
      down = null;
    });
    addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (this.replay?.key(event)) { event.preventDefault(); return; }
    if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const onButton = event.target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter");
    const keys = { " ": () => field("pause").click(), ".": () => field("step").click(), t: () => this.takeOff(), l: () => this.order("land"),
      h: () => this.order("hold"), r: () => this.order("rtl"), g: () => { this.going = !this.going; }, v: () => field("record").click(),
      "[": () => this.chooseNext(-1), "]": () => this.chooseNext(1), A: () => this.chooseAll(), "?": () => field("help").click(), Escape: () => { if (this.going) this.going = false; else this.chosen = []; },
      ...Object.fromEntries(VIEWS.map((name, k) => [String(k + 1), () => this.setView(name)])) };
    if (!onButton && keys[event.key]) { event.preventDefault(); keys[event.key](); }
  }

  setView(name) {
    this.views.name = name;
    for (const button of field("views").children) button.setAttribute("aria-checked", String(button.dataset.view === name));
  }

  setTheme(name) {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("xtdrone-theme", name);
    field("theme").textContent = name === "dark" ? "Light" : "Dark";
    this.world.theme(name);
    this.publish("theme");
  }

  setQuality() {
    const { level, scale } = this.pace, { width, height } = this.size();
    this.renderer.setPixelRatio(scale);
    this.renderer.setSize(width, height, false);
    this.renderer.shadowMap.enabled = level > 0;
    this.renderer.toneMapping = level > 0 ? THREE.ACESFilmicToneMapping : THREE.NoToneMapping;
    this.world.quality(level);
    this.fleet.quality(level);
    this.hud.resize(width, height);
    document.body.classList.toggle("plain", level === 0); // blurred glass is slow without a graphics card
    for (const lines of [this.overlays.lines, this.overlays.trails]) lines.material.uniforms.size.value.set(width, height);
    for (const [name, , , wide, high] of [...this.views.parts(), ...Object.keys(this.views.cameras).map((key) => [key, 0, 0, 1, 1])]) {
      this.views.cameras[name].aspect = (width * wide) / (height * high);
      this.views.cameras[name].updateProjectionMatrix();
    }
  }

  /** Width and height of the view [px]: what the panels leave free. */
  size() {
    const { clientWidth, clientHeight } = field("stage");
    return { width: Math.max(1, clientWidth), height: Math.max(1, clientHeight) };
  }

  get going() { return field("goto").getAttribute("aria-pressed") === "true"; }

  set going(on) {
    field("goto").setAttribute("aria-pressed", String(on));
    this.canvas.style.cursor = on ? "crosshair" : "";
    if (on) this.say("click the ground or the map; Escape leaves it");
  }

  /** Indices of the selected vehicles; orders name them at once. */
  get chosen() { return this.#chosen; }

  set chosen(indices) {
    this.#chosen = indices;
    this.toolbars?.aim();
  }

  /** Whether all of several vehicles are selected: none is marked then. */
  get everyone() { return this.chosen.length === this.scene.vehicles.length && this.chosen.length > 1; }

  /** The selected vehicles in words: their name or number, "" for none. */
  get target() {
    const { length } = this.chosen;
    return length === 1 ? this.scene.vehicles[this.chosen[0]].name : length ? String(length) : "";
  }

  choose(i, more) {
    if (!more) this.chosen = [i];
    else this.chosen = this.chosen.includes(i) ? this.chosen.filter((k) => k !== i) : [...this.chosen, i];
  }

  chooseAll() {
    this.chosen = this.scene.vehicles.map((_, i) => i);
  }

  chooseNext(step) {
    const n = this.scene.vehicles.length, one = this.chosen.length && !this.everyone;
    this.choose(one ? (this.chosen[0] + step + n) % n : step > 0 ? 0 : n - 1);
  }

  click(event) {
    const box = this.canvas.getBoundingClientRect(), { width, height } = this.size();
    const at = this.views.at((event.clientX - box.left) / width, (event.clientY - box.top) / height);
    if (!at) return;
    if (this.going) { this.goToRay(at); return; }
    const p = new THREE.Vector3(), best = { away: PICK_PIXELS, i: -1 };
    this.fleet.pos.forEach((pos, i) => {
      p.copy(pos).project(at.camera);
      const away = p.z < 1 ? Math.hypot((p.x - at.x) * width / 2, (p.y - at.y) * height / 2) : Infinity;
      if (away < best.away) Object.assign(best, { away, i });
    });
    if (best.i >= 0) this.choose(best.i, event.shiftKey);
  }

  goToRay({ camera, x, y }) {
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(x, y), camera);
    const place = ray.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 0, 1), 0), new THREE.Vector3());
    if (place && place.length() < 5000) this.goTo(place.x, place.y);
    else this.say("there is no ground to fly to", true);
  }

  /** Sends the middle of the selected vehicles to a place; they keep their heights without one. */
  goTo(x, y, z = null) {
    this.going = false;
    this.order("goto", { x, y, z });
  }

  takeOff(vehicles = this.chosen) { return this.order("takeoff", { vehicles, height: Number(field("height").value) }); }

  /** An order to the selected vehicles, or to those of its values; says how it went. */
  async order(op, values = {}, quietly = false) {
    const vehicles = values.vehicles ?? this.chosen;
    if (!vehicles.length) { this.say("select a vehicle first: click it, or All", true); return null; }
    try {
      const answer = await this.connection.ask(op, { ...values, vehicles });
      const refused = answer.results.filter(({ ok }) => !ok), done = answer.results.length - refused.length;
      if (refused.length) this.say(`${op} refused by ${refused.length === 1 ? refused[0].vehicle : `${refused.length} vehicles`}: ${refused[0].text}`, true);
      else if (!quietly) this.say(`${op}: ${done === 1 ? answer.results[0].vehicle : `${done} vehicles`}${op === "param_set" ? `, ${answer.results[0].text}` : ""}`);
      return answer;
    } catch (error) {
      this.say(error.message, true);
      return null;
    }
  }

  /** Has the selected vehicles, if there are several, confirmed before what cannot be taken back. */
  confirmed(what, always = false) {
    if (this.chosen.length < 2 && !always) return Promise.resolve(true);
    return confirmed(`${what} ${this.target}?`, this.chosen.map((i) => this.scene.vehicles[i].name));
  }

  /** Resets the selected vehicles. */
  async reset() {
    if (!this.chosen.length) this.say("select a vehicle first: click it, or All", true);
    else if (await this.confirmed("Reset")) this.control("reset", { vehicles: this.chosen });
  }

  /** Stops the motors of the selected vehicles, in flight too. */
  async kill() {
    if (!this.chosen.length || await this.confirmed("Kill", true)) this.order("disarm", { force: true });
  }

  /** A request to the simulation itself. */
  async control(op, values = {}) {
    try {
      await this.connection.ask(op, values);
      this.say({ pause: "paused", resume: "goes on", step: "one step", wind: "wind is set", disturb: "done", reset: "reset", speed: "speed is set" }[op] || op);
    } catch (error) { this.say(error.message, true); }
  }

  event(event) {
    this.publish("event", event);
    if (event.level <= 3) this.say(`${event.who} ${event.text}`, true);
    if (event.level <= 4 && event.who) this.warnings.set(event.who, [event.text, performance.now()]);
  }

  /** What the display warns of for a vehicle, or "". */
  warning(i) {
    const waiting = this.status.waiting?.[i], [text, since] = this.warnings.get(this.scene.vehicles[i].name) || ["", 0];
    if (this.frame.get(i, "crashed")) return "has crashed: Reset puts it back to its start";
    const shown = performance.now() - since < 6000 ? text : !this.frame.get(i, "armed") && waiting ? waiting : "";
    return shown.length > 96 ? `${shown.slice(0, 95)}…` : shown;
  }

  say(text, bad = false) {
    const toast = field("toast");
    toast.textContent = text;
    toast.classList.toggle("bad", bad);
    toast.classList.add("on");
    clearTimeout(this.saying);
    this.saying = setTimeout(() => toast.classList.remove("on"), SAY_MS);
  }

  draw(now) {
    requestAnimationFrame((next) => this.draw(next));
    if (!this.frame || !this.pace.due(now)) return;
    const dt = Math.min(0.1, (now - (this.last || now)) / 1000);
    this.last = now;
    const still = this.status.paused || now - this.frame.arrived > 200;
    const ahead = still ? 0 : Math.min(AHEAD_S, (performance.now() - this.frame.arrived) / 1000) * (this.status.speed || 1);
    this.fleet.update(this.frame, ahead, still ? 0 : dt);
    this.actors.update(this.frame.t + ahead);
    const first = this.views.update(this.chosen, dt);
    this.overlays.update(this.frame, this.chosen, this.everyone, this.pace.level);
    this.publish("animate", this.frame);
    this.world.follow(this.views.focus, 6 + 1.6 * this.views.reach);
    this.render();
    this.hud.draw(this.frame, this.views, first, this);
    this.slow(now);
    this.pace.tick(now);
    if (!document.body.dataset.ready) document.body.dataset.ready = String(Math.round(now));
  }

  render() {
    const { width, height } = this.size(), split = this.views.name === "split";
    for (const [name, left, low, wide, high] of this.views.parts()) {
      const camera = this.views.cameras[name];
      const aspect = (width * wide) / (height * high);
      if (Math.abs(camera.aspect - aspect) > 1e-6) { camera.aspect = aspect; camera.updateProjectionMatrix(); }
      this.fleet.hidden = name === "fpv" ? this.chosen[0] ?? 0 : -1;
      this.overlays.ring.visible = name !== "fpv";
      camera.updateMatrixWorld();
      this.fleet.place(this.frame, camera.position);
      this.world.look(camera);
      this.renderer.setViewport(left * width, low * height, wide * width, high * height);
      this.renderer.setScissor(left * width, low * height, wide * width, high * height);
      this.renderer.render(this.world.scene, camera);
      this.renderer.shadowMap.autoUpdate = !split;
    }
    this.renderer.shadowMap.autoUpdate = true;
  }

  /** What people read changes slower than what they watch. */
  slow(now) {
    if (!(now - this.slowly < SLOW_MS)) { this.slowly = now; this.toolbars.update(this.frame); }
    if (!(now - this.panelled < PANEL_MS[this.pace.level])) {
      this.panelled = now;
      this.panels.draw(this.frame);
    }
  }
}

const layout = await (await fetch("/static/frame.json")).json();
window.station = new App(new Layout(layout)); // for tests and for the curious in the console
