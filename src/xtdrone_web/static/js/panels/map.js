// The map: vehicles, their trails and goals, mission and geofence, north up.

import { euler } from "../frame.js";
import { colour } from "../fleet.js";
import { planOf } from "../overlays.js";

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const field = (id) => document.getElementById(id);

class FlightMap {
  constructor(app) {
    this.app = app;
    this.canvas = field("map");
    this.zoom = 1;
    this.shift = [0, 0];
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom *= Math.exp(-event.deltaY / 500); }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { this.drag = [event.clientX, event.clientY, ...this.shift]; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.drag) this.shift = [this.drag[2] + event.clientX - this.drag[0], this.drag[3] + event.clientY - this.drag[1]];
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const moved = this.drag && Math.hypot(event.clientX - this.drag[0], event.clientY - this.drag[1]);
      this.drag = null;
      if (moved < 4) this.click(event);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "-") this.zoom *= event.key === "+" ? 1.25 : 0.8;
    });
    field("loadplan").onclick = () => this.loadPlan();
    field("gotoform").onsubmit = (event) => {
      event.preventDefault();
      const values = new FormData(event.target);
      app.goTo(Number(values.get("x")), Number(values.get("y")), Number(values.get("z")));
    };
  }

  async loadPlan() {
    const { app } = this;
    try {
      const answer = await app.connection.ask("items", { vehicles: [app.chosen[0] ?? 0] });
      app.overlays.plan = planOf(answer);
      field("plan").textContent = `${answer.mission.length} items, ${answer.fence.length} of the fence`;
    } catch (error) { app.say(error.message, true); }
  }

  click(event) {
    const box = this.canvas.getBoundingClientRect(), [x, y] = this.world(event.clientX - box.left, event.clientY - box.top);
    if (this.app.going) this.app.goTo(x, y);
    else {
      const away = this.app.fleet.pos.map((p) => Math.hypot(p.x - x, p.y - y)), i = away.indexOf(Math.min(...away));
      if (away[i] * this.scale < 24) this.app.choose(i, event.shiftKey);
    }
  }

  world(px, py) {
    return [this.centre[0] + (px - this.width / 2 - this.shift[0]) / this.scale, this.centre[1] - (py - this.height / 2 - this.shift[1]) / this.scale];
  }

  place(x, y) {
    return [this.width / 2 + this.shift[0] + (x - this.centre[0]) * this.scale, this.height / 2 + this.shift[1] - (y - this.centre[1]) * this.scale];
  }

  fit() {
    const points = this.app.fleet.pos.map((p) => [p.x, p.y]), plan = this.app.overlays.plan;
    if (plan) points.push(...plan.mission, ...plan.fences.flatMap((fence) => fence.points));
    const east = points.map((p) => p[0]), north = points.map((p) => p[1]);
    const spread = (row) => Math.max(...row) - Math.min(...row), middle = (row) => (Math.max(...row) + Math.min(...row)) / 2;
    const wide = Math.max(16, 1.5 * spread(east), 1.5 * spread(north));
    if (!this.wide || wide > this.wide || wide < 0.4 * this.wide) this.wide = wide;
    this.centre = [middle(east), middle(north)];
    this.scale = (this.zoom * Math.min(this.width, this.height)) / this.wide;
  }

  draw(frame) {
    const canvas = this.canvas, ratio = Math.min(2, devicePixelRatio || 1), c = canvas.getContext("2d");
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    if (canvas.width !== this.width * ratio || canvas.height !== this.height * ratio) { canvas.width = this.width * ratio; canvas.height = this.height * ratio; }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    this.fit();
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--quiet").trim();
    this.grid(c, ink);
    this.plan(c);
    this.app.fleet.pos.forEach((p, i) => this.vehicle(c, frame, i, p, style));
  }

  grid(c, ink) {
    const step = STEPS.find((each) => each * this.scale > 34) || 1000, [x0, y0] = this.world(0, this.height), [x1, y1] = this.world(this.width, 0);
    c.strokeStyle = ink;
    c.fillStyle = ink;
    c.font = "10px Inter";
    c.globalAlpha = 0.22;
    c.lineWidth = 1;
    c.beginPath();
    for (let x = Math.ceil(x0 / step) * step; x < x1; x += step) { const [px] = this.place(x, 0); c.moveTo(px, 0); c.lineTo(px, this.height); }
    for (let y = Math.ceil(y0 / step) * step; y < y1; y += step) { const [, py] = this.place(0, y); c.moveTo(0, py); c.lineTo(this.width, py); }
    c.stroke();
    c.globalAlpha = 1;
    c.fillText(`${step} m`, 8, this.height - 8);
    c.fillText("N ↑", this.width - 26, 16);
  }

  plan(c) {
    const plan = this.app.overlays.plan;
    if (!plan) return;
    const line = (points, stroke, closed) => {
      c.strokeStyle = stroke;
      c.lineWidth = 1.6;
      c.beginPath();
      points.forEach((p, k) => (k ? c.lineTo(...this.place(p[0], p[1])) : c.moveTo(...this.place(p[0], p[1]))));
      if (closed) c.closePath();
      c.stroke();
    };
    line(plan.mission, "#5ad8ff", false);
    plan.mission.forEach((p, k) => { const [x, y] = this.place(p[0], p[1]); c.fillStyle = "#5ad8ff"; c.beginPath(); c.arc(x, y, 4, 0, 7); c.fill(); c.fillText(k + 1, x + 7, y - 5); });
    for (const fence of plan.fences) line(fence.points, fence.inside ? "#ffc24a" : "#ff6b6b", true);
  }

  vehicle(c, frame, i, p, style) {
    const [x, y] = this.place(p.x, p.y), yaw = euler(frame.read(i, "quat", [0, 0, 0, 1]))[2], goal = frame.read(i, "set_pos", [0, 0, 0]);
    const trail = this.app.overlays.past[i];
    c.strokeStyle = c.fillStyle = colour(i);
    c.globalAlpha = 0.6;
    c.lineWidth = 1.3;
    c.beginPath();
    trail.forEach((q, k) => (k ? c.lineTo(...this.place(q.x, q.y)) : c.moveTo(...this.place(q.x, q.y))));
    c.stroke();
    if (Number.isFinite(goal[0] + goal[1])) { const [gx, gy] = this.place(goal[0], goal[1]); c.strokeRect(gx - 3, gy - 3, 6, 6); }
    c.globalAlpha = 1;
    c.save();
    c.translate(x, y);
    c.rotate(-yaw);
    c.beginPath();
    c.moveTo(9, 0); c.lineTo(-6, 5.5); c.lineTo(-3, 0); c.lineTo(-6, -5.5);
    c.fill();
    if (this.app.chosen.includes(i)) { c.strokeStyle = style.getPropertyValue("--text"); c.lineWidth = 1.6; c.stroke(); }
    c.restore();
  }
}

export const panel = {
  title: "Map",
  place: 20,
  orders: ["goto", "items"],
  markup: `
    <canvas id="map" tabindex="0" role="application" aria-label="map; click sends the selected vehicles there while Go to is on"></canvas>
    <div class="row wrap"><button id="loadplan">Load mission and fence</button><span id="plan" class="quiet">none is loaded yet</span></div>
    <form id="gotoform" class="row wrap pilot" aria-label="go to a place"><label>E <input name="x" type="number" step="any" value="0"> m</label><label>N <input name="y" type="number" step="any" value="0"> m</label><label>Up <input name="z" type="number" step="any" value="5"> m</label><button>Go</button></form>`,
  style: `
    #map { width: 100%; height: 300px; border-radius: 10px; background: var(--field); display: block; margin-bottom: 8px; touch-action: none; }
    .replay #loadplan { display: none; }`,
  open: (app) => new FlightMap(app),
  on: { draw: (map, frame) => map.draw(frame) },
};
