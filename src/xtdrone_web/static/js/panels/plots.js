// Live plots of any signal of the frames, of the selected vehicles.

import uPlot from "../../vendor/uPlot.esm.js";
import { euler } from "../frame.js";
import { colour } from "../fleet.js";
import { APART, apart } from "../twins.js";
import { slotError } from "../slots.js";

const SPAN_S = 30, STEP_S = 0.05, HEIGHT = 118, MAX_LINES = 12;
const LEAST = { m: 1, "m/s": 1, deg: 10, "rad/s": 0.5, V: 1, A: 2, "%": 10 }; // least span of an axis, so that noise looks like noise
const UNIT = /\[(.*)\]$/;
const HEIGHT_ABOVE = "height above start [m]";
const XYZ = ["east", "north", "up"], ANGLES = ["roll", "pitch", "yaw"], DEGREES = 180 / Math.PI;

/** Functions (frame, i) of the signals, by their names with units. */
function signals(layout, scene) {
  const read = {};
  const three = (label, unit, name, axes) => axes.forEach((axis, k) => { read[`${label} ${axis} [${unit}]`] = (f, i) => f.get(i, name, k); });
  read[HEIGHT_ABOVE] = (f, i) => f.get(i, "height");
  three("position", "m", "pos", XYZ);
  three("velocity", "m/s", "vel", XYZ);
  read["speed [m/s]"] = (f, i) => Math.hypot(f.get(i, "vel", 0), f.get(i, "vel", 1), f.get(i, "vel", 2));
  ANGLES.forEach((axis, k) => { read[`${axis} [deg]`] = (f, i) => DEGREES * euler(f.read(i, "quat", [0, 0, 0, 1]))[k]; });
  three("body rate", "rad/s", "rates", ["x", "y", "z"]);
  three("estimated position", "m", "est_pos", XYZ);
  three("estimated velocity", "m/s", "est_vel", XYZ);
  ANGLES.forEach((axis, k) => { read[`estimated ${axis} [deg]`] = (f, i) => DEGREES * euler(f.read(i, "est_quat", [0, 0, 0, 1]))[k]; });
  read["estimate error [m]"] = (f, i) => Math.hypot(...[0, 1, 2].map((k) => f.get(i, "est_pos", k) - f.get(i, "pos", k)));
  three("set-point of position", "m", "set_pos", XYZ);
  three("set-point of velocity", "m/s", "set_vel", XYZ);
  read["slot error [m]"] = slotError;
  three("wind", "m/s", "wind", XYZ);
  for (let k = 0; k < layout.vehicle.actuator.count; k++) read[`actuator ${k} [rad/s]`] = (f, i) => f.get(i, "actuator", k);
  read["voltage [V]"] = (f, i) => f.get(i, "voltage");
  read["current [A]"] = (f, i) => f.get(i, "current");
  read["charge [%]"] = (f, i) => 100 * f.get(i, "battery");
  read["range finder [m]"] = (f, i) => f.get(i, "range");
  if (scene.replay?.other) read[APART] = (f, i) => (scene.vehicles[i].twin === undefined ? apart(f, i, scene) : NaN);
  return read;
}

class Plots {
  constructor(app) {
    this.app = app;
    this.signals = signals(app.layout, app.scene);
    this.box = document.getElementById("plots");
    this.plots = [];
    this.last = -1;
    const select = document.getElementById("signal");
    for (const name of Object.keys(this.signals)) select.add(new Option(name));
    select.value = HEIGHT_ABOVE;
    document.getElementById("addplot").onclick = () => this.add(select.value);
    document.getElementById("clearplots").onclick = () => { while (this.plots.length) this.remove(this.plots[0]); };
    this.add(HEIGHT_ABOVE);
    this.add(app.scene.replay?.other ? APART : "speed [m/s]");
  }

  add(name) {
    if (this.plots.some((plot) => plot.name === name)) return;
    const element = document.createElement("div"), head = document.createElement("h2"), close = document.createElement("button");
    element.className = "plot";
    element.dataset.signal = name;
    head.textContent = name;
    close.textContent = "×";
    close.setAttribute("aria-label", `remove the plot of ${name}`);
    head.append(close);
    element.append(head);
    this.box.append(element);
    const plot = { name, element, read: this.signals[name], data: null, shown: "" };
    close.onclick = () => this.remove(plot);
    this.plots.push(plot);
    this.count();
  }

