// Saved scenarios: load for editing, download, upload, remove.

import { ask, byId, el, Refusal, tried } from "./api.js";

export class Shelf {
  /** load(form, name) puts a form on the page. */
  constructor(load) {
    this.load = load;
    byId("uploadscenario").onchange = (event) => { this.upload(event.target.files[0]); event.target.value = ""; };
  }

  async show() {
    const { folder, scenarios } = await ask("/api/scenarios");
    byId("shelffolder").textContent = folder;
    byId("shelf").replaceChildren(...scenarios.map((entry) => this.row(entry)));
    if (!scenarios.length) byId("shelf").append(el("li", { class: "quiet" }, "Nothing is saved yet: Save YAML and Save launch file are below the form."));
  }

  row({ name, kinds, at }) {
    const path = `/api/scenarios/${encodeURIComponent(name)}`;
    return el("li", { dataset: { name } }, el("b", {}, name), el("span", { class: "quiet" }, new Date(at * 1000).toLocaleString()), el("span", { class: "spacer" }),
      el("button", { onclick: tried(async () => this.load((await ask(path)).form, name)), "aria-label": `edit ${name}` }, "Edit"),
      ...kinds.map((kind) => el("a", { class: "button", href: `/scenarios/${encodeURIComponent(name)}.${kind}`, download: `${name}.${kind}` }, kind)),
      el("button", { class: "pilot", "aria-label": `remove ${name}`, onclick: tried(async () => { await ask(path, { method: "DELETE" }); await this.show(); }) }, "Remove"));
  }

  async upload(file) {
    if (!file) return;
    const says = byId("shelfsays");
    says.textContent = "";
    const name = file.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]/g, "_"), kind = /\.launch$/i.test(file.name) ? "launch" : "yaml";
    try {
      const { form } = await ask(`/api/scenarios/${encodeURIComponent(name)}.${kind}`, { method: "PUT", body: file });
      this.load(form, name);
      await this.show();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      says.textContent = error.message;
    }
  }
}
