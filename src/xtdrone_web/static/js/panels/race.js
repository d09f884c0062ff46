// The race: lap clock, splits against the best lap and the ghost, the table of laps.

import { Gates, GHOSTS } from "../gates.js";

const field = (id) => document.getElementById(id);
const CLOCK_MS = 60, MAX_GHOSTS = 8;

/** Seconds as 1:02.34, or – for none. */
function clock(s) {
  if (!Number.isFinite(s)) return "–";
  const minutes = Math.floor(s / 60), rest = (s - 60 * minutes).toFixed(2);
  return minutes ? `${minutes}:${rest.padStart(5, "0")}` : rest;
}

/** A difference with its sign. */
function delta(s) { return Number.isFinite(s) ? `${s < 0 ? "−" : "+"}${Math.abs(s).toFixed(2)}` : ""; }

/** Index and time of the last split that is known, or null. Gate 0 is the last of a lap. */
function lastSplit(splits) {
  for (let k = splits.length - 1; k >= 0; k--) if (Number.isFinite(splits[k] ?? NaN)) return [k, splits[k]];
  return null;
}

class Race {
  constructor(app) {
    const { race, laps, types } = app.scene;
    this.app = app;
    this.race = race;
    this.state = laps.vehicles ? laps : null;
    this.gates = new Gates(app.world.scene, race, Object.keys(types));
    this.ghost = null; // whose splits the clock compares
    this.others = []; // that only fly along
    field("others").onchange = () => this.join([...field("others").selectedOptions].map(({ value }) => value));
    field("lap").hidden = false;
    field("track").textContent = `${race.track}: ${race.about || `${race.gates.length} gates`}, ${race.laps} laps`;
    field("ghost").onchange = (event) => this.choose(event.target.value);
    field("ghosts").onclick = () => this.list();
    if (race.ghost) this.list().then(() => this.choose(race.ghost));
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
      if (this.race.ghost && !runs.some(({ run }) => run === this.race.ghost)) runs.unshift({ run: this.race.ghost });
      select.replaceChildren(new Option("none", ""), ...runs.map(({ run, best_s: best }) => new Option(`${run}${best ? `  ${clock(best)} s` : ""}`, run)));
      select.value = chosen;
      field("others").replaceChildren(...runs.map(({ run, best_s: best }) => new Option(`${run}${best ? `  ${clock(best)} s` : ""}`, run)));
      field("ghostnote").textContent = runs.length ? "" : "No earlier run has a whole lap of this track.";
    } catch (error) { this.app.say(error.message, true); }
  }

  async choose(run) {
    field("ghost").value = run;
    await this.haunt(run, this.others.map(({ run: other }) => other));
  }

  /** Lets further runs fly along, up to MAX_GHOSTS ghosts in all. */
  async join(runs) {
    const most = MAX_GHOSTS - 1;
    if (runs.length > most) this.app.say(`${runs.length} further ghosts are not allowed: choose up to ${most}`, true);
    else await this.haunt(this.ghost?.run ?? "", runs);
  }

  async haunt(first, others) {
    const load = async (run) => ({ ...(await this.app.connection.ask("ghost", { run })).ghost, run });
    try {
      this.ghost = null;
      this.ghost = first ? await load(first) : null;
      this.others = await Promise.all(others.filter((run) => run !== first).map(load));
      await this.gates.haunt(this.all);
    } catch (error) { this.app.say(error.message, true); }
    this.table();
    this.splits();
  }

  /** All ghosts; the one that is compared first. */
  get all() { return [...(this.ghost ? [this.ghost] : []), ...this.others]; }

  /** The splits of all ghosts side by side, a row for each gate. */
  splits() {
    const cell = (tag, text, colour) => Object.assign(document.createElement(tag), { textContent: text, style: colour === undefined ? "" : `color: #${colour.toString(16).padStart(6, "0")}` });
    const row = (cells) => { const tr = document.createElement("tr"); tr.append(...cells); return tr; };
    const ghosts = this.all, count = this.race.gates.length;
    field("splits").replaceChildren(...(ghosts.length ? [
      row([cell("th", "gate"), ...ghosts.map(({ run }, i) => cell("th", run, GHOSTS[i]))]),
      ...this.race.gates.map((_, k) => row([cell("td", `${((k + 1) % count) + 1}`), ...ghosts.map(({ splits }) => cell("td", clock(splits[k])))])),
    ] : []));
  }

  /** The vehicle whose race is shown. */
  get vehicle() { return this.app.chosen[0] ?? 0; }

  /** Gates and ghost as of a frame's time, and the clock. */
  update(frame) {
    const lap = this.state?.vehicles[this.vehicle];
    this.gates.move(frame.t);
    this.gates.next(!lap || lap.lap > this.race.laps ? -1 : lap.next);
    const since = lap && lap.lap > 0 && lap.lap <= this.race.laps ? frame.t - lap.began_s : NaN;
    this.gates.place(since);
    const now = performance.now();
    if (lap && !(now - this.drawn < CLOCK_MS)) { this.drawn = now; this.show(lap, since); }
  }

  show(lap, since) {
    const put = (id, text) => { const node = field(id); if (node.textContent !== text) node.textContent = text; };
    const last = lastSplit(lap.splits), over = lap.lap > this.race.laps, count = this.race.gates.length;
    put("lapnumber", over ? "finished" : lap.lap === 0 ? "to the start" : `lap ${lap.lap} of ${this.race.laps}`);
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
      for (const text of [this.app.scene.vehicles[i].name, `${k + 1}`, clock(time), best ? "best" : delta(time - Math.min(...lap.laps)), ghost]) row.append(Object.assign(document.createElement("td"), { textContent: text }));
      row.className = best ? "best" : "";
      rows.push(row);
    }));
    field("laps").replaceChildren(...rows);
  }
}

