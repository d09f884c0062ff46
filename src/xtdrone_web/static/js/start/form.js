// The options of the form, from what the server declares; the main ones have controls of their own.

import { arrows, ask, byId, el, Refusal } from "./api.js";

const WAIT_MS = 350; // after a change, before the server is asked whether it can be flown

export class Form {
  constructor(offered, fleet) {
    this.offered = offered;
    this.fleet = fleet;
    this.inputs = {};
    this.settings = {};
    const own = { world: (o) => this.worlds(o), wind: (o) => this.wind(o), sensors: (o) => this.presets(o), engine: (o) => this.parts(o, offered.engines), autopilot: (o) => this.parts(o, offered.autopilots) };
    this.shows = [];
    const cards = offered.groups.map((group) => {
      const fields = offered.options.filter((option) => option.group === group).map((option) => (own[option.name] || ((o) => this.field(o)))(option));
      if (group !== "More") return el("fieldset", { class: "card" }, el("legend", {}, group), ...fields);
      return el("details", { class: "card", id: "more" }, el("summary", {}, `More options (${fields.length})`), ...fields);
    });
    cards.splice(1, 0, this.agents());
    byId("groups").append(...cards);
  }

  /** A field by what is declared of its option. */
  field(option, control = null) {
    const id = `o-${option.name}`, input = control || this.input(option, id);
    this.inputs[option.name] = input;
    input.addEventListener("change", () => this.changed());
    input.addEventListener("input", () => this.changed());
    const unit = option.unit ? ` [${option.unit}]` : "", usual = option.default === "" ? option.unset : option.default;
    return el("div", { class: "field", dataset: { field: option.name } }, el("label", { for: id }, option.name.replaceAll("_", " ")), input,
      el("small", {}, `${option.help}${unit}${usual ? ` (${usual})` : ""}`), el("p", { class: "refusal", role: "alert" }));
  }

  input(option, id) {
    if (option.choices.length) {
      return el("select", { id }, ...option.choices.map((word) => el("option", { value: word === option.default ? "" : word }, word)));
    }
    if (option.kind === "boolean") return el("select", { id }, ...["", "true", "false"].map((word) => el("option", { value: word }, word || option.default)));
    const number = option.kind !== "text", made = el("input", { id, type: number ? "number" : "text", placeholder: option.default || option.unset, autocomplete: "off" });
    if (number) Object.assign(made, { step: option.kind === "integer" ? "1" : "any", min: option.minimum ?? "", max: option.maximum ?? "" });
    if (option.offered.length) {
      const list = el("datalist", { id: `${id}-list` }, ...option.offered.map((word) => el("option", { value: word })));
      document.body.append(list);
      made.setAttribute("list", list.id);
    }
    return made;
  }

  worlds(option) {
    const group = el("div", { class: "cards worlds", id: "worlds", role: "radiogroup", "aria-label": "world" });
    arrows(group, "radio");
    const field = this.field(option);
    this.inputs.world.addEventListener("input", () => this.showWorld());
    return el("div", {}, group, field);
  }

  /** The worlds of the catalogue. */
  offerWorlds(worlds) {
    this.known = worlds;
    byId("worlds").replaceChildren(...worlds.map((world) => el("button", { type: "button", role: "radio", title: world.line, dataset: { world: world.name },
      onclick: () => { this.inputs.world.value = world.name; this.showWorld(); this.changed(); } },
      world.picture ? el("img", { src: `/picture/world/${world.name}.jpg`, alt: "" }) : el("span", { class: "nopicture" }), el("b", {}, world.name), el("small", {}, world.line))));
    this.showWorld();
  }

  showWorld() {
    const name = this.inputs.world.value || "empty";
    for (const card of byId("worlds").children) {
      card.setAttribute("aria-checked", card.dataset.world === name);
      card.tabIndex = card.dataset.world === name ? 0 : -1;
    }
    this.fleet.map.outlines = (this.known || []).find((world) => world.name === name)?.outlines || [];
    this.fleet.map.draw();
  }

