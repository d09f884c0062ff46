// What is drawn beside the vehicles: trails, set-points, estimates, wind, rays, and the plan.

import * as THREE from "../vendor/three.module.js";
import { colour } from "./fleet.js";
import { Lines } from "./lines.js";
import { Slots } from "./slots.js";
import { Trails } from "./trails.js";

export const OVERLAYS = { trails: ["Trails", true], names: ["Names", true], setpoints: ["Set-points", true],
  slots: ["Slots", true], estimate: ["Estimates", false], wind: ["Wind", true], rays: ["Sensor rays", true], plan: ["Mission, fence", true] };
const TRAIL_STEP_S = 0.12, TRAIL_POINTS = 120, POINTS_OF_ALL = 9000;
const MAX = 12000; // lines without the trails

export class Overlays {
  constructor(scene, fleet) {
    this.fleet = fleet;
    this.on = Object.fromEntries(Object.entries(OVERLAYS).map(([name, [, on]]) => [name, on]));
    this.colours = fleet.pos.map((_, i) => new THREE.Color(colour(i)).toArray());
    this.lines = new Lines(MAX);
    this.trails = new Trails(this.colours, Math.max(12, Math.min(TRAIL_POINTS, Math.floor(POINTS_OF_ALL / fleet.n))));
    scene.add(this.lines.mesh, this.trails.mesh);
    this.last = -1;
    this.plan = null;
    this.slots = new Slots(scene, this.colours);
    const wire = new THREE.MeshBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.35, wireframe: true, depthWrite: false });
    this.ghosts = new THREE.InstancedMesh(new THREE.OctahedronGeometry(0.22), wire, fleet.n);
    this.goals = new THREE.InstancedMesh(new THREE.OctahedronGeometry(0.09), new THREE.MeshBasicMaterial(), fleet.n);
    for (const mesh of [this.ghosts, this.goals]) { mesh.frustumCulled = false; scene.add(mesh); }
    fleet.pos.forEach((_, i) => this.goals.setColorAt(i, new THREE.Color(colour(i))));
    this.ring = new THREE.InstancedMesh(new THREE.RingGeometry(0.955, 1, 56), new THREE.MeshBasicMaterial({ color: 0xff8a3d, transparent: true, opacity: 0.85, side: THREE.DoubleSide, depthWrite: false }), fleet.n);
    this.ring.frustumCulled = false;
    scene.add(this.ring);
    this.blobs = new THREE.InstancedMesh(new THREE.CircleGeometry(1, 12), new THREE.MeshBasicMaterial({ color: 0x000000, transparent: true, opacity: 0.28, depthWrite: false }), fleet.n);
    this.blobs.frustumCulled = false;
    this.blobs.renderOrder = 1;
    scene.add(this.blobs);
    this.matrix = new THREE.Matrix4();
    this.p = [0, 0, 0];
    this.q = [0, 0, 0, 1];
  }

  update(frame, chosen, everyone, level) {
    if (frame.t < this.last) this.trails.clear(); // a reset or a snapshot
    if (frame.t - this.last >= TRAIL_STEP_S || frame.t < this.last) {
      this.last = frame.t;
      this.trails.step(this.fleet.pos);
    }
    this.trails.mesh.visible = this.on.trails;
    const lines = this.lines, few = this.fleet.n < 12 ? null : new Set(everyone ? [] : chosen);
    lines.clear();
    for (let i = 0; i < this.fleet.n; i++) {
      if (this.on.trails) this.end(i);
      if (this.on.wind && (!few || few.has(i))) this.wind(frame, i);
      if (this.on.rays) this.rays(frame, i);
    }
    this.setpoints(frame);
    this.estimates(frame);
    this.slots.update(frame, this.fleet.pos, this.on.slots);
    if (this.on.plan && this.plan) this.drawPlan();
    this.mark(everyone ? [] : chosen);
    this.shade(level);
    lines.flush();
  }

  /** Frames before the next one, after a jump of a recording. */
  recall(frames) {
    this.trails.clear();
    for (const frame of frames) {
      this.trails.step(this.fleet.pos.map((_, i) => new THREE.Vector3(...frame.read(i, "pos", this.p))));
    }
    this.last = -Infinity;
  }

  /** Positions of each vehicle, the newest last. */
  get past() { return this.trails.past; }

  /** From the last point of a trail to the vehicle. */
  end(i) {
    const a = this.trails.last(i), b = this.fleet.pos[i];
    if (a && a.distanceToSquared(b) > 1e-5) this.lines.add(a.x, a.y, a.z, b.x, b.y, b.z, this.colours[i], 0.85, 0.85, 1.6);
  }

  wind(frame, i) {
    const [x, y, z] = frame.read(i, "wind", this.p), p = this.fleet.pos[i];
    if (Math.hypot(x, y, z) < 0.1) return;
    const s = 0.14, u = p.x + s * x, v = p.y + s * y, w = p.z + 0.35 + s * z, blue = [0.45, 0.8, 1];
    this.lines.add(p.x, p.y, p.z + 0.35, u, v, w, blue, 0.3, 1, 2);
    for (const side of [0.5, -0.5]) this.lines.add(u, v, w, u - 0.3 * s * (x - side * y), v - 0.3 * s * (y + side * x), w - 0.3 * s * z, blue, 1, 1, 2);
  }

  rays(frame, i) {
    const range = frame.get(i, "range"), about = this.fleet.description.types[this.fleet.description.vehicles[i].type];
    if (!about.ranges.length || !Number.isFinite(range)) return;
    const { pos, quat } = about.ranges[0], turn = this.fleet.quat[i];
    const from = new THREE.Vector3(...pos).applyQuaternion(turn).add(this.fleet.pos[i]);
    const to = new THREE.Vector3(range, 0, 0).applyQuaternion(new THREE.Quaternion(...quat)).applyQuaternion(turn).add(from);
    this.lines.add(from.x, from.y, from.z, to.x, to.y, to.z, [1, 0.25, 0.3], 0.9, 0.5, 1.4);
  }

  setpoints(frame) {
    let count = 0;
    for (let i = 0; i < this.fleet.n && this.on.setpoints; i++) {
      const [x, y, z] = frame.read(i, "set_pos", this.p), p = this.fleet.pos[i];
      if (!Number.isFinite(x + y + z)) continue;
      this.goals.setMatrixAt(count, this.matrix.makeTranslation(x, y, z));
      this.goals.setColorAt(count++, new THREE.Color(...this.colours[i]));
      this.lines.add(p.x, p.y, p.z, x, y, z, this.colours[i], 0.35, 0.75, 1);
    }
    this.goals.count = count;
    this.goals.instanceMatrix.needsUpdate = true;
    this.goals.instanceColor.needsUpdate = true;
  }

  estimates(frame) {
    this.ghosts.count = this.on.estimate ? this.fleet.n : 0;
    for (let i = 0; i < this.ghosts.count; i++) {
      const [x, y, z] = frame.read(i, "est_pos", this.p), p = this.fleet.pos[i];
      this.ghosts.setMatrixAt(i, this.matrix.makeTranslation(x, y, z));
      this.lines.add(p.x, p.y, p.z, x, y, z, [1, 1, 1], 0.5, 0.5, 1);
    }
    this.ghosts.instanceMatrix.needsUpdate = true;
  }

  drawPlan() {
    const draw = (points, colour, closed) => points.forEach((a, k) => {
      const b = points[k + 1] || (closed ? points[0] : null);
      if (b) this.lines.add(...a, ...b, colour, 0.9, 0.9, 1.8);
      this.lines.add(a[0], a[1], 0, a[0], a[1], a[2], colour, 0.12, 0.5, 1);
    });
    draw(this.plan.mission, [0.35, 0.85, 1], false);
    for (const { points, inside } of this.plan.fences) draw(points, inside ? [1, 0.76, 0.3] : [1, 0.35, 0.35], true);
  }

  /** A ring around each selected vehicle. */
  mark(chosen) {
    chosen.forEach((i, k) => {
      const p = this.fleet.pos[i], wide = 1.25 * Math.max(0.3, this.fleet.description.types[this.fleet.description.vehicles[i].type].span) + 0.08;
      this.ring.setMatrixAt(k, this.matrix.makeScale(wide, wide, 1).setPosition(p.x, p.y, p.z - 0.06));
    });
    this.ring.count = chosen.length;
    this.ring.instanceMatrix.needsUpdate = true;
  }

  /** Round shadows on the ground where there are no real ones. */
  shade(level) {
    this.blobs.count = level > 0 ? 0 : this.fleet.n;
    for (let i = 0; i < this.blobs.count; i++) {
      const p = this.fleet.pos[i], wide = Math.max(0.001, 0.75 * (this.fleet.description.types[this.fleet.description.vehicles[i].type].span + 0.05) * (1 - 0.02 * p.z));
      this.blobs.setMatrixAt(i, this.matrix.makeScale(wide, wide, 1).setPosition(p.x, p.y, 0.012));
    }
    this.blobs.instanceMatrix.needsUpdate = true;
  }
}

/** Mission and fences of an answer to `items` as points to draw. */
export function planOf({ mission, fence }) {
  const fences = [];
  for (const item of fence) {
    const inside = item.command.includes("INCLUSION");
    if (item.command.includes("CIRCLE")) {
      const [x, y] = item.pos, points = [];
      for (let k = 0; k < 40; k++) points.push([x + item.param1 * Math.cos(k * Math.PI / 20), y + item.param1 * Math.sin(k * Math.PI / 20), 0.1]);
      fences.push({ points, inside });
    } else {
      const last = fences[fences.length - 1];
      if (last && last.left > 0) { last.points.push([item.pos[0], item.pos[1], 0.1]); last.left--; } else fences.push({ points: [[item.pos[0], item.pos[1], 0.1]], inside, left: item.param1 - 1 });
    }
  }
  return { mission: mission.filter((item) => item.command.startsWith("NAV_")).map((item) => item.pos), fences };
}
