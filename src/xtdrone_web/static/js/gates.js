// The gates of a race track, the next one highlighted, and the ghost of an earlier lap.

import * as THREE from "../vendor/three.module.js";
import { GLTFLoader } from "../vendor/GLTFLoader.js";

const COLOURS = { next: 0xff7a1a, after: 0xffd9a8, other: 0x8fa3bd }, GHOST = 0x9fe8ff;

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
      const high = gate.bars[0][1][2], wide = gate.bars[2][1][1] - 2 * gate.bars[2][1][2];
      const pane = new THREE.Mesh(new THREE.PlaneGeometry(wide, high), new THREE.MeshBasicMaterial({ color: COLOURS.next, transparent: true, opacity: 0.16, side: THREE.DoubleSide, depthWrite: false }));
      pane.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(1, 0, 0));
      const arrow = new THREE.Mesh(new THREE.ConeGeometry(0.16, 0.5, 14), new THREE.MeshBasicMaterial({ color: COLOURS.next, transparent: true, opacity: 0.8 }));
      arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(1, 0, 0));
      arrow.position.set(0, 0, 0.5 * high + 0.55);
      group.add(pane, arrow);
      scene.add(group);
      return { group, material, marks: [pane, arrow], gate };
    });
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

  /** Takes another ghost, or none: { type, t, pose }. */
  async haunt(ghost) {
    if (this.ghost) this.scene.remove(this.ghost.group);
    this.ghost = null;
    if (!ghost) return;
    const group = new THREE.Group();
    this.ghost = { ...ghost, group, k: 0 };
    group.visible = false;
    this.scene.add(group);
    const material = new THREE.MeshBasicMaterial({ color: GHOST, transparent: true, opacity: 0.45, depthWrite: false });
    if (!this.types.includes(ghost.type)) {
      group.add(new THREE.Mesh(new THREE.OctahedronGeometry(0.25), material));
    } else {
      const { scene } = await new GLTFLoader().loadAsync(`/vehicle/${encodeURIComponent(ghost.type)}.glb`);
      for (const node of scene.children[0].children.slice()) {
        if (node.name.startsWith("far")) continue;
        node.traverse((mesh) => { if (mesh.isMesh) mesh.material = material; });
        group.add(node);
      }
    }
  }

  /** Puts the ghost where it was at a time since its lap began [s]; hides it outside of its lap. */
  place(t) {
    const ghost = this.ghost;
    if (!ghost) return;
    const { t: times, pose, group } = ghost, last = times.length - 1;
    group.visible = t >= 0 && t <= times[last];
    if (!group.visible) return;
    if (times[ghost.k] > t) ghost.k = 0;
    while (ghost.k < last - 1 && times[ghost.k + 1] <= t) ghost.k++;
    const a = pose[ghost.k], b = pose[ghost.k + 1], share = Math.max(0, Math.min(1, (t - times[ghost.k]) / (times[ghost.k + 1] - times[ghost.k])));
    group.position.set(...[0, 1, 2].map((i) => a[i] + share * (b[i] - a[i])));
    group.quaternion.set(...a.slice(3)).slerp(new THREE.Quaternion(...b.slice(3)), share);
  }
}