  /** Engine or autopilot: a button each, with what it needs. */
  parts(option, lines) {
    const input = el("input", { id: `o-${option.name}`, type: "text", placeholder: `${option.default}, or module:Class` });
    const group = el("div", { class: "choices", role: "radiogroup", "aria-label": option.name });
    const show = () => { for (const each of group.children) { const on = each.dataset.name === (input.value || option.default); each.setAttribute("aria-checked", on); each.tabIndex = on ? 0 : -1; } };
    group.append(...option.offered.map((name) => {
      const ready = this.offered.ready[name];
      const mark = ready && !ready.there ? el("b", { class: "missing" }, " not installed") : null;
      return el("button", { type: "button", role: "radio", dataset: { name }, onclick: () => { input.value = name === option.default ? "" : name; show(); this.changed(); } },
        el("b", {}, name), mark, el("small", {}, lines[name] || ""), ready ? el("small", { class: ready.there ? "" : "needs" }, ready.there ? ready.text : `${ready.text.split(";")[0]}: ${ready.how}`) : null);
    }));
    input.addEventListener("input", show);
    arrows(group, "radio");
    const field = this.field(option, input);
    field.insertBefore(group, input);
    field.insertBefore(el("span"), input);
    this.shows.push(show);
    show();
    return field;
  }

  /** Wind as numbers; whatever else may be said of it is in its text. */
  wind(option) {
    const number = (name, words, least) => el("label", {}, `${words} `, el("input", { type: "number", step: "0.5", value: 0, min: least, name, "aria-label": `wind ${words}` }), " m/s");
    const row = el("div", { class: "row wrap" }, number("e", "east", -100), number("n", "north", -100), number("u", "up", -100), number("dryden", "turbulence", 0));
    const value = (name) => Number(row.querySelector(`[name=${name}]`).value);
    row.addEventListener("input", () => {
      const mean = ["e", "n", "u"].map(value), dryden = value("dryden");
      const words = [mean.some(Boolean) ? `mean=${mean.join(",")}` : "", dryden ? `dryden=${dryden}` : ""].filter(Boolean);
      this.inputs.wind.value = words.join(" ");
      this.changed();
    });
    const field = this.field(option);
    this.inputs.wind.addEventListener("change", () => this.showWind(row));
    field.insertBefore(row, this.inputs.wind);
    field.insertBefore(el("span"), this.inputs.wind);
    this.shows.push(() => this.showWind(row));
    return field;
  }

  showWind(row) {
    const text = this.inputs.wind.value, mean = (/^(?:mean=)?([-\d.]+),([-\d.]+),([-\d.]+)/.exec(text.trim()) || [0, 0, 0, 0]).slice(1), dryden = /dryden=([\d.]+)/.exec(text)?.[1] || 0;
    ["e", "n", "u"].forEach((name, k) => { row.querySelector(`[name=${name}]`).value = Number(mean[k]); });
    row.querySelector("[name=dryden]").value = Number(dryden);
  }

  /** Sensors: a preset for each kind; whatever else may be changed is in the text. */
  presets(option) {
    const entries = () => this.inputs.sensors.value.split(";").map((word) => word.trim()).filter(Boolean);
    const box = el("div", { class: "presets" }, ...Object.entries(this.offered.presets).map(([kind, names]) => el("label", {}, kind, el("select", { dataset: { kind }, "aria-label": `preset of ${kind}`,
      onchange: (event) => {
        const rest = entries().filter((word) => !word.startsWith(`${kind}.preset`)), name = event.target.value;
        this.inputs.sensors.value = [...(name ? [`${kind}.preset=${name}`] : []), ...rest].join("; ");
        this.changed();
      } }, el("option", { value: "" }, "the vehicle's"), ...names.map((name) => el("option", { value: name }, name))))));
    const field = this.field(option), show = () => {
      for (const select of box.querySelectorAll("select")) select.value = entries().map((word) => word.split("=")).find(([key]) => key.trim() === `${select.dataset.kind}.preset`)?.[1]?.trim() || "";
    };
    this.inputs.sensors.addEventListener("change", show);
    field.insertBefore(box, this.inputs.sensors);
    field.insertBefore(el("span"), this.inputs.sensors);
    this.shows.push(show);
    return field;
  }

