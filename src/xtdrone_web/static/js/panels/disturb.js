// Disturbances of the selected vehicles: wind, payload, rotors, battery, failures.

const field = (id) => document.getElementById(id);

/** Calls a function with the values of a form that is sent. */
function on(id, act) {
  field(id).onsubmit = (event) => { event.preventDefault(); act(new FormData(event.target, event.submitter)); };
}

/** The forms of an App. */
function connect(app) {
  const disturb = (text) => app.indices().forEach((i) => app.control("disturb", { disturbance: text(app.scene.vehicles[i].name) }));
  on("windform", (values) => app.control("wind", { wind: `mean=${values.get("e") || 0},${values.get("n") || 0},${values.get("u") || 0}${Number(values.get("dryden")) ? ` dryden=${values.get("dryden")}` : ""}` }));
  field("still").onclick = () => app.control("wind", { wind: "" });
  on("payloadform", (values) => disturb((name) => `payload ${name} ${values.get("mass")}`));
  on("rotorform", (values) => disturb((name) => `rotor ${name} ${values.get("rotor")} ${values.get("share")}`));
  on("chargeform", (values) => disturb((name) => `charge ${name} ${values.get("charge")}`));
  for (const unit of app.scene.failures) field("failureform").unit.add(new Option(unit));
  on("failureform", (values) => app.order("failure", { unit: values.get("unit"), failed: values.get("failed") === "true" }));
}

export const panel = {
  title: "Disturb",
  place: 50,
  orders: ["disturb", "failure", "wind"],
  pilot: true,
  available: (scene) => !scene.replay,
  markup: `
    <form id="windform"><h3>Wind</h3><div class="row wrap"><label>East <input name="e" type="number" step="0.5" value="4"></label><label>North <input name="n" type="number" step="0.5" value="0"></label><label>Up <input name="u" type="number" step="0.5" value="0"></label><label>Turbulence <input name="dryden" type="number" min="0" step="0.5" value="0"></label><button>Set wind</button><button type="button" id="still">Still air</button></div></form>
    <form id="payloadform"><h3>Payload</h3><div class="row wrap"><label>Mass <input name="mass" type="number" min="0" max="1000" step="0.05" value="0.3"> kg</label><button>Attach</button></div></form>
    <form id="rotorform"><h3>Rotor</h3><div class="row wrap"><label>Number <input name="rotor" type="number" min="0" max="15" value="0"></label><label>Thrust <input name="share" type="number" min="0" max="1" step="0.05" value="0.5"></label><button>Set rotor</button></div></form>
    <form id="chargeform"><h3>Battery</h3><div class="row wrap"><label>Charge <input name="charge" type="number" min="0" max="1" step="0.05" value="0.2"></label><button>Set charge</button></div></form>
    <form id="failureform"><h3>Sensor or motor fails</h3><div class="row wrap"><select name="unit" aria-label="unit"></select><button name="failed" value="true">Fail</button><button name="failed" value="false">Repair</button></div></form>`,
  open: (app) => connect(app),
};