  count() { document.getElementById("noplots").hidden = this.plots.length > 0; }

  remove(plot) {
    plot.chart?.destroy();
    plot.element.remove();
    this.plots.splice(this.plots.indexOf(plot), 1);
    this.count();
  }

  take(frame) {
    if (frame.t < this.last) { this.last = -1; for (const plot of this.plots) plot.shown = ""; }
    if (frame.t - this.last < STEP_S) return;
    this.last = frame.t;
    const chosen = (this.app.chosen.length ? this.app.chosen : [...Array(this.app.fleet.n).keys()]).slice(0, MAX_LINES), key = chosen.join();
    for (const plot of this.plots) {
      if (plot.shown !== key) this.renew(plot, chosen, key);
      const [t, ...rows] = plot.data;
      t.push(frame.t);
      rows.forEach((row, k) => { const value = plot.read(frame, chosen[k]); row.push(Number.isFinite(value) ? value : null); });
      if (t[0] < frame.t - SPAN_S) for (const row of plot.data) row.splice(0, t.findIndex((x) => x >= frame.t - SPAN_S) || 1);
    }
  }

  /** Frames before the next one, after a jump of a recording. */
  recall(frames) {
    this.last = -Infinity;
    for (const plot of this.plots) plot.shown = "";
    for (const frame of frames) this.take(frame);
  }

  renew(plot, chosen, key) {
    plot.shown = key;
    plot.data = [[], ...chosen.map(() => [])];
    plot.chart?.destroy();
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--quiet"), line = style.getPropertyValue("--line");
    const axis = { stroke: ink, font: "10px Inter", grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const ends = () => [Math.max(0, this.last - SPAN_S), Math.max(SPAN_S, this.last)];
    plot.chart = new uPlot({ width: this.width, height: HEIGHT, cursor: { show: false }, legend: { show: false },
      scales: { x: { time: false, range: ends }, y: { range: (_, low, high) => spanned(low, high, LEAST[UNIT.exec(plot.name)?.[1]] ?? 1) } },
      padding: [6, 16, 0, 0], axes: [{ ...axis, size: 22, space: 56, values: (_, ticks) => ticks.map((t) => `${t} s`) }, { ...axis, size: 40, space: 22 }],
      series: [{}, ...chosen.map((i) => ({ stroke: colour(i), width: 1.6 }))] }, plot.data, plot.element);
  }

  /** Draws what has come in, if the panel is seen. */
  draw() {
    const { width } = this;
    for (const { chart, data } of this.plots) {
      if (chart && chart.width !== width) chart.setSize({ width, height: HEIGHT });
      chart?.setData(data);
    }
  }

  /** Width of the plots: that of the panel [px]. */
  get width() { return Math.max(200, this.box.clientWidth || 318); }

  theme() { for (const plot of this.plots) plot.shown = ""; }
}

/** The range of an axis: not narrower than a least span, with whole multiples of a fifth of it at its ends. */
function spanned(low, high, least) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, least];
  const span = Math.max(least, high - low), step = span / 5, middle = (low + high) / 2;
  const from = Math.floor(Math.max(low > -0.05 * least ? 0 : -Infinity, middle - span / 2) / step + 1e-6) * step;
  return [from, Math.max(Math.ceil(high / step - 1e-6) * step, from + span)];
}

export const panel = {
  title: "Plots",
  place: 10,
  markup: `
    <div class="row wrap"><select id="signal" aria-label="signal"></select><button id="addplot">Add plot</button><button id="clearplots">Clear</button></div>
    <p id="noplots" class="empty">No plot is shown: choose a signal and press Add plot.</p>
    <div id="plots"></div>`,
  style: `
    .plot { position: relative; margin-top: 8px; }
    #panels .plot h2 { margin: 0; color: inherit; font-size: 12px; font-weight: 600; display: flex; justify-content: space-between; align-items: center; }
    .plot h2 button { border: 0; background: none; min-height: 22px; padding: 0 6px; color: var(--quiet); }`,
  open: (app) => new Plots(app),
  on: {
    frame: (plots, frame) => plots.take(frame),
    past: (plots, frames) => plots.recall(frames),
    draw: (plots) => plots.draw(),
    theme: (plots) => plots.theme(),
  },
};
