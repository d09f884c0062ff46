// Cameras: orbit, chase, first person, from above, and four of them side by side.

import * as THREE from "../vendor/three.module.js";
import { OrbitControls } from "../vendor/OrbitControls.js";

export const VIEWS = ["orbit", "chase", "fpv", "top", "split"];
const FIELD = { orbit: 42, chase: 55, fpv: 88, top: 36 }; // vertical [degrees]
const LOWER = 0.11; // of the distance, by which the whole fleet's view aims below it
const SMOOTH_S = 0.25; // time constant of the chase camera

export class Views {
  constructor(canvas, fleet) {
    this.fleet = fleet;
    this.name = "orbit";
    this.cameras = {};
    for (const [name, field] of Object.entries(FIELD)) {
      this.cameras[name] = new THREE.PerspectiveCamera(field, 16 / 9, name === "fpv" ? 0.04 : 0.12, 1500);
      this.cameras[name].up.set(0, 0, 1);
    }
    this.controls = new OrbitControls(this.cameras.orbit, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = 0.495 * Math.PI;
    this.controls.minDistance = 0.6;
    this.controls.maxDistance = 600;
    this.heading = 0;
    this.height = 12;
    this.middle = new THREE.Vector3();
    this.placed = false;
    canvas.addEventListener("wheel", (event) => {
      if (this.name === "top") this.zoom = Math.max(0.2, Math.min(6, this.zoom * Math.exp(event.deltaY / 800)));
    }, { passive: true });
    this.zoom = 1;
  }

  /** Looks at the whole fleet from a corner. */
  frame() {
    const { centre, reach } = this.spread([...this.fleet.pos.keys()]);
    const { aspect } = this.cameras.orbit; // a narrow view needs more distance
    const away = Math.max(2.6, 1.75 * reach + 1.6) * Math.max(1, 1.55 / aspect);
    this.controls.target.copy(centre);
    this.controls.target.z -= LOWER * away; // the fleet stands above the horizon's instrument
    this.cameras.orbit.position.copy(this.controls.target).add(new THREE.Vector3(-0.62, -0.78, 0.42).multiplyScalar(away));
    this.controls.update();
    this.placed = true;
    this.followed = null;
  }

  spread(indices) {
    const box = new THREE.Box3().setFromPoints(indices.map((i) => this.fleet.pos[i]));
    return { centre: box.getCenter(new THREE.Vector3()), reach: 0.5 * box.getSize(new THREE.Vector3()).length() };
  }

  /** Moves the cameras; `chosen` are the selected vehicles. */
  update(chosen, dt) {
    if (!this.placed) this.frame();
    const first = chosen.length ? chosen[0] : 0, indices = chosen.length ? chosen : [...this.fleet.pos.keys()];
    const { centre, reach } = this.spread(indices);
    const key = indices.join();
    if (this.followed === key) { // the eye moves along with those that it looks at
      const shift = centre.clone().sub(this.middle);
      this.controls.target.add(shift);
      this.cameras.orbit.position.add(shift);
    } else if (this.followed !== null && this.followed !== undefined) this.glide = 0.6;
    if (this.glide > 0) {
      this.glide -= dt;
      const shift = centre.clone().sub(this.controls.target).multiplyScalar(Math.min(1, 6 * dt));
      this.controls.target.add(shift);
      this.cameras.orbit.position.add(shift);
    }
    this.followed = key;
    this.middle.copy(centre);
    this.controls.enabled = this.name === "orbit" || this.name === "split";
    this.controls.update();
    const eye = this.cameras.orbit.position;
    eye.z = Math.max(eye.z, 0.15);
    this.chase(first, dt);
    this.fpv(first);
    this.top(this.spread([...this.fleet.pos.keys()]));
    this.nearer("orbit", eye.distanceTo(this.controls.target));
    this.nearer("top", this.cameras.top.position.z - centre.z);
    this.focus = centre;
    this.reach = reach;
    this.fleet.hidden = this.name === "fpv" ? first : -1;
    return first;
  }

  /** The nearest that is drawn, as far away as what is looked at allows: depth is then finer. */
  nearer(name, distance) {
    const camera = this.cameras[name], near = Math.min(3, Math.max(0.05, 2 ** Math.floor(Math.log2(0.04 * distance))));
    if (camera.near !== near) { camera.near = near; camera.updateProjectionMatrix(); }
  }

  chase(i, dt) {
    const camera = this.cameras.chase, p = this.fleet.pos[i];
    const ahead = new THREE.Vector3(1, 0, 0).applyQuaternion(this.fleet.quat[i]);
    if (Math.hypot(ahead.x, ahead.y) > 0.2) {
      const turn = Math.atan2(ahead.y, ahead.x) - this.heading;
      this.heading += Math.atan2(Math.sin(turn), Math.cos(turn)) * Math.min(1, dt / SMOOTH_S);
    }
    const away = 1.3 + 2.6 * (this.fleet.description.types[this.fleet.description.vehicles[i].type].span || 0.3);
    camera.position.set(p.x - away * Math.cos(this.heading), p.y - away * Math.sin(this.heading), Math.max(0.2, p.z + 0.42 * away));
    camera.lookAt(p.x + 2 * Math.cos(this.heading), p.y + 2 * Math.sin(this.heading), p.z);
  }

  fpv(i) {
    const camera = this.cameras.fpv, turn = this.fleet.quat[i];
    camera.position.set(0.12, 0, 0.07).applyQuaternion(turn).add(this.fleet.pos[i]);
    camera.quaternion.copy(turn).multiply(FORWARD);
  }

  top({ centre, reach }) {
    const camera = this.cameras.top, fits = this.zoom * Math.max(8, 2.6 * reach + 4) / Math.tan(THREE.MathUtils.degToRad(FIELD.top / 2)) / 2;
    camera.position.set(centre.x, centre.y, centre.z + fits);
    camera.quaternion.identity();
  }

  /** Camera and rectangle (x, y, width, height in shares, y from below) of each part of the view. */
  parts() {
    if (this.name !== "split") return [[this.name, 0, 0, 1, 1]];
    return [["orbit", 0, 0.5, 0.5, 0.5], ["chase", 0.5, 0.5, 0.5, 0.5], ["fpv", 0, 0, 0.5, 0.5], ["top", 0.5, 0, 0.5, 0.5]];
  }

  /** The camera at a place of the canvas in shares from its upper left, and the place in it. */
  at(x, y) {
    for (const [name, left, low, wide, high] of this.parts()) {
      const u = (x - left) / wide, v = (1 - y - low) / high;
      if (u >= 0 && u <= 1 && v >= 0 && v <= 1) return { camera: this.cameras[name], x: 2 * u - 1, y: 2 * v - 1 };
    }
    return null;
  }
}

// A camera looks along -z with y up; the vehicle's x is ahead and its z up.
const FORWARD = new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().makeBasis(
  new THREE.Vector3(0, -1, 0), new THREE.Vector3(0, 0, 1), new THREE.Vector3(-1, 0, 0)));