  agents() {
    const select = el("select", { id: "o-agent" }, el("option", { value: "" }, "none: it waits for pilots"), ...Object.keys(this.offered.agents).map((name) => el("option", { value: name }, name)));
    this.agent = select;
    this.settingsBox = el("div", { id: "settings" });
    select.onchange = () => { this.showAgent(); this.changed(); };
    this.about = el("small");
    return el("fieldset", { class: "card" }, el("legend", {}, "Who flies"), el("div", { class: "field", dataset: { field: "agent" } }, el("label", { for: "o-agent" }, "agent"), select, this.about,
      el("p", { class: "refusal", role: "alert" })), this.settingsBox);
  }

  showAgent(values = {}) {
    const agent = this.offered.agents[this.agent.value];
    this.about.textContent = agent ? agent.description : "Fly it by the page, QGroundControl, MAVSDK or MAVROS.";
    this.settings = {};
    const fields = Object.entries(agent?.options || {}).map(([name, row]) => {
      const input = el("input", { id: `s-${name}`, placeholder: row.default, value: values[name] ?? "", autocomplete: "off", oninput: () => this.changed() });
      this.settings[name] = input;
      return el("div", { class: "field", dataset: { field: `set.${name}` } }, el("label", { for: input.id }, name.replaceAll("_", " ")), input, el("small", {}, `${row.meaning} (${row.type})`), el("p", { class: "refusal", role: "alert" }));
    });
    this.settingsBox.replaceChildren(...(fields.length ? [el("details", { open: Object.keys(values).length > 0 }, el("summary", {}, `its options (${fields.length})`), ...fields)] : []));
  }

  /** What is sent, saved and started. */
  data() {
    const given = (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value !== ""));
    return { vehicles: this.fleet.data(), options: given(this.inputs), agent: this.agent.value, settings: given(this.settings) };
  }

  /** A form that was saved. */
  load(form) {
    for (const [name, input] of Object.entries(this.inputs)) input.value = form.options[name] === undefined ? "" : String(form.options[name]);
    const more = this.offered.options.some(({ name, group }) => group === "More" && form.options[name] !== undefined);
    if (more) byId("more").open = true;
    this.agent.value = form.agent;
    this.showAgent(form.settings);
    for (const show of this.shows) show();
    this.showWorld();
    this.fleet.set(form.vehicles);
    this.changed();
  }

  changed() {
    byId("summary").textContent = `${this.fleet.summary()} in ${this.inputs.world.value || "empty"}${this.agent.value ? `, flown by ${this.agent.value}` : ""}`;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), WAIT_MS);
  }

  /** Asks whether it can be flown; what is refused is said at its field. */
  async check() {
    if (document.body.classList.contains("viewer")) return;
    try {
      await ask("/api/check", { method: "POST", json: this.data() });
      this.refused(null);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refused(error);
    }
  }

  /** Shows a refusal at its field, and no other. */
  refused(error) {
    for (const old of document.querySelectorAll("#p-form .refusal, #formsays")) old.textContent = "";
    for (const old of document.querySelectorAll("[aria-invalid]")) old.removeAttribute("aria-invalid");
    if (!error) return;
    const field = error.field ? document.querySelector(`[data-field="${CSS.escape(error.field)}"]`) : null;
    const says = field ? field.querySelector(".refusal") : byId("formsays");
    says.textContent = error.message;
    (byId(`o-${error.field}`) || field?.querySelector("input, select, canvas"))?.setAttribute("aria-invalid", "true");
    if (field) { for (let top = field.closest("details"); top; top = top.parentElement.closest("details")) top.open = true; }
    if (field) byId("formsays").textContent = error.field === "vehicles" ? "" : `${error.field.replace("set.", "").replaceAll("_", " ")}: see there`;
  }
}
