// The slots of a formation: where each vehicle should be, and a line to where it is.

import * as THREE from "../vendor/three.module.js";

const RADIUS = 0.34;

/** How far vehicle i is from its slot [m]; NaN without one. */
export function slotError(frame, i) {
  return Math.hypot(...[0, 1, 2].map((k) => frame.get(i, "slot", k) - frame.get(i, "pos", k)));
}

export class Slots {
  /** Of vehicles with these colours [r, g, b]. */
  constructor(scene, colours) {
    const n = colours.length;
    this.n = n;
    const material = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.42, depthWrite: false, wireframe: true });
    this.marks = new THREE.InstancedMesh(new THREE.SphereGeometry(RADIUS, 10, 6), material, n);
    this.marks.frustumCulled = false;
    this.colours = colours.map((rgb) => new THREE.Color(...rgb));
    this.points = new THREE.BufferAttribute(new Float32Array(6 * n), 3);
    const geometry = new THREE.BufferGeometry().setAttribute("position", this.points);
    this.ways = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.6 }));
    this.ways.frustumCulled = false;
    this.matrix = new THREE.Matrix4();
    this.place = [0, 0, 0];
    scene.add(this.marks, this.ways);
  }

  /** Marks the slots of a frame; pos: where the vehicles are drawn. */
  update(frame, pos, on) {
    let count = 0;
    for (let i = 0; on && i < this.n; i++) {
      const [x, y, z] = frame.read(i, "slot", this.place);
      if (!Number.isFinite(x + y + z)) continue;
      this.marks.setMatrixAt(count, this.matrix.makeTranslation(x, y, z));
      this.marks.setColorAt(count, this.colours[i]);
      this.points.array.set([x, y, z, pos[i].x, pos[i].y, pos[i].z], 6 * count++);
    }
    this.marks.count = count;
    this.marks.visible = this.ways.visible = count > 0;
    if (!count) return;
    this.ways.geometry.setDrawRange(0, 2 * count);
    this.marks.instanceMatrix.needsUpdate = this.marks.instanceColor.needsUpdate = this.points.needsUpdate = true;
  }
}
