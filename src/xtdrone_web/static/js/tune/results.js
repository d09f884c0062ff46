// What a search found: the command's table, the gains beside Table 2's, and what becomes of them.

const GAINS = ["k", "p", "i", "d"];
const field = (id) => document.getElementById(id);
const short = (value, digits = 3) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(digits))));
const percent = (part, whole) => (part === undefined ? "–" : `${(100 * part / Math.max(whole, 1e-30)).toFixed(1)} %`);

function row(body, head, cells) {
  const line = document.createElement("tr"), first = document.createElement("th");
  first.scope = "row";
  first.textContent = head;
  line.append(first);
  for (const [text, quiet] of cells.map((cell) => [].concat(cell))) {
    const cell = document.createElement("td");
    cell.textContent = text;
    if (quiet) { const small = document.createElement("small"); small.textContent = quiet; cell.append(small); }
    line.append(cell);
  }
  body.append(line);
}

function extras({ delay, lean_x: x, lean_y: y }) {
  const lean = Math.hypot(x, y) * 180 / Math.PI;
  return [delay ? `${(1000 * delay).toFixed(0)} ms` : "", lean ? `${lean.toFixed(1)}°` : ""].filter(Boolean).join(", ") || "–";
}

export class Results {
  /** order(op) asks the server, and resolves to its answer or null. */
  constructor(order, say) {
    this.order = order;
    this.say = say;
    field("download").onclick = () => this.download();
    field("save").onclick = async () => { const done = await order("save"); if (done) say(`saved: ${done.path}`); };
    field("fly").onclick = () => order("fly");
    field("land").onclick = () => order("land");
    for (const button of document.querySelectorAll("[data-copy]")) button.onclick = () => this.copy(field(button.dataset.copy));
  }

  clear() { field("found").hidden = true; }

  show(done) {
    this.done = done;
    const [costs, gains] = ["costs", "gains"].map((id) => field(id).tBodies[0]);
    costs.replaceChildren();
    gains.replaceChildren();
    for (const [axis, one] of Object.entries(done.result.axes)) {
      if (!one.moves) { row(costs, axis, ["does not move", ...Array(6).fill("–")]); continue; }
      row(costs, axis, [short(one.J), percent(one.J, one.J_nothing), percent(one.J, one.J_constant), short(one.held_out_J),
        percent(one.held_out_J, one.held_out_J_nothing), short(one.J_together), extras(one)]);
      row(gains, axis, GAINS.map((name) => [short(one[name], 4), `(${done.table_2[axis][name]})`]));
    }
    field("save").hidden = !done.run;
    field("folder").textContent = `${done.result.method}, ${done.result.model}, ${done.result.seconds.toFixed(1)} s; gains.yaml, fit.png and result.json are in ${done.folder}`;
    field("flycommand").textContent = done.fly;
    field("found").hidden = false;
  }

  flight({ running, url, error }) {
    field("fly").disabled = running;
    field("land").hidden = !running;
    field("flight").hidden = !(running && url);
    if (url) field("flight").href = url;
    if (error) this.say(error, true);
    else if (url) this.say("the flight's page is open to you: follow the link");
    else this.say(running ? "the flight starts…" : "the flight has ended");
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.done.yaml], { type: "application/yaml" }));
    link.download = "gains.yaml";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async copy(code) {
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      this.say("copied");
    } catch { this.say("the command is selected: copy it by Ctrl-C"); }
  }
}
