// Programs that the page has started: state, console, link, stop.

import { ask, byId, el, ownLink, tried } from "./api.js";

const PERIOD_MS = 1000;

export class Jobs {
  /** ended(job) is called once for each that has ended, progress(job) while it runs. */
  constructor(ended, progress) {
    this.ended = ended;
    this.progress = progress;
    this.cards = new Map();
    this.states = new Map();
    this.poll();
  }

  async poll() {
    try { this.show((await ask("/api/jobs")).jobs); this.lost = false; } catch (error) {
      if (!this.lost) byId("jobcount").textContent = "(no answer)";
      this.lost = error;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.poll(), PERIOD_MS);
  }

  show(jobs) {
    const running = jobs.filter((job) => !job.ended).length;
    byId("jobcount").textContent = running ? `(${running})` : "";
    if (!jobs.length) byId("jobs").replaceChildren(el("p", { class: "quiet", id: "nojobs" }, "Nothing is running. A flight that is started appears here, with its console and the link of its page."));
    else byId("nojobs")?.remove();
    for (const job of [...jobs].reverse()) {
      if (!this.cards.has(job.number)) { this.cards.set(job.number, this.card(job)); byId("jobs").prepend(this.cards.get(job.number).box); }
      this.update(job);
      if (!job.ended) this.progress(job);
      if (job.ended && this.states.get(job.number) === false) this.ended(job);
      this.states.set(job.number, Boolean(job.ended));
    }
  }

  card(job) {
    const state = el("span", { class: "state" }), link = el("a", { class: "button open", target: "_blank", rel: "noopener", hidden: true }, job.kind === "replay" ? "Open replay" : "Open page");
    const stop = el("button", { class: "pilot", onclick: tried(() => { stop.disabled = true; return ask(`/api/jobs/${job.number}/stop`, { method: "POST" }).then(() => this.poll()); }) }, "Stop");
    const text = el("pre", { tabIndex: 0, "aria-label": `console of ${job.title}` }), about = el("span", { class: "quiet" });
    const box = el("article", { class: "card job", dataset: { number: job.number } }, el("div", { class: "row wrap" }, el("h2", {}, job.kind === "simulation" ? job.title : `${job.kind} of ${job.title}`), state, about, el("span", { class: "spacer" }), link, stop), text);
    return { box, state, link, stop, text, about, lineCount: -1 };
  }

  async update(job) {
    const card = this.cards.get(job.number);
    card.state.textContent = job.state;
    card.state.className = `state ${job.state}`;
    card.about.textContent = [job.instance === null ? "" : `instance ${job.instance}`, job.clock.t === undefined ? "" : `${job.clock.t.toFixed(1)} s simulated${job.ended ? "" : `, ${job.clock.factor.toFixed(2)} × real time`}`, job.run ? `run ${job.run}` : "", job.state === "failed" ? `status ${job.status}` : ""].filter(Boolean).join(" · ");
    card.stop.hidden = Boolean(job.ended);
    card.link.hidden = !job.link || Boolean(job.ended);
    if (job.link) card.link.href = here(job.link);
    if (job.line_count === card.lineCount) return;
    card.lineCount = job.line_count;
    const { lines } = await ask(`/api/jobs/${job.number}`).catch(() => ({ lines: [job.last] }));
    card.text.textContent = lines.join("\n");
    card.text.scrollTop = card.text.scrollHeight;
  }
}

/** A link that this server has printed for its own machine, as this browser reaches it. */
function here(link) {
  const url = new URL(link);
  if (url.hostname === "127.0.0.1") url.hostname = location.hostname;
  const fragment = new URLSearchParams(url.hash.slice(1));
  fragment.set("back", ownLink());
  url.hash = fragment;
  return url.href;
}
