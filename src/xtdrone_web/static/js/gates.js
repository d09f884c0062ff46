// The gates of a race track, the next one highlighted, and the ghost of an earlier lap.

import * as THREE from "../vendor/three.module.js";
import { GLTFLoader } from "../vendor/GLTFLoader.js";

const COLOURS = { next: 0xff7a1a, after: 0xffd9a8, other: 0x8fa3bd };
export const GHOSTS = [0x9fe8ff, 0xffc46b, 0xa6f28f, 0xf29fd6, 0xfff28a, 0xc3a6ff, 0xff9d8a, 0xffffff];

/** Gates and ghost in a scene, from plain data. */
export class Gates {
  /** types: names of the vehicles' types, whose shapes a ghost can have. */
  constructor(scene, track, types) {
    this.scene = scene;
    this.types = types;
    this.gates = track.gates.map((gate) => {
      const group = new THREE.Group(), material = new THREE.MeshLambertMaterial({ color: COLOURS.other });
      const [x, y, z] = gate.axes.map((axis) => new THREE.Vector3(...axis));
      group.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, y, z));
      group.position.set(...gate.pos);
      for (const [pos, size] of gate.bars) {
        const bar = new THREE.Mesh(new THREE.BoxGeometry(...size), material);
        bar.position.set(...pos);
        bar.castShadow = true;
        group.add(bar);
      }
      // The opening of the next gate, and the way through it.
      const framed = gate.bars.length > 0; // a way-point has none
      const high = framed ? gate.bars[0][1][2] : 0.6, wide = framed ? gate.bars[2][1][1] - 2 * gate.bars[2][1][2] : 0.6;
      const pane = new THREE.Mesh(new THREE.PlaneGeometry(wide, high), new THREE.MeshBasicMaterial({ color: COLOURS.next, transparent: true, opacity: 0.16, side: THREE.DoubleSide, depthWrite: false }));
      pane.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(1, 0, 0));
      const arrow = new THREE.Mesh(new THREE.ConeGeometry(0.16, 0.5, 14), new THREE.MeshBasicMaterial({ color: COLOURS.next, transparent: true, opacity: 0.8 }));
      arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(1, 0, 0));
      arrow.position.set(0, 0, 0.5 * high + 0.55);
      group.add(pane, arrow);
      scene.add(group);
      return { group, material, marks: [pane, arrow], gate };
    });
    this.ghosts = [];
    this.next(-1);
  }

  /** Puts gates that move where they are at a simulated time [s]. */
  move(t) {
    for (const { group, gate } of this.gates) {
      const swing = Math.sin(2 * Math.PI * t / gate.period);
      group.position.set(...gate.pos.map((x, i) => x + swing * gate.move[i]));
    }
  }

  /** Highlights the gate that is next, -1 for none, and the one after it a little. */
  next(k) {
    if (this.shown === k) return;
    this.shown = k;
    const n = this.gates.length;
    this.gates.forEach(({ material, marks }, i) => {
      const next = i === k, after = k >= 0 && i === (k + 1) % n;
      material.color.set(next ? COLOURS.next : after ? COLOURS.after : COLOURS.other);
      material.emissive.set(next ? 0x7a2d00 : 0x000000);
      for (const mark of marks) mark.visible = next;
    });
  }

  /** Takes other ghosts: [{ type, t, pose }]; each has a colour of its own. */
  async haunt(ghosts) {
    for (const { group } of this.ghosts) this.scene.remove(group);
    this.ghosts = ghosts.map((ghost, i) => ({ ...ghost, group: new THREE.Group(), k: 0, colour: GHOSTS[i % GHOSTS.length] }));
    await Promise.all(this.ghosts.map((ghost) => this.shape(ghost)));
  }

  /** Gives a ghost the translucent shape of its vehicle. */
  async shape({ type, group, colour }) {
    group.visible = false;
    this.scene.add(group);
    const material = new THREE.MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.45, depthWrite: false });
    if (!this.types.includes(type)) {
      group.add(new THREE.Mesh(new THREE.OctahedronGeometry(0.25), material));
      return;
    }
    const { scene } = await new GLTFLoader().loadAsync(`/vehicle/${encodeURIComponent(type)}.glb`);
    for (const node of scene.children[0].children.slice()) {
      if (node.name.startsWith("far")) continue;
      node.traverse((mesh) => { if (mesh.isMesh) mesh.material = material; });
      group.add(node);
    }
  }

  /** Puts ghosts where they were at a time since their laps began [s]; hides those whose lap is over. */
  place(t) {
    for (const ghost of this.ghosts) {
      const { t: times, pose, group } = ghost, last = times.length - 1;
      group.visible = t >= 0 && t <= times[last];
      if (!group.visible) continue;
      if (times[ghost.k] > t) ghost.k = 0;
      while (ghost.k < last - 1 && times[ghost.k + 1] <= t) ghost.k++;
      const a = pose[ghost.k], b = pose[ghost.k + 1], share = Math.max(0, Math.min(1, (t - times[ghost.k]) / (times[ghost.k + 1] - times[ghost.k])));
      group.position.set(...[0, 1, 2].map((i) => a[i] + share * (b[i] - a[i])));
      group.quaternion.set(...a.slice(3)).slerp(new THREE.Quaternion(...b.slice(3)), share);
    }
  }
}
