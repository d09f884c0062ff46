// Lines of any width and colour in one draw call: trails, set-points, wind, rays, missions.

import * as THREE from "../vendor/three.module.js";

const VERTEX = `
attribute vec3 a; attribute vec3 b; attribute vec4 ca; attribute vec4 cb; attribute float w;
uniform vec2 size; varying vec4 c;
void main() {
  vec4 p = projectionMatrix * viewMatrix * vec4(a, 1.0), q = projectionMatrix * viewMatrix * vec4(b, 1.0);
  float n = 0.02;
  if (p.w < n && q.w < n) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (p.w < n) p = mix(p, q, (n - p.w) / (q.w - p.w));
  if (q.w < n) q = mix(q, p, (n - q.w) / (p.w - q.w));
  vec2 d = (q.xy / q.w - p.xy / p.w) * size;
  d = length(d) > 1e-4 ? normalize(d) : vec2(1.0, 0.0);
  vec4 at = position.x < 0.5 ? p : q;
  at.xy += vec2(-d.y, d.x) * position.y * w / size * at.w;
  c = position.x < 0.5 ? ca : cb;
  gl_Position = at;
}`;
const FRAGMENT = `varying vec4 c; void main() { gl_FragColor = c; }`;

export class Lines {
  constructor(most) {
    this.most = most;
    this.count = 0;
    const geometry = new THREE.InstancedBufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0], 3));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    this.arrays = {};
    for (const [name, width] of [["a", 3], ["b", 3], ["ca", 4], ["cb", 4], ["w", 1]]) {
      const attribute = new THREE.InstancedBufferAttribute(new Float32Array(most * width), width);
      attribute.setUsage(THREE.DynamicDrawUsage);
      geometry.setAttribute(name, attribute);
      this.arrays[name] = attribute;
    }
    this.material = new THREE.ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true,
      depthWrite: false, uniforms: { size: { value: new THREE.Vector2(960, 540) } } });
    this.mesh = new THREE.Mesh(geometry, this.material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 5;
  }

  clear() { this.count = 0; }

  /** A line from (x, y, z) to (u, v, w) with a colour [r, g, b] and opacities at its ends. */
  add(x, y, z, u, v, w, [r, g, b], from = 1, to = from, width = 1) {
    if (this.count >= this.most) return;
    const k = this.count++, { a, b: end, ca, cb, w: wide } = this.arrays;
    a.array.set([x, y, z], 3 * k);
    end.array.set([u, v, w], 3 * k);
    ca.array.set([r, g, b, from], 4 * k);
    cb.array.set([r, g, b, to], 4 * k);
    wide.array[k] = width;
  }

  flush() {
    this.mesh.geometry.instanceCount = this.count;
    this.mesh.visible = this.count > 0;
    for (const attribute of Object.values(this.arrays)) {
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(0, this.count * attribute.itemSize);
      attribute.needsUpdate = true;
    }
  }
}