export const panel = {
  title: "Race",
  place: 70,
  orders: ["ghost", "ghosts"],
  available: (scene) => Boolean(scene.race),
  markup: `
    <p id="track"></p>
    <table class="laps"><thead><tr><th>vehicle</th><th>lap</th><th>time</th><th>to best</th><th>to ghost</th></tr></thead><tbody id="laps"></tbody></table>
    <h2>Ghost</h2><div class="row wrap"><select id="ghost" aria-label="ghost"><option value="">none</option></select><button id="ghosts">List runs</button></div><p id="ghostnote" class="quiet"></p>
    <p class="quiet">Fly along, too (up to seven):</p><select id="others" multiple size="4" aria-label="further ghosts"></select>
    <table class="laps"><tbody id="splits"></tbody></table>`,
  overlay: `
    <div id="lap" class="glass" role="timer" aria-label="lap clock" hidden><span id="lapnumber"></span><b id="laptime">–</b><span id="lapgate" class="quiet"></span><span id="lapbest"></span><span id="lapghost"></span><span id="lapmissed" class="behind"></span></div>`,
  style: `
    #lap { position: absolute; top: 8px; left: 50%; background: var(--glass); transform: translateX(-50%); padding: 6px 16px; display: flex; gap: 14px; align-items: baseline; white-space: nowrap; font-weight: 600; max-width: calc(100% - 20px); overflow: hidden; }
    #lap b { font-size: 24px; min-width: 3.4em; text-align: center; }
    #lap span:empty { display: none; }
    .ahead { color: var(--good); }
    .behind { color: var(--bad); }
    .laps { width: 100%; border-collapse: collapse; }
    .laps th { text-align: left; font-weight: 500; color: var(--quiet); }
    .laps td, .laps th { padding: 3px 6px 3px 0; border-bottom: 1px solid var(--line); }
    .laps .best { color: var(--good); font-weight: 600; }
    @media (max-width: 820px) { #lap { padding: 4px 10px; gap: 8px; font-size: 12px; } #lap b { font-size: 17px; } #lapgate { display: none; } }`,
  open: (app) => new Race(app),
  on: {
    animate: (race, frame) => race.update(frame),
    laps: (race, laps) => race.take(laps),
    scene: (race, { laps }) => { if (laps.vehicles) race.take(laps); },
  },
};
