// Disturbances of the selected vehicles: wind, payload, rotors, battery, failures; and which are in force.

const LOOK_MS = 2000, SOON_MS = 250; // between two looks at what is in force; after an order
const MOVES = 0.05; // slower air counts as still [m/s]
const field = (id) => document.getElementById(id);

/** Calls a function with the values of a form that is sent. */
function on(id, act) {
  field(id).onsubmit = (event) => { event.preventDefault(); act(new FormData(event.target, event.submitter)); };
}

class Disturb {
  constructor(app) {
    this.app = app;
    on("windform", (values) => this.wind(`mean=${values.get("e") || 0},${values.get("n") || 0},${values.get("u") || 0}${Number(values.get("dryden")) ? ` dryden=${values.get("dryden")}` : ""}`));
    field("still").onclick = () => this.wind("");
    on("payloadform", (values) => this.disturb("Attach a payload to", (name) => `payload ${name} ${values.get("mass")}`));
    on("rotorform", (values) => this.disturb("Weaken a rotor of", (name) => `rotor ${name} ${values.get("rotor")} ${values.get("share")}`));
    on("chargeform", (values) => this.disturb("Change the charge of", (name) => `charge ${name} ${values.get("charge")}`));
    for (const unit of app.scene.failures) field("failureform").unit.add(new Option(unit));
    on("failureform", (values) => this.failure(values.get("unit"), values.get("failed") === "true"));
  }

  /** A disturbance of each selected vehicle; text(name) says it. */
  async disturb(what, text) {
    const { app } = this;
    if (!app.chosen.length) app.say("select a vehicle first: click it, or All", true);
    else if (await app.confirmed(what)) {
      await Promise.all(app.chosen.map((i) => app.control("disturb", { disturbance: text(app.scene.vehicles[i].name) })));
      this.soon();
    }
  }

  async wind(wind) {
    await this.app.control("wind", { wind });
    this.soon();
  }

  async failure(unit, failed) {
    if (failed && !(await this.app.confirmed(`Fail the ${unit} of`))) return;
    await this.app.order("failure", { unit, failed });
    this.soon();
  }

  soon() { setTimeout(() => this.look(), SOON_MS); }

  /** Asks what is in force. */
  async look() {
    this.looked = performance.now();
    try { this.show(await this.app.connection.ask("disturbed")); } catch { /* it is asked again */ }
  }

  show({ disturbances, wind, failures }) {
    const rows = [];
    const still = wind.every((x) => Math.abs(x) < MOVES);
    if (!still) rows.push([`wind ${wind.map((x) => x.toFixed(1)).join(", ")} m/s (east, north, up)`, () => this.wind("")]);
    for (const each of disturbances) rows.push([inWords(each), () => this.end(each)]);
    for (const { vehicle, unit } of failures) rows.push([`${this.app.scene.vehicles[vehicle].name}: ${unit} has failed`, () => this.repair(vehicle, unit)]);
    const said = JSON.stringify(rows.map(([words]) => words));
    if (said === this.said) return;
    this.said = said;
    field("t-disturb").textContent = rows.length ? `Disturb ${rows.length}` : "Disturb";
    field("inforce").replaceChildren(...rows.map(([words, end]) => {
      const item = document.createElement("li"), button = Object.assign(document.createElement("button"), { textContent: "End", onclick: end });
      button.setAttribute("aria-label", `end: ${words}`);
      item.append(Object.assign(document.createElement("span"), { textContent: words }), button);
      return item;
    }));
    field("calm").hidden = rows.length > 0;
  }

  async end({ kind, vehicle, rotor }) {
    const text = kind === "rotor" ? `rotor ${vehicle} ${rotor} 1` : kind === "drain" ? `drain ${vehicle} 0` : `payload ${vehicle} 0`;
    await this.app.control("disturb", { disturbance: text });
    this.soon();
  }

  async repair(vehicle, unit) {
    await this.app.order("failure", { vehicles: [vehicle], unit, failed: false });
    this.soon();
  }

  /** Looks now and then, whether the panel is shown or not: its tab has the number. */
  status() { if (!(performance.now() - this.looked < LOOK_MS)) this.look(); }
}

function inWords({ kind, vehicle, rotor, value }) {
  if (kind === "rotor") return `${vehicle}: rotor ${rotor} gives ${Math.round(100 * value)} % of its thrust`;
  return kind === "drain" ? `${vehicle}: its tank loses ${value} kg/s` : `${vehicle}: payload of ${value} kg`;
}

export const panel = {
  title: "Disturb",
  place: 50,
  orders: ["disturb", "disturbed", "failure", "wind"],
  pilot: true,
  available: (scene) => !scene.replay,
  markup: `
    <h2>In force now</h2><ul id="inforce"></ul><p id="calm" class="empty">Nothing is disturbed. What is set below is listed here, each with a button that ends it.</p>
    <form id="windform"><h2>Wind, of all vehicles</h2><div class="row wrap"><label>East <input name="e" type="number" step="0.5" value="4"> m/s</label><label>North <input name="n" type="number" step="0.5" value="0"> m/s</label><label>Up <input name="u" type="number" step="0.5" value="0"> m/s</label><label>Turbulence <input name="dryden" type="number" min="0" step="0.5" value="0"> m/s</label><button>Set wind</button><button type="button" id="still">Still air</button></div></form>
    <form id="payloadform"><h2>Payload</h2><div class="row wrap"><label>Mass <input name="mass" type="number" min="0" max="1000" step="0.05" value="0.3"> kg</label><button>Attach</button></div></form>
    <form id="rotorform"><h2>Rotor</h2><div class="row wrap"><label>Number <input name="rotor" type="number" min="0" max="15" value="0"> from 0</label><label>Thrust <input name="share" type="number" min="0" max="1" step="0.05" value="0.5"> of 1</label><button>Set rotor</button></div></form>
    <form id="chargeform"><h2>Battery</h2><div class="row wrap"><label>Charge <input name="charge" type="number" min="0" max="1" step="0.05" value="0.2"> of 1</label><button>Set charge</button></div></form>
    <form id="failureform"><h2>Sensor or motor fails</h2><div class="row wrap"><select name="unit" aria-label="unit"></select><button name="failed" value="true" class="bad">Fail</button><button name="failed" value="false">Repair</button></div></form>`,
  style: `
    #inforce { list-style: none; margin: 0; padding: 0; } #inforce li { display: flex; gap: 8px; align-items: center; justify-content: space-between; border-top: 1px solid var(--line); padding: 4px 0; }`,
  open: (app) => new Disturb(app),
  on: { shown: (disturb) => { disturb.look(); }, status: (disturb) => disturb.status() },
};
