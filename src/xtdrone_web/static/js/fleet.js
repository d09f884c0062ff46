// The vehicles: one instanced mesh for each part of each type, near in detail and far without.

import * as THREE from "../vendor/three.module.js";
import { GLTFLoader } from "../vendor/GLTFLoader.js";

export const COLOURS = ["#ff8a3d", "#5aa9ff", "#4fd08a", "#e56bd0", "#ffd24a", "#5fe0e0", "#b28bff", "#ff6b6b", "#a6d85a"];
const NEAR = [6, 22, 45]; // distance up to which there is all detail, by level of quality [m]
const BLUR = 55; // speed from which a rotor is seen as a disc [rad/s]
const GHOST = 0.42; // opacity of a second recording's vehicles
const ONE = new THREE.Vector3(1, 1, 1);

const PALE = COLOURS.map((colour) => `#${new THREE.Color(colour).lerp(new THREE.Color(0xffffff), 0.5).getHexString()}`);
let twins = [];

/** Vehicles of a second recording have the pale colours of those that they are compared with. */
export function setTwins(vehicles) { twins = vehicles.map(({ twin }) => twin); }

export function colour(i) { return twins[i] === undefined ? COLOURS[i % COLOURS.length] : PALE[(twins[i] ?? i) % PALE.length]; }

export class Fleet {
  constructor(description, scene) {
    this.description = description;
    this.scene = scene;
    this.n = description.vehicles.length;
    this.pos = description.vehicles.map(() => new THREE.Vector3());
    this.quat = description.vehicles.map(() => new THREE.Quaternion());
    this.parts = [];
    this.phase = description.vehicles.map(() => new Float32Array(8));
    this.hidden = -1; // a vehicle that is looked out of
    this.level = 2;
    this.drawn = 0;
  }

  async load() {
    await Promise.all(Object.entries(this.description.types).map(([type, about]) => this.loadType(type, about)));
  }

  async loadType(type, about) {
    const loaded = await new GLTFLoader().loadAsync(`/vehicle/${encodeURIComponent(type)}.glb`);
    for (const ghost of [false, true]) {
      const of = [...this.description.vehicles.keys()].filter((i) => this.description.vehicles[i].type === type && ("twin" in this.description.vehicles[i]) === ghost);
      if (of.length) this.addType(loaded, about, of, ghost);
    }
  }

  addType(loaded, about, of, ghost) {
    for (const node of loaded.scene.children[0]?.children || []) {
      const [kind, number] = node.name.split("_");
      const meshes = node.isMesh ? [node] : node.children;
      for (const mesh of meshes) this.add(mesh, node, of, { far: kind === "far", ghost, rotor: kind === "rotor" ? Number(number) : -1 });
    }
    for (const rotor of about.rotors) this.addDisc(rotor, of, about);
  }

  add(mesh, node, of, part) {
    const given = mesh.material;
    const seen = part.ghost ? { transparent: true, opacity: GHOST, color: new THREE.Color(0x9cc8ff), map: null, vertexColors: false, depthWrite: false } : {};
    const shared = { map: given.map, color: given.color, vertexColors: given.vertexColors, transparent: given.transparent, opacity: given.opacity, ...seen };
    const best = new THREE.MeshStandardMaterial({ ...shared, roughness: 0.42, metalness: 0.2 });
    const fast = new THREE.MeshLambertMaterial(shared);
    const drawn = new THREE.InstancedMesh(mesh.geometry, best, of.length);
    drawn.frustumCulled = false;
    drawn.castShadow = !part.ghost;
    drawn.receiveShadow = !part.far;
    drawn.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    this.scene.add(drawn);
    this.parts.push({ ...part, drawn, best, fast, of, pos: node.position.clone(), quat: node.quaternion.clone(),
      axis: part.rotor >= 0 ? this.axis(of[0], part.rotor) : null });
  }

  axis(i, actuator) {
    const rotor = this.description.types[this.description.vehicles[i].type].rotors.find((each) => each.actuator === actuator);
    return { axis: new THREE.Vector3(...rotor.axis), direction: rotor.direction };
  }

  /** A disc in place of blades that are too fast to be seen. */
  addDisc(rotor, of, about) {
    const radius = Math.min(0.13, 0.55 * (about.span || 0.3));
    const material = new THREE.MeshBasicMaterial({ color: 0xcfd8e6, transparent: true, opacity: 0.16, depthWrite: false, side: THREE.DoubleSide });
    const drawn = new THREE.InstancedMesh(new THREE.CircleGeometry(radius, 20), material, of.length);
    drawn.frustumCulled = false;
    this.scene.add(drawn);
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...rotor.axis));
    this.parts.push({ disc: true, rotor: rotor.actuator, drawn, best: material, fast: material, of,
      pos: new THREE.Vector3(...rotor.pos).addScaledVector(new THREE.Vector3(...rotor.axis), 0.008), quat: turn });
  }

  quality(level) {
    this.level = level;
    for (const part of this.parts) part.drawn.material = level > 1 ? part.best : part.fast;
  }

  /** Puts everything where it is: a frame's state, carried on by its velocity since it came. */
  update(frame, ahead, dt) {
    const p = [0, 0, 0], q = [0, 0, 0, 1], v = [0, 0, 0];
    for (let i = 0; i < this.n; i++) {
      frame.read(i, "pos", p);
      frame.read(i, "quat", q);
      frame.read(i, "vel", v);
      this.pos[i].set(p[0] + ahead * v[0], p[1] + ahead * v[1], p[2] + ahead * v[2]);
      this.quat[i].set(...q);
      for (let k = 0; k < 8; k++) this.phase[i][k] += frame.get(i, "actuator", k) * dt;
    }
  }

  /** Matrices of all parts, for an eye: those near it in detail, others without. */
  place(frame, eye) {
    const reach = NEAR[this.level], matrix = new THREE.Matrix4(), spin = new THREE.Quaternion();
    const pos = new THREE.Vector3(), quat = new THREE.Quaternion();
    const near = this.pos.map((each) => this.n < 4 || each.distanceTo(eye) < reach);
    for (const part of this.parts) {
      let count = 0;
      for (const i of part.of) {
        if (i === this.hidden || (part.far ? near[i] : !near[i])) continue;
        const speed = part.rotor >= 0 ? frame.get(i, "actuator", part.rotor) : 0;
        if (part.disc && Math.abs(speed) < BLUR) continue;
        quat.copy(this.quat[i]);
        pos.copy(part.far ? ZERO : part.pos).applyQuaternion(quat).add(this.pos[i]);
        if (!part.far) quat.multiply(part.quat);
        if (part.axis) {
          // Faster than the page draws: turned so that it looks like turning, not standing.
          spin.setFromAxisAngle(part.axis.axis, part.axis.direction * this.phase[i][part.rotor] * 0.37);
          quat.multiply(spin);
        }
        part.drawn.setMatrixAt(count++, matrix.compose(pos, quat, ONE));
      }
      part.drawn.count = count;
      part.drawn.visible = count > 0;
      part.drawn.instanceMatrix.needsUpdate = true;
    }
  }
}

const ZERO = new THREE.Vector3();
