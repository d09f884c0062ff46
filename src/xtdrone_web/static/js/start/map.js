// The map of the start: vehicles of a form, placed by a click, moved by dragging or arrow keys.

const STEPS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const NEAR = 14, MOVED = 4, ROUND = 10; // pixels, pixels, per metre

export class StartMap {
  /** fleet: vehicles, selected, colour(type), place(x, y), changed(), select(i), remove(i). */
  constructor(canvas, fleet) {
    this.canvas = canvas;
    this.fleet = fleet;
    this.scale = 22;
    this.centre = [4, 3];
    this.outlines = [];
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY / 500)); }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  zoom(factor) { this.scale = Math.min(400, Math.max(0.05, this.scale * factor)); this.draw(); }

  world(px, py) { return [this.centre[0] + (px - this.width / 2) / this.scale, this.centre[1] - (py - this.height / 2) / this.scale]; }

  place(x, y) { return [this.width / 2 + (x - this.centre[0]) * this.scale, this.height / 2 - (y - this.centre[1]) * this.scale]; }

  at(event) { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }

  down(event) {
    this.canvas.focus();
    this.canvas.setPointerCapture(event.pointerId);
    const [px, py] = this.at(event);
    const away = this.fleet.vehicles.map(({ pos }) => { const [x, y] = this.place(...pos); return Math.hypot(x - px, y - py); });
    const i = away.length ? away.indexOf(Math.min(...away)) : -1;
    this.held = { i: i >= 0 && away[i] < NEAR ? i : -1, px, py, centre: [...this.centre], moved: false };
    if (this.held.i >= 0) this.fleet.select(this.held.i);
  }

  move(event) {
    if (!this.held) return;
    const [px, py] = this.at(event), held = this.held;
    held.moved ||= Math.hypot(px - held.px, py - held.py) > MOVED;
    if (!held.moved) return;
    if (held.i >= 0) this.shift(held.i, this.world(px, py));
    else this.centre = [held.centre[0] - (px - held.px) / this.scale, held.centre[1] + (py - held.py) / this.scale];
    this.draw();
  }

  up(event) {
    const held = this.held;
    this.held = null;
    if (!held) return;
    if (!held.moved && held.i < 0) this.fleet.place(...this.world(...this.at(event)).map(rounded));
    else if (held.moved && held.i >= 0) this.fleet.changed();
  }

  shift(i, [x, y]) { const pos = this.fleet.vehicles[i].pos; pos[0] = rounded(x); pos[1] = rounded(y); }

  key(event) {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, i = this.fleet.selected;
    if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.25 : 0.8);
    else if (event.key === "Enter" || event.key === " ") this.fleet.place(...this.centre.map(rounded));
    else if (event.key === "," || event.key === ".") this.fleet.select((i + (event.key === "." ? 1 : -1) + this.fleet.vehicles.length) % Math.max(1, this.fleet.vehicles.length));
    else if (event.key in steps && this.fleet.vehicles[i]) {
      const [dx, dy] = steps[event.key], size = event.shiftKey ? 0.1 : 1, pos = this.fleet.vehicles[i].pos;
      this.shift(i, [pos[0] + dx * size, pos[1] + dy * size]);
      this.fleet.changed();
    } else if (event.key === "Delete" || event.key === "Backspace") this.fleet.remove(i);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Shows all vehicles, and the origin. */
  fit() {
    const points = [[0, 0], ...this.fleet.vehicles.map(({ pos }) => pos)];
    const row = (k) => points.map((p) => p[k]), low = [0, 1].map((k) => Math.min(...row(k))), high = [0, 1].map((k) => Math.max(...row(k)));
    this.centre = [0, 1].map((k) => (low[k] + high[k]) / 2);
    this.measure();
    this.scale = Math.min(60, this.width / (high[0] - low[0] + 8), this.height / (high[1] - low[1] + 6));
    this.draw();
  }

  measure() { this.width = this.canvas.clientWidth || 600; this.height = this.canvas.clientHeight || 380; }

  draw() {
    const canvas = this.canvas, ratio = Math.min(2, devicePixelRatio || 1), c = canvas.getContext("2d");
    this.measure();
    if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(this.height * ratio)) { canvas.width = Math.round(this.width * ratio); canvas.height = Math.round(this.height * ratio); }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--quiet").trim(), text = style.getPropertyValue("--text").trim();
    this.grid(c, ink);
    this.obstacles(c, ink);
    this.fleet.vehicles.forEach((vehicle, i) => this.vehicle(c, vehicle, i, text));
  }

  grid(c, ink) {
    const step = STEPS.find((each) => each * this.scale > 38) || 2000, [x0, y0] = this.world(0, this.height), [x1, y1] = this.world(this.width, 0);
    Object.assign(c, { strokeStyle: ink, fillStyle: ink, font: "11px Inter", globalAlpha: 0.22, lineWidth: 1 });
    c.beginPath();
    for (let x = Math.ceil(x0 / step) * step; x < x1; x += step) { const [px] = this.place(x, 0); c.moveTo(px, 0); c.lineTo(px, this.height); }
    for (let y = Math.ceil(y0 / step) * step; y < y1; y += step) { const [, py] = this.place(0, y); c.moveTo(0, py); c.lineTo(this.width, py); }
    c.stroke();
    c.globalAlpha = 0.8;
    const [ox, oy] = this.place(0, 0);
    c.beginPath(); c.moveTo(ox - 7, oy); c.lineTo(ox + 7, oy); c.moveTo(ox, oy - 7); c.lineTo(ox, oy + 7); c.stroke();
    c.globalAlpha = 1;
    c.fillText(`grid ${step} m`, 10, this.height - 10);
    c.fillText("N ↑", this.width - 30, 18);
  }

  obstacles(c, ink) {
    c.fillStyle = ink;
    c.globalAlpha = 0.3;
    for (const [x, y, yaw, length, width] of this.outlines) {
      const [px, py] = this.place(x, y);
      c.save();
      c.translate(px, py);
      c.rotate(-yaw);
      c.fillRect((-length / 2) * this.scale, (-width / 2) * this.scale, length * this.scale, width * this.scale);
      c.restore();
    }
    c.globalAlpha = 1;
  }

  vehicle(c, vehicle, i, text) {
    const [x, y] = this.place(...vehicle.pos), on = i === this.fleet.selected;
    c.save();
    c.translate(x, y);
    c.fillStyle = this.fleet.colour(vehicle.type);
    c.strokeStyle = text;
    if (on) { c.lineWidth = 2; c.beginPath(); c.arc(0, 0, 15, 0, 7); c.stroke(); }
    c.rotate(-vehicle.yaw);
    c.beginPath();
    c.moveTo(11, 0); c.lineTo(-8, 7); c.lineTo(-4, 0); c.lineTo(-8, -7);
    c.fill();
    c.restore();
    c.fillStyle = text;
    c.font = "11px Inter";
    if (on || this.scale > 14) c.fillText(String(i), x + 11, y - 9);
  }
}

const rounded = (x) => Math.round(x * ROUND) / ROUND + 0;
