// People and cars of the world: where they are follows from the simulated time.

import * as THREE from "../vendor/three.module.js";
import { GLTFLoader } from "../vendor/GLTFLoader.js";

const PACE_S = 0.2, STROLL = 0.5; // as xtdrone_sim/vehicles/actors.py

export class Actors {
  constructor(actors, world) {
    this.world = world;
    this.actors = actors.map((about) => ({ about, limbs: [], group: new THREE.Group() }));
    this.spin = new THREE.Quaternion();
    this.axis = new THREE.Vector3();
    this.next = new THREE.Quaternion();
  }

  async load() {
    await Promise.all(this.actors.map(async (actor) => {
      const { scene } = await new GLTFLoader().loadAsync(`/actor/${encodeURIComponent(actor.about.name)}.glb`);
      for (const node of scene.children[0]?.children.slice() || []) {
        node.traverse((mesh) => { if (mesh.isMesh) this.world.dress(mesh); });
        node.matrixAutoUpdate = true; // unlike the world, it moves
        actor.limbs.push({ node, about: actor.about.limbs[Number(node.name.split("_")[1])] });
        actor.group.add(node);
      }
      this.world.scene.add(actor.group);
    }));
  }

  /** Puts all of them where they are at a simulated time [s]. */
  update(t) {
    for (const { about, limbs, group } of this.actors) {
      const [rounds, own] = round(about, t), [k, fraction] = place(about.t, own);
      const end = Math.min(k + 1, about.t.length - 1);
      group.position.fromArray(about.pos[k]).lerp(this.axis.fromArray(about.pos[end]), fraction);
      group.quaternion.fromArray(about.quat[k]).slerp(this.next.fromArray(about.quat[end]), fraction);
      const distance = rounds * about.arc_length.at(-1) + about.arc_length[k] + fraction * (about.arc_length[end] - about.arc_length[k]);
      const pace = (travelled(about, t + PACE_S) - travelled(about, t - PACE_S)) / (2 * PACE_S);
      for (const { node, about: limb } of limbs) {
        const swing = Math.min(1, pace / STROLL) * limb.swing * Math.sin(distance * limb.stride + limb.phase);
        this.spin.setFromAxisAngle(this.axis.fromArray(limb.axis), distance * limb.turn + swing);
        node.quaternion.fromArray(limb.quat).multiply(this.spin);
      }
    }
  }
}

/** Rounds that are behind an actor at a simulated time, and the time in this one [s]. */
function round(about, t) {
  const own = t - about.start, last = about.t.at(-1);
  return about.loop && last > 0 && own > last ? [Math.floor(own / last), own % last] : [0, own];
}

/** The sample before a time, and the fraction of the time to the next one. */
function place(times, t) {
  let low = 0, high = times.length - 1;
  if (t <= times[0]) return [0, 0];
  if (t >= times[high]) return [high, 0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return [low, (t - times[low]) / (times[high] - times[low])];
}

/** Path travelled by an actor up to a simulated time [m]. */
function travelled(about, t) {
  const [rounds, own] = round(about, t), [k, fraction] = place(about.t, own);
  return rounds * about.arc_length.at(-1) + about.arc_length[k] + fraction * (about.arc_length[Math.min(k + 1, about.t.length - 1)] - about.arc_length[k]);
}
