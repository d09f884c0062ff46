// The tuning page: chooses a log and a stretch of it, runs a search, shows what it found.

import { token } from "../socket.js";
import { Charts } from "./charts.js";
import { Link } from "./link.js";
import { Results } from "./results.js";

const SAY_MS = 5000;
const field = (id) => document.getElementById(id);
const number = (id) => (field(id).value === "" ? null : Number(field(id).value));

class Tuning {
  constructor() {
    this.running = false;
    this.log = null;
    this.charts = new Charts(field("charts"), (begin, end) => this.choose(begin, end));
    this.results = new Results((op, values) => this.order(op, values), (text, bad) => this.say(text, bad));
    this.makeControls();
    this.setTheme(localStorage.getItem("xtdrone-theme") || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
    const base = location.pathname.replace(/\/$/, "");
    field("back").hidden = base === ""; // alone, it has no start page
    this.upload = `${base}/upload`;
    this.link = new Link(`${base}/socket`, {
      welcome: () => this.list(), log: (message) => this.opened(message), search: (message) => this.searching(message),
      progress: (message) => this.progress(message), done: (message) => this.found(message), flight: (message) => this.results.flight(message),
      lost: (refused) => this.say(refused || "the connection is lost; trying again", true) });
  }

  makeControls() {
    field("theme").onclick = () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    field("logs").onchange = () => { if (field("logs").value) this.order("open", { log: field("logs").value }, "reading the log…"); };
    field("reload").onclick = () => this.list();
    field("file").onchange = () => { if (field("file").files.length) this.send(field("file").files[0]); };
    field("search").onsubmit = (event) => { event.preventDefault(); this.start(); };
    field("cancel").onclick = () => this.order("cancel");
    for (const id of ["begin", "end", "held"]) field(id).oninput = () => this.mark();
    addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("drop"); });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("drop"); });
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("drop");
      if (event.dataTransfer.files.length) this.send(event.dataTransfer.files[0]);
    });
  }

  setTheme(name) {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("xtdrone-theme", name);
    field("theme").textContent = name === "dark" ? "Light" : "Dark";
    this.charts.draw();
  }

  async list() {
    document.body.dataset.ready = "1";
    const answer = await this.order("logs");
    if (!answer) return;
    const select = field("logs");
    select.replaceChildren(new Option(answer.logs.length ? "Choose a log…" : "There is none yet: upload one", ""));
    for (const { name, written } of answer.logs) select.add(new Option(`${name} (${written})`, name));
    select.value = this.log?.name || "";
  }

  /** Sends a file; the server opens it. */
  async send(file) {
    this.say(`sending ${file.name}…`);
    try {
      const answer = await (await fetch(`${this.upload}?name=${encodeURIComponent(file.name)}`, {
        method: "POST", body: file, headers: { Authorization: `Bearer ${token()}` } })).json();
      if (!answer.ok) throw new Error(answer.error);
      this.say(`opened ${file.name}`);
    } catch (error) { this.say(error.message, true); }
    field("file").value = "";
    this.list();
  }

  opened(message) {
    if (this.log?.number === message.number) return; // the same, after a lost connection
    this.log = message;
    this.results.clear();
    field("progress").replaceChildren();
    field("title").textContent = message.name;
    field("lognote").textContent = `${message.samples} samples, ${message.seconds.toFixed(1)} s, ${(message.size / 1e6).toFixed(2)} MB`;
    for (const box of field("axes").querySelectorAll("input")) box.checked = message.axes[box.value].moves;
    this.charts.open(message);
    this.choose(0, message.seconds);
    this.enable();
    if (![...field("logs").options].some(({ value }) => value === message.name)) this.list();
    field("logs").value = message.name;
  }

  /** A stretch [s]; the whole log has no end. */
  choose(begin, end) {
    field("begin").value = begin.toFixed(2).replace(/\.?0+$/, "");
    field("end").value = end >= this.log.seconds ? "" : end.toFixed(2);
    this.mark();
  }

  mark() {
    if (this.log) this.charts.mark(number("begin") ?? 0, number("end") ?? this.log.seconds, number("held") ?? 0);
  }

  enable() {
    field("start").disabled = this.running || !this.log;
    field("cancel").disabled = !this.running;
    field("logs").disabled = field("file").disabled = this.running;
  }

  start() {
    const axes = [...field("axes").querySelectorAll("input:checked")].map(({ value }) => value);
    this.order("start", { axes, method: field("method").value, model: field("model").value, begin: number("begin"), end: number("end"),
      held_out: number("held"), generations: number("generations"), seed: number("seed") });
  }

  searching({ running, command, error, cancelled }) {
    this.running = running;
    this.enable();
    if (command) field("tunecommand").textContent = command;
    if (running) {
      field("progress").replaceChildren();
      this.results.clear();
      this.charts.found({});
    } else this.say(error || (cancelled ? "cancelled" : "done"), Boolean(error));
  }

  progress({ axis, generation, of, J, seconds }) {
    let line = field("progress").querySelector(`[data-axis=${axis}]`);
    if (!line) {
      line = document.createElement("div");
      line.className = "axis";
      line.dataset.axis = axis;
      const name = document.createElement("b"), bar = document.createElement("progress");
      name.textContent = axis;
      bar.setAttribute("aria-label", `search of ${axis}`);
      line.append(name, bar, document.createElement("small"));
      field("progress").append(line);
    }
    const [, bar, text] = line.children, left = generation < of ? `${Math.ceil(seconds * (of - generation) / generation)} s left` : `${seconds.toFixed(1)} s`;
    bar.max = of;
    bar.value = generation;
    text.textContent = J === null ? "does not move with its stick" : `${generation} of ${of}, J ${J.toPrecision(3)}, ${left}`;
  }

  found(done) {
    this.charts.found(done.curves);
    this.results.show(done);
  }

  /** Asks the server; says why it refuses. */
  async order(op, values = {}, meanwhile = "") {
    if (meanwhile) this.say(meanwhile);
    try {
      const answer = await this.link.ask(op, values);
      if (meanwhile) this.say("");
      return answer;
    } catch (error) {
      this.say(error.message, true);
      return null;
    }
  }

  say(text, bad = false) {
    const toast = field("toast");
    toast.textContent = text;
    toast.classList.toggle("bad", bad);
    toast.classList.toggle("on", Boolean(text));
    clearTimeout(this.saying);
    this.saying = setTimeout(() => toast.classList.remove("on"), SAY_MS);
  }
}

window.tuning = new Tuning(); // for tests and for the curious in the console
