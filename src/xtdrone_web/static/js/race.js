// The race: lap clock, splits against the best lap and the ghost, the table of laps.

import { Gates } from "./gates.js";

const field = (id) => document.getElementById(id);
const CLOCK_MS = 60;

/** Seconds as 1:02.34, or – for none. */
export function clock(s) {
  if (!Number.isFinite(s)) return "–";
  const minutes = Math.floor(s / 60), rest = (s - 60 * minutes).toFixed(2);
  return minutes ? `${minutes}:${rest.padStart(5, "0")}` : rest;
}

/** A difference with its sign. */
export function delta(s) { return Number.isFinite(s) ? `${s < 0 ? "−" : "+"}${Math.abs(s).toFixed(2)}` : ""; }

/** Index and time of the last split that is known, or null. Gate 0 is the last of a lap. */
export function lastSplit(splits) {
  for (let k = splits.length - 1; k >= 0; k--) if (Number.isFinite(splits[k] ?? NaN)) return [k, splits[k]];
  return null;
}

export class Race {
  constructor(app, told, laps) {
    this.app = app;
    this.told = told;
    this.state = laps.vehicles ? laps : null;
    this.gates = new Gates(app.world.scene, told, Object.keys(app.told.types));
    this.ghost = null;
    field("t-race").hidden = false;
    field("lap").hidden = false;
    field("track").textContent = `${told.track}: ${told.about || `${told.gates.length} gates`}, ${told.laps} laps`;
    field("ghost").onchange = (event) => this.choose(event.target.value);
    field("ghosts").onclick = () => this.list();
    if (told.ghost) this.list().then(() => this.choose(told.ghost));
  }

  /** Takes the simulation's laps. */
  take(state) {
    this.state = state;
    this.table();
  }

  /** The runs that can be ghosts, into the list. */
  async list() {
    const select = field("ghost"), chosen = select.value;
    try {
      const { runs } = await this.app.connection.ask("ghosts");
      if (this.told.ghost && !runs.some(({ run }) => run === this.told.ghost)) runs.unshift({ run: this.told.ghost });
      select.replaceChildren(new Option("none", ""), ...runs.map(({ run, best_s: best }) => new Option(`${run}${best ? `  ${clock(best)} s` : ""}`, run)));
      select.value = chosen;
      field("ghostnote").textContent = runs.length ? "" : "No earlier run has a whole lap of this track.";
    } catch (error) { this.app.say(error.message, true); }
  }

  async choose(run) {
    this.ghost = null;
    this.gates.haunt(null);
    field("ghost").value = run;
    if (!run) { this.table(); return; }
    try {
      this.ghost = (await this.app.connection.ask("ghost", { run })).ghost;
      await this.gates.haunt(this.ghost);
      this.table();
    } catch (error) { this.app.say(error.message, true); }
  }

  /** The vehicle whose race is shown. */
  get vehicle() { return this.app.chosen[0] ?? 0; }

  /** Gates and ghost as of a frame's time, and the clock. */
  update(frame) {
    const lap = this.state?.vehicles[this.vehicle];
    this.gates.next(!lap || lap.lap > this.told.laps ? -1 : lap.next);
    const since = lap && lap.lap > 0 && lap.lap <= this.told.laps ? frame.t - lap.began_s : NaN;
    this.gates.place(since);
    const now = performance.now();
    if (lap && !(now - this.drawn < CLOCK_MS)) { this.drawn = now; this.show(lap, since); }
  }

  show(lap, since) {
    const put = (id, text) => { const node = field(id); if (node.textContent !== text) node.textContent = text; };
    const last = lastSplit(lap.splits), over = lap.lap > this.told.laps, count = this.told.gates.length;
    put("lapnumber", over ? "finished" : lap.lap === 0 ? "to the start" : `lap ${lap.lap} of ${this.told.laps}`);
    put("laptime", over ? clock(lap.laps.reduce((a, b) => a + b, 0)) : clock(since));
    put("lapgate", over ? "" : `gate ${lap.next + 1} of ${count}`);
    const [k, split] = last || (lap.laps.length ? [count - 1, lap.laps[lap.laps.length - 1]] : [-1, NaN]);
    // At the finish the best lap may be this one: the simulation then has it as best already.
    this.delta("lapbest", "best", last ? split - (lap.best[k] ?? NaN) : NaN);
    this.delta("lapghost", "ghost", this.ghost && k >= 0 ? split - this.ghost.splits[k] : NaN);
    put("lapmissed", lap.missed ? `${lap.missed} missed` : "");
  }

  delta(id, name, s) {
    const node = field(id), text = Number.isFinite(s) ? `${name} ${delta(s)}` : "";
    if (node.textContent === text) return;
    node.textContent = text;
    node.className = s < 0 ? "ahead" : "behind";
  }

  /** All laps of all vehicles that race. */
  table() {
    const rows = [];
    this.state?.vehicles.forEach((lap, i) => lap.laps.forEach((time, k) => {
      const best = time === Math.min(...lap.laps), row = document.createElement("tr");
      const ghost = this.ghost ? delta(time - this.ghost.splits[this.ghost.splits.length - 1]) : "";
      for (const text of [this.app.told.vehicles[i].name, `${k + 1}`, clock(time), best ? "best" : delta(time - Math.min(...lap.laps)), ghost]) row.append(Object.assign(document.createElement("td"), { textContent: text }));
      row.className = best ? "best" : "";
      rows.push(row);
    }));
    field("laps").replaceChildren(...rows);
  }
}
