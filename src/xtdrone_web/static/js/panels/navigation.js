// What an Agent that takes goals has seen, its way and its goal; a click is the next goal.

import { euler } from "../frame.js";
import { colour } from "../fleet.js";

const PERIOD = 500; // between two looks while the panel is shown [ms]
const SHADES = [null, [214, 226, 236, 255], [52, 44, 36, 255]]; // unseen, free, occupied
const field = (id) => document.getElementById(id);

class Navigation {
  constructor(app) {
    this.app = app;
    this.canvas = field("navigation");
    this.picture = document.createElement("canvas");
    this.canvas.onclick = (event) => {
      if (!this.scale) return;
      const box = this.canvas.getBoundingClientRect();
      this.go(...this.world(event.clientX - box.left, event.clientY - box.top), Number(field("goalheight").value));
    };
  }

  async go(x, y, z) {
    try {
      await this.app.connection.ask("goal", { goal: [x, y, z] });
      await this.look();
    } catch (error) { this.app.say(error.message, true); }
  }

  async look() {
    this.asked = performance.now();
    try {
      this.known = await this.app.connection.ask("navigation");
      this.paint(this.known.map);
      field("navigationstate").textContent = this.known.state;
    } catch (error) {
      this.known = null;
      field("navigationstate").textContent = error.message;
    }
  }

  paint({ cells, shape: [nx, ny] }) {
    if (!nx || !ny) return;
    const bytes = atob(cells), image = new ImageData(nx, ny);
    for (let i = 0; i < nx; i++) for (let j = 0; j < ny; j++) {
      const shade = SHADES[bytes.charCodeAt(i * ny + j)];
      if (shade) image.data.set(shade, 4 * ((ny - 1 - j) * nx + i));
    }
    this.picture.width = nx;
    this.picture.height = ny;
    this.picture.getContext("2d").putImageData(image, 0, 0);
  }

  place(x, y) { return [this.left + (x - this.low[0]) * this.scale, this.bottom - (y - this.low[1]) * this.scale]; }

  world(px, py) { return [this.low[0] + (px - this.left) / this.scale, this.low[1] + (this.bottom - py) / this.scale]; }

  draw(frame) {
    if (!(performance.now() - (this.asked ?? -PERIOD) < PERIOD)) this.look();
    const { canvas } = this, ratio = Math.min(2, devicePixelRatio || 1), c = canvas.getContext("2d");
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) { canvas.width = width * ratio; canvas.height = height * ratio; }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    if (!this.known) return;
    const { map, goal, path, trajectory } = this.known, here = this.app.fleet.pos[0];
    const size = [Math.max(map.shape[0] * map.resolution, 8), Math.max(map.shape[1] * map.resolution, 8)];
    this.low = map.shape[0] ? map.low : [here.x - 4, here.y - 4];
    this.scale = 0.96 * Math.min(width / size[0], height / size[1]);
    this.left = 0.5 * (width - size[0] * this.scale);
    this.bottom = 0.5 * (height + size[1] * this.scale);
    c.imageSmoothingEnabled = false;
    if (map.shape[0]) {
      const [w, h] = [map.shape[0] * map.resolution * this.scale, map.shape[1] * map.resolution * this.scale];
      c.drawImage(this.picture, this.left, this.bottom - h, w, h);
    }
    this.line(c, path, "#0072b2", [5, 4]);
    this.line(c, trajectory, "#d55e00", []);
    if (goal) {
      const [x, y] = this.place(goal[0], goal[1]);
      c.strokeStyle = "#009e73";
      c.lineWidth = 2.5;
      c.beginPath();
      c.moveTo(x - 7, y); c.lineTo(x + 7, y); c.moveTo(x, y - 7); c.lineTo(x, y + 7);
      c.stroke();
    }
    this.vehicle(c, here, euler(frame.read(0, "quat", [0, 0, 0, 1]))[2]);
  }

  line(c, points, stroke, dash) {
    c.strokeStyle = stroke;
    c.lineWidth = 2;
    c.setLineDash(dash);
    c.beginPath();
    points.forEach((p, k) => (k ? c.lineTo(...this.place(p[0], p[1])) : c.moveTo(...this.place(p[0], p[1]))));
    c.stroke();
    c.setLineDash([]);
  }

  vehicle(c, { x, y }, yaw) {
    c.save();
    c.translate(...this.place(x, y));
    c.rotate(-yaw);
    c.fillStyle = colour(0);
    c.beginPath();
    c.moveTo(9, 0); c.lineTo(-6, 5.5); c.lineTo(-3, 0); c.lineTo(-6, -5.5);
    c.fill();
    c.restore();
  }
}

export const panel = {
  title: "Goals",
  place: 25,
  orders: ["navigation", "goal"],
  available: (scene) => scene.takes_goals,
  markup: `
    <canvas id="navigation" tabindex="0" role="application" aria-label="what was seen; a click is the next goal"></canvas>
    <div class="row wrap"><label class="pilot">Height <input id="goalheight" type="number" step="any" value="2" min="0"> m</label><span id="navigationstate" class="quiet" role="status"></span></div>`,
  style: `#navigation { width: 100%; height: 300px; border-radius: 10px; background: #9aa4ad; display: block; margin-bottom: 8px; cursor: crosshair; }`,
  open: (app) => new Navigation(app),
  on: {
    shown: (navigation) => { navigation.look(); },
    draw: (navigation, frame) => { navigation.draw(frame); },
  },
};
