// What has been flown: a table, and of one run its plots, reports and files.

import { ask, byId, el, tried } from "./api.js";

const KB = 1024;

export class Runs {
  constructor() {
    byId("runfilter").oninput = () => this.filter();
    this.open = "";
  }

  async show() {
    const { folder, runs, count } = await ask("/api/runs");
    byId("runsfolder").textContent = `${folder}${count > runs.length ? ` · the newest ${runs.length} of ${count}` : ""}`;
    byId("runtable").tBodies[0].replaceChildren(...runs.map((run) => this.row(run)));
    if (!runs.length) byId("runtable").tBodies[0].append(el("tr", {}, el("td", { colSpan: 7, class: "quiet" }, "Nothing has been flown yet.")));
    this.filter();
  }

  row(run) {
    const button = el("button", { onclick: tried(() => this.describe(run.name)) }, run.name);
    const row = el("tr", { dataset: { name: run.name }, class: run.name === this.open ? "on" : "", onclick: (event) => { if (event.target !== button) button.click(); } }, el("td", {}, button), ...[new Date(run.at * 1000).toLocaleString(), run.vehicles, run.world, run.by,
      typeof run.seconds === "number" ? `${run.seconds.toFixed(1)} s` : "", run.result].map((text) => el("td", {}, text)));
    return row;
  }

  filter() {
    const words = byId("runfilter").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of byId("runtable").tBodies[0].rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  }

  async describe(name) {
    const run = await ask(`/api/runs/${encodeURIComponent(name)}`), box = byId("run");
    this.open = name;
    for (const row of byId("runtable").tBodies[0].rows) row.classList.toggle("on", row.dataset.name === name);
    const file = (path) => `/runs/${encodeURIComponent(name)}/${path.split("/").map(encodeURIComponent).join("/")}`;
    const order = (what, words) => el("button", { class: "pilot", onclick: tried(() => this.order(what, name)), id: `do-${what}` }, words);
    const link = (path, words = path) => el("a", { href: file(path), target: "_blank", rel: "noopener" }, words);
    box.replaceChildren(
      el("div", { class: "row wrap" }, el("h2", {}, name), el("span", { class: "quiet" }, [run.vehicles, run.world, run.result].filter(Boolean).join(" · ")), el("span", { class: "spacer" }),
        order("replay", "Replay"), order("plot", run.plots.length > 1 ? "Draw plots again" : "Draw all plots")),
      el("p", { id: "runsays", role: "status", class: "quiet" }),
      el("div", { class: "gallery" }, ...run.plots.map((path) => el("figure", {}, el("a", { href: file(path), target: "_blank", rel: "noopener" }, el("img", { src: `${file(path)}?${run.at}`, alt: path, loading: "lazy" })), el("figcaption", {}, path.replace("plots/", ""))))),
      el("h3", {}, "Summary"), el("dl", { class: "figures" }, ...Object.entries(run.summary).flatMap(([key, value]) => [el("dt", {}, key.replaceAll("_", " ")), el("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value))])),
      ...(run.reports.length ? [el("h3", {}, "Reports"), el("ul", { class: "rows" }, ...run.reports.map((path) => el("li", {}, link(path))))] : []),
      el("h3", {}, `Files (${run.files.length + run.more})`), el("ul", { class: "rows" }, ...run.files.map(({ path, bytes }) => el("li", {}, link(path), el("span", { class: "quiet" }, bytes < KB ? `${bytes} B` : `${Math.round(bytes / KB)} kB`)))));
    box.hidden = false;
    box.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  async order(what, name) {
    await ask(`/api/runs/${encodeURIComponent(name)}/${what}`, { method: "POST" });
    byId("runsays").textContent = what === "plot" ? "drawing the plots …" : "the replay starts; its link appears under Running";
  }

  /** How far the plots are: the program says a line for each. */
  progress(job) {
    if (job.kind === "plot" && job.title === this.open) byId("runsays").textContent = `drawing the plots … ${job.line_count ? `${job.line_count} done` : ""}`;
  }

  /** A program has ended: plots that are new are shown. */
  async ended(job) {
    if (job.kind === "simulation" && !byId("p-runs").hidden) await this.show();
    if (job.kind === "plot" && job.title === this.open) {
      await this.describe(job.title);
      byId("runsays").textContent = job.state === "failed" ? `the plots failed: ${job.last}` : "the plots are drawn";
    }
  }
}
