// The parameter editor: search, read, change for the selected vehicles.

const SHOWN = 60;
const field = (id) => document.getElementById(id);

class Params {
  constructor(app) {
    this.app = app;
    this.params = [];
    field("loadparams").onclick = () => this.load();
    field("filter").oninput = () => this.show();
  }

  async load() {
    const vehicle = this.app.chosen[0] ?? 0, button = field("loadparams");
    button.disabled = true;
    field("paramcount").textContent = "loading …";
    try {
      this.params = (await this.app.connection.ask("params", { vehicles: [vehicle] })).params;
      this.of = vehicle;
      this.show();
    } catch (error) { this.app.say(error.message, true); field("paramcount").textContent = ""; }
    button.disabled = false;
  }

  show() {
    const words = field("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.params.filter(({ name, description, group }) => {
      const text = `${name} ${description || ""} ${group || ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    field("paramcount").textContent = this.params.length ? `${found.length} of ${this.params.length}, of ${this.app.scene.vehicles[this.of].name}` : "";
    field("noparams").hidden = this.params.length > 0;
    field("params").replaceChildren(...found.slice(0, SHOWN).map((param) => this.row(param)));
  }

  row(param) {
    const row = document.createElement("div"), name = document.createElement("b"), input = document.createElement("input"), about = document.createElement("small");
    row.className = "param";
    name.textContent = param.name;
    input.type = "number";
    input.step = param.integer ? "1" : "any";
    input.value = param.integer ? param.value : Number(param.value.toPrecision(7));
    input.setAttribute("aria-label", param.name);
    row.classList.toggle("changed", param.default !== "" && param.default !== undefined && Math.abs(Number(param.default) - param.value) > 1e-6 * Math.max(1, Math.abs(param.value)));
    const bounds = param.min !== "" && param.min !== undefined && param.max !== "" ? `, ${param.min} to ${param.max}` : "";
    about.textContent = `${param.description || "not of PX4"}${param.unit ? ` [${param.unit}]` : ""}${bounds}${param.default ? `; default ${param.default}` : ""}`;
    input.onchange = () => this.change(param, input);
    row.append(name, input, about);
    return row;
  }

  async change(param, input) {
    const answer = await this.app.order("param_set", { name: param.name, value: Number(input.value) });
    if (answer?.results.every(({ ok }) => ok)) param.value = Number(input.value);
    else input.value = param.value;
    input.parentElement.classList.toggle("changed", Boolean(param.default) && Number(param.default) !== param.value);
  }
}

export const panel = {
  title: "Params",
  place: 30,
  orders: ["params", "param_set"],
  available: (scene) => !scene.replay,
  markup: `
    <div class="row wrap"><button id="loadparams" class="pilot">Load</button><input id="filter" type="search" placeholder="name or words" aria-label="filter parameters"><span id="paramcount" class="quiet"></span></div>
    <p id="noparams" class="empty">Load reads the parameters of the first selected vehicle; they are listed here, and a change goes to all selected ones.</p>
    <div id="params"></div>`,
  style: `
    #params { max-height: 46vh; overflow: auto; margin-top: 6px; scrollbar-width: thin; }
    .param { border-top: 1px solid var(--line); padding: 6px 2px; display: grid; grid-template-columns: 1fr 7em; gap: 2px 8px; align-items: center; }
    .param b { font-weight: 600; font-size: 12px; } .param small { grid-column: 1 / 3; color: var(--quiet); }
    .param input { width: 100%; } .param.changed input { border-color: var(--accent); }`,
  open: (app) => new Params(app),
};
