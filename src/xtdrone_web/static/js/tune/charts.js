// One plot for each axis of a log: stick, measured and simulated curves, the stretch and its held-out part.

import uPlot from "../../vendor/uPlot.esm.js";

const HEIGHT = 150, MIN_PIXELS = 4, MIN_S = 1;

function ink(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

export class Charts {
  /** choose(begin, end) is called with a stretch that was dragged over [s]. */
  constructor(box, choose) {
    this.box = box;
    this.choose = choose;
    this.charts = [];
    this.stretch = { begin: 0, end: 0, held: 0 };
    new ResizeObserver(() => this.resize()).observe(box);
  }

  /** Shows another log, as `xtdrone tune --preview --json` tells it. */
  open(record) {
    this.record = record;
    this.curves = {};
    this.draw();
  }

  /** Shows what a search found, by axis. */
  found(curves) {
    this.curves = curves;
    this.draw();
  }

  mark(begin, end, held) {
    this.stretch = { begin, end, held };
    for (const { plot } of this.charts) plot.redraw(false);
  }

  draw() {
    for (const { plot } of this.charts) plot.destroy();
    this.box.replaceChildren();
    this.charts = Object.entries(this.record?.axes || {}).map(([axis, signals]) => this.chart(axis, signals));
  }

  chart(axis, signals) {
    const element = document.createElement("div"), head = document.createElement("h3"), value = document.createElement("output");
    element.className = "chart";
    element.dataset.axis = axis;
    head.append(`${axis} [${signals.unit}]${signals.moves ? "" : ", does not move with its stick"}`, value);
    element.append(head);
    this.box.append(element);
    const tables = [[this.record.t, signals.stick, signals.measured]];
    for (const part of ["fitted", "held out"]) {
      const curve = (this.curves[axis] || []).find((each) => each.part === part);
      tables.push(curve ? [curve.t, curve.simulated] : [[this.record.t[0]], [null]]);
    }
    const grid = { stroke: ink("--line"), width: 1 }, axes = { stroke: ink("--quiet"), font: "11px Inter", grid, ticks: { show: false } };
    const line = (colour, width, more = {}) => ({ stroke: ink(colour), width, spanGaps: true, points: { show: false }, ...more });
    const plot = new uPlot({
      width: Math.max(200, this.box.clientWidth), height: HEIGHT, legend: { show: false }, padding: [8, 8, 0, 0],
      scales: { x: { time: false }, stick: { range: [-1.05, 1.05] } },
      axes: [{ ...axes, size: 24 }, { ...axes, size: 48 }, { ...axes, scale: "stick", side: 1, size: 34, grid: { show: false } }],
      series: [{}, line("--blue", 1, { scale: "stick", alpha: 0.7 }), line("--quiet", 1.6), line("--accent", 1.8), line("--good", 1.8)],
      cursor: { drag: { x: true, y: false, setScale: false, dist: MIN_PIXELS }, sync: { key: "tune" }, bind: { dblclick: () => () => this.choose(0, this.record.seconds) } },
      hooks: { drawClear: [(u) => this.shade(u)], setSelect: [(u) => this.selected(u)], setCursor: [(u) => this.read(u, signals, value)] },
    }, uPlot.join(tables), element);
    return { axis, plot };
  }

  selected(u) {
    const { left, width } = u.select;
    if (width < MIN_PIXELS) return;
    const at = (pixel) => Math.min(Math.max(u.posToVal(pixel, "x"), 0), this.record.seconds);
    const begin = at(left), end = at(left + width);
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (end - begin >= MIN_S) this.choose(begin, end);
  }

  read(u, { unit }, value) {
    const row = u.cursor.idx;
    const t = u.cursor.left >= 0 && row !== null && row !== undefined ? u.data[0][row] : NaN;
    const k = Number.isFinite(t) ? this.record.t.findIndex((x) => x >= t) : -1;
    value.textContent = k < 0 ? "" : `${t.toFixed(2)} s: ${this.record.axes[u.root.parentElement.dataset.axis].measured[k].toFixed(2)} ${unit}`;
  }

  /** What is not in the stretch is hatched grey, what is held out is green. */
  shade(u) {
    const { begin, end, held } = this.stretch, { left, top, width, height } = u.bbox;
    const at = (t) => Math.min(Math.max(u.valToPos(t, "x", true), left), left + width);
    const fill = (from, to, colour, alpha) => {
      u.ctx.globalAlpha = alpha;
      u.ctx.fillStyle = ink(colour);
      u.ctx.fillRect(at(from), top, at(to) - at(from), height);
    };
    u.ctx.save();
    fill(this.record.t[0], begin, "--quiet", 0.22);
    fill(end, this.record.seconds, "--quiet", 0.22);
    fill(end - held * (end - begin), end, "--good", 0.12);
    u.ctx.restore();
  }

  resize() {
    const width = Math.max(200, this.box.clientWidth);
    for (const { plot } of this.charts) if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }
}
