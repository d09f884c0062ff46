// A recording on the page: the bar of time, speed, keys, and events as time passes.

const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 4, 8, 16];
const SMALL_S = 0.1, LARGE_S = 5, MAX_MARKS = 300;
const ORDERS = new Set(["t", "l", "h", "r", "g", "."]);
const KEYS = [["1 2 3 4 5", "orbit, chase, first person, top, split"], ["[ ]", "previous, next vehicle"], ["Shift A", "all vehicles"],
  ["Space", "play, pause"], ["← →", "0.1 s back, forward; with Shift 5 s"], ["↑ ↓", "faster, slower"], ["Home, End", "start, end"],
  ["V", "record"], ["Tab, Enter", "every button"]];
const field = (id) => document.getElementById(id);

export class Replay {
  constructor(app, scene) {
    this.app = app;
    this.about = scene.replay;
    this.marks = scene.marks;
    this.shown = -1; // events up to the time that is shown
    this.t = scene.status.t;
    this.dragging = false;
    document.body.classList.add("replay");
    field("replay").hidden = false;
    field("recorded").textContent = this.describe();
    field("recorded").title = this.describe();
    field("pace").append(...SPEEDS.map((speed) => new Option(`${speed}×`, speed)));
    field("pace").onchange = (event) => this.ask("speed", { speed: Number(event.target.value) });
    field("play").onclick = () => this.ask(this.app.status.paused ? "resume" : "pause");
    field("keys").querySelector("dl").replaceChildren(...KEYS.flatMap(([key, what]) => [Object.assign(document.createElement("dt"), { textContent: key }), Object.assign(document.createElement("dd"), { textContent: what })]));
    this.makeBar();
    this.status(scene.status);
  }

  describe() {
    const one = ({ name, kind, truth }) => `${kind} ${name}, ${truth ? "true poses" : "estimates"}`, { other } = this.about;
    return `${one(this.about)}${other ? ` · translucent: ${one(other)}` : ""} · a recording takes no orders`;
  }

  makeBar() {
    const { start, end } = this.about, bar = field("seek");
    Object.assign(bar, { min: start, max: end, value: this.t });
    bar.oninput = () => { this.dragging = true; this.seek(Number(bar.value), false); };
    bar.onchange = () => { this.dragging = false; this.seek(Number(bar.value), true); };
    field("marks").replaceChildren(...this.marks.filter(({ t, level }) => t >= start && t <= end && level <= 6).slice(0, MAX_MARKS).map(({ t, level }) => {
      const mark = document.createElement("i");
      mark.className = `l${level}`;
      mark.style.left = `${(100 * (t - start)) / Math.max(end - start, 1e-9)}%`;
      return mark;
    }));
  }

  async ask(op, values = {}) {
    try { await this.app.connection.ask(op, values); } catch (error) { this.app.say(error.message, true); }
  }

  seek(t, past) { this.t = Math.min(Math.max(t, this.about.start), this.about.end); this.ask("seek", { t: this.t, past }); }

  /** All is loaded, or the connection is back: goes to where it was. */
  again() {
    this.ready = true;
    this.seek(this.t, true);
  }

  status(status) {
    field("play").textContent = status.paused ? "Play" : "Pause";
    field("play").setAttribute("aria-pressed", String(!status.paused));
    if (document.activeElement !== field("pace")) field("pace").value = String(status.speed);
  }

  take(frame) {
    if (!this.ready) return;
    this.t = frame.t;
    if (!this.dragging) field("seek").value = frame.t;
    const clock = `${(frame.t - this.about.start).toFixed(1)} of ${(this.about.end - this.about.start).toFixed(1)} s`;
    if (field("clock").textContent !== clock) field("clock").textContent = clock;
    this.tell(frame.t);
  }

  /** Events up to a time: new ones one by one, after a jump all anew. */
  tell(t) {
    let count = this.marks.findIndex((event) => event.t > t);
    if (count < 0) count = this.marks.length;
    if (count === this.shown) return;
    const jumped = this.shown < 0 || count < this.shown || count > this.shown + 20;
    if (jumped) {
      this.app.publish("events", this.marks.slice(0, count));
      this.app.warnings.clear();
    } else for (const event of this.marks.slice(this.shown, count)) this.app.event(event);
    this.shown = count;
  }

  /** Whether a key is one of the recording's, or an order that it does not take. */
  key(event) {
    const { tagName, id } = event.target;
    if ((tagName === "BUTTON" && event.key === " ") || (/INPUT|SELECT|TEXTAREA/.test(tagName) && id !== "seek")) return false;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
    const step = event.shiftKey ? LARGE_S : SMALL_S, { start, end } = this.about;
    const keys = { " ": () => field("play").click(), ArrowLeft: () => this.seek(this.t - step, true), ArrowRight: () => this.seek(this.t + step, true),
      Home: () => this.seek(start, true), End: () => this.seek(end, true), ArrowUp: () => this.faster(1), ArrowDown: () => this.faster(-1) };
    if (ORDERS.has(event.key)) this.app.say("this is a recording: it takes no orders");
    else if (!keys[event.key]) return false;
    else keys[event.key]();
    return true;
  }

  faster(step) {
    const { speed } = this.app.status, k = SPEEDS.findIndex((each) => each >= speed);
    this.ask("speed", { speed: SPEEDS[Math.min(Math.max((k < 0 ? SPEEDS.length : k) + step, 0), SPEEDS.length - 1)] });
  }
}
