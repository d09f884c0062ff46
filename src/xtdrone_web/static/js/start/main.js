// The start page: a form for a flight, what is running, what is saved, what was flown.

import { arrows, ask, byId, say, tried, Refusal } from "./api.js";
import { Designs } from "./designs.js";
import { Fleet } from "./fleet.js";
import { Form } from "./form.js";
import { Jobs } from "./jobs.js";
import { Models } from "./models.js";
import { Runs } from "./runs.js";
import { Shelf } from "./shelf.js";

const CATALOGUE_MS = 1500; // between two looks for more pictures
const TABS = ["form", "jobs", "shelf", "runs"];

class Start {
  async begin() {
    this.theme(localStorage.getItem("xtdrone-theme") || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
    byId("theme").onclick = () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    const tabs = byId("tabs");
    arrows(tabs, "tab");
    for (const name of TABS) byId(`t-${name}`).onclick = () => this.tab(name);
    const me = await ask("/api/me").catch((error) => { say(error.message, true); return { pilot: false }; });
    document.body.classList.toggle("viewer", !me.pilot);
    for (const each of document.querySelectorAll("button.pilot, #drop button, #drop input, #uploadscenario")) each.disabled = !me.pilot;
    byId("role").textContent = me.pilot ? "" : "View only: for commands open the link with a token that xtdrone web printed first";
    this.runs = new Runs();
    this.jobs = new Jobs((job) => this.ended(job), (job) => this.runs.progress(job));
    this.fleet = new Fleet(() => this.form?.changed());
    this.form = new Form(await ask("/api/form"), this.fleet);
    this.fleet.maximum = this.form.offered.maximum;
    this.shelf = new Shelf((form, name) => { this.form.load(form); byId("savename").value = name; this.tab("form"); say(`'${name}' is on the form`); });
    const taken = async (report) => { await this.catalogue(); this.fleet.choose(report.name); };
    this.models = new Models(taken);
    this.designs = new Designs(taken);
    byId("start").onclick = () => this.start();
    byId("saveyaml").onclick = () => this.save("yaml");
    byId("savelaunch").onclick = () => this.save("launch");
    await this.catalogue();
    this.form.load(this.form.offered.first || { vehicles: [{ type: "iris", pos: [0, 0, 0], yaw: 0 }], options: {}, agent: "", settings: {} });
    document.body.dataset.ready = "yes";
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("xtdrone-theme", name);
    byId("theme").textContent = name === "dark" ? "Light" : "Dark";
    this.fleet?.map.draw();
  }

  tab(name) {
    for (const each of TABS) {
      const on = each === name, button = byId(`t-${each}`);
      button.setAttribute("aria-selected", on);
      button.tabIndex = on ? 0 : -1;
      byId(`p-${each}`).hidden = !on;
    }
    byId("actions").hidden = name !== "form";
    if (name === "form") this.fleet.map.draw();
    if (name === "shelf") tried(() => this.shelf.show())();
    if (name === "runs") tried(() => this.runs.show())();
  }

  /** Vehicles and worlds; pictures and figures come one by one while they are made. */
  async catalogue() {
    const listed = await ask("/api/catalogue"), count = JSON.stringify(listed).length;
    if (count !== this.catalogueSize) {
      this.catalogueSize = count;
      this.fleet.offer(listed.vehicles);
      this.form.offerWorlds(listed.worlds);
    }
    clearTimeout(this.looking);
    const open = listed.vehicles.filter((type) => type.mass_kg === undefined && !type.error).length + listed.worlds.filter((world) => world.outlines === undefined && !world.error).length;
    if (open) this.looking = setTimeout(() => this.catalogue().catch(() => {}), CATALOGUE_MS);
  }

  async start() {
    const button = byId("start");
    button.disabled = true;
    try {
      const job = await ask("/api/start", { method: "POST", json: this.form.data() });
      this.form.refused(null);
      say(`${job.title} starts on instance ${job.instance}`);
      this.tab("jobs");
      await this.jobs.poll();
    } catch (error) { this.refused(error); } finally { button.disabled = false; }
  }

  async save(kind) {
    const name = byId("savename").value.trim();
    try {
      const { path } = await ask(`/api/scenarios/${encodeURIComponent(name)}`, { method: "POST", json: { kind, form: this.form.data() } });
      this.form.refused(null);
      say(`saved: ${path}`);
    } catch (error) { this.refused(error); }
  }

  refused(error) {
    if (!(error instanceof Refusal)) throw error;
    this.form.refused(error);
    say(error.message, true);
  }

  ended(job) {
    if (job.state === "failed") say(`${job.title} has failed: ${job.last}`, true);
    tried(() => this.runs.ended(job))();
  }
}

const start = new Start();
globalThis.start = start;
await start.begin();
