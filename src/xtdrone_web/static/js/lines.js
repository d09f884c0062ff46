// Lines of any width and colour in one draw call: trails, set-points, wind, rays, missions.
// Each has four corners of its own: without a graphics card an instance costs as much as a draw call.

import * as THREE from "../vendor/three.module.js";

const VERTEX = `
attribute vec3 other; attribute vec4 colour; attribute float side; attribute float born;
uniform vec2 size; uniform float newest, fading; varying vec4 c;
void main() {
  c = colour;
  c.a *= 1.0 - fading * (newest - born);
  vec4 p = projectionMatrix * (viewMatrix * vec4(position, 1.0)), q = projectionMatrix * (viewMatrix * vec4(other, 1.0)); // no product of matrices at each corner
  float n = 0.02;
  if (c.a <= 0.0 || (p.w < n && q.w < n)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (p.w < n) p = mix(p, q, (n - p.w) / (q.w - p.w));
  if (q.w < n) q = mix(q, p, (n - q.w) / (p.w - q.w));
  vec2 d = (q.xy / q.w - p.xy / p.w) * size;
  d = length(d) > 1e-4 ? normalize(d) : vec2(1.0, 0.0);
  p.xy += vec2(-d.y, d.x) * side / size * p.w;
  gl_Position = p;
}`;
const FRAGMENT = `varying vec4 c; void main() { gl_FragColor = c; }`;
const CORNERS = 4;

export class Lines {
  /** Room for so many lines; with `fading` they fade by that share for each step since they were born. */
  constructor(maximum, fading = 0) {
    this.maximum = maximum;
    this.count = 0;
    this.first = Infinity; // of the lines that were changed since they were last drawn
    this.end = 0;
    const geometry = new THREE.BufferGeometry(), index = new Uint16Array(6 * maximum);
    for (let k = 0; k < maximum; k++) index.set([0, 1, 2, 0, 2, 3].map((corner) => CORNERS * k + corner), 6 * k);
    geometry.setIndex(new THREE.BufferAttribute(index, 1));
    const add = (name, array, width, normalized = false) => {
      const attribute = new THREE.BufferAttribute(array, width, normalized);
      attribute.setUsage(THREE.DynamicDrawUsage);
      geometry.setAttribute(name, attribute);
      return attribute;
    };
    const floats = (name, width) => add(name, new Float32Array(CORNERS * width * maximum), width);
    this.here = floats("position", 3);
    this.other = floats("other", 3);
    this.side = floats("side", 1); // half the width [px], to the left positive as seen from here
    this.colour = add("colour", new Uint8Array(CORNERS * 4 * maximum), 4, true);
    this.attributes = [this.here, this.other, this.side, this.colour];
    if (fading) this.attributes.push(this.born = floats("born", 1));
    this.material = new THREE.ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, side: THREE.DoubleSide,
      depthWrite: false, uniforms: { size: { value: new THREE.Vector2(960, 540) }, newest: { value: 0 }, fading: { value: fading } } });
    this.mesh = new THREE.Mesh(geometry, this.material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 5;
    this.here.onUpload(() => { this.first = Infinity; this.end = 0; });
  }

  clear() { this.count = 0; }

  /** A line from (x, y, z) to (u, v, w) with a colour [r, g, b] and opacities at its ends. */
  add(x, y, z, u, v, w, colour, from = 1, to = from, width = 1) {
    if (this.count < this.maximum) this.put(this.count++, x, y, z, u, v, w, colour, from, to, width);
  }

  /** The same in place k. */
  put(k, x, y, z, u, v, w, [r, g, b], from = 1, to = from, width = 1) {
    const here = this.here.array, other = this.other.array, side = this.side.array, colour = this.colour.array;
    for (let corner = 0; corner < CORNERS; corner++) {
      const at = CORNERS * k + corner, far = corner === 1 || corner === 2;
      here[3 * at] = far ? u : x; here[3 * at + 1] = far ? v : y; here[3 * at + 2] = far ? w : z;
      other[3 * at] = far ? x : u; other[3 * at + 1] = far ? y : v; other[3 * at + 2] = far ? z : w;
      side[at] = corner % 2 ? width : -width; // the far end looks back: its left is the near end's right
      colour[4 * at] = 255 * r; colour[4 * at + 1] = 255 * g; colour[4 * at + 2] = 255 * b; colour[4 * at + 3] = 255 * (far ? to : from);
    }
    this.first = Math.min(this.first, k);
    this.end = Math.max(this.end, k + 1);
  }

  /** Line k, which fades, was born at a step, and its near end one step before. */
  bear(k, step) {
    for (let corner = 0; corner < CORNERS; corner++) this.born.array[CORNERS * k + corner] = corner === 1 || corner === 2 ? step : step - 1;
  }

  /** Hands what was changed to the graphics. */
  flush() {
    this.mesh.geometry.setDrawRange(0, 6 * this.count);
    this.mesh.visible = this.count > 0;
    if (this.end <= this.first) return;
    for (const attribute of this.attributes) {
      const width = CORNERS * attribute.itemSize;
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(width * this.first, width * (this.end - this.first));
      attribute.needsUpdate = true;
    }
  }
}
