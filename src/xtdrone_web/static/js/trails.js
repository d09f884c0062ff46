// Where the vehicles were: the last steps of each, of which one is written anew at each step.

import { Lines } from "./lines.js";

const OPACITY = 0.85, WIDTH = 1.6; // at the vehicle; [px]
const JUMP = 5; // from which there is a gap [m]
const STILL = 0.003; // below which nothing is drawn [m]

export class Trails extends Lines {
  /** Of vehicles in these colours [r, g, b], for so many points each. */
  constructor(colours, points) {
    super(colours.length * points, 1 / points);
    this.colours = colours;
    this.points = points;
    this.past = colours.map(() => []); // positions, the newest last
    this.steps = 0;
  }

  clear() {
    super.clear();
    this.steps = 0;
    this.past.forEach((trail) => { trail.length = 0; });
  }

  /** Adds the vehicles' positions. */
  step(positions) {
    const n = this.colours.length, row = n * (this.steps++ % this.points);
    positions.forEach((at, i) => this.remember(i, at, row + i));
    this.count = n * Math.min(this.steps, this.points);
    this.material.uniforms.newest.value = this.steps;
    this.flush();
  }

  remember(i, at, k) {
    const trail = this.past[i];
    if (trail.length && trail[trail.length - 1].distanceTo(at) > JUMP) trail.length = 0;
    const last = trail[trail.length - 1] ?? at, shown = last.distanceTo(at) > STILL;
    this.put(k, last.x, last.y, last.z, at.x, at.y, at.z, this.colours[i], OPACITY, OPACITY, shown ? WIDTH : 0);
    this.bear(k, this.steps);
    trail.push(at.clone());
    if (trail.length > this.points) trail.shift();
  }

  /** Where a vehicle was last, or undefined. */
  last(i) { return this.past[i][this.past[i].length - 1]; }
}
