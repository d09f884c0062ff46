// The scene: sky, sun, fog, ground, and the world's glTF.

import * as THREE from "../vendor/three.module.js";
import { GLTFLoader } from "../vendor/GLTFLoader.js";

THREE.Object3D.DEFAULT_UP.set(0, 0, 1); // the world is east, north, up

const SKY_FROM = -0.12; // upper edge of a picture above which it shows sky [rad]; below it there is ground or fog
const SKIES = {
  dark: { zenith: 0x0b1630, horizon: 0x3a4a66, sun: 0xffc88a, sunPower: 2.6, ambient: 1.7, ground: 0x5a6470, glow: 0.5 },
  light: { zenith: 0x3f7fc8, horizon: 0xd6e4f0, sun: 0xfff3dd, sunPower: 2.6, ambient: 1.7, ground: 0xffffff, glow: 0.35 } };
// The light of the sky is smooth: it is computed at the corners of the dome, the sun's disc in pixels.
const SKY_VERTEX = `varying vec3 d, c; uniform vec3 zenith, horizon, sunColour, sun; uniform float glow;
  void main() { d = position; vec4 p = projectionMatrix * vec4(mat3(viewMatrix) * position, 1.0);
  vec3 n = normalize(d); c = mix(horizon, zenith, 1.0 - exp(-3.2 * max(n.z, 0.0)));
  c = sqrt(c + sunColour * glow * pow(max(dot(n, sun), 0.0), 24.0));
  gl_Position = p.xyww; }`;
const SKY_FRAGMENT = `varying vec3 d, c; uniform vec3 sunColour, sun; uniform float disc;
  void main() { vec3 l = c; if (disc > 0.0) l += smoothstep(0.9993, 0.9997, dot(normalize(d), sun));
  gl_FragColor = vec4(l, 1.0); }`;
// Gamma 2 in place of sRGB's curve: hardly seen, and much quicker without a graphics card.
THREE.ShaderChunk.colorspace_pars_fragment = THREE.ShaderChunk.colorspace_pars_fragment.replace(
  /vec4 sRGBTransferOETF\( in vec4 value \) \{[^}]*\}/, "vec4 sRGBTransferOETF( in vec4 value ) { return vec4( sqrt( max( value.rgb, vec3( 0.0 ) ) ), value.a ); }");

export class World {
  constructor(description) {
    this.scene = new THREE.Scene();
    const light = description.lights.find((each) => each.kind === "directional");
    this.toSun = light ? new THREE.Vector3(...light.direction).negate().normalize() : new THREE.Vector3(0.4, -0.3, 0.85);
    this.sun = new THREE.DirectionalLight();
    this.sun.shadow.camera.near = 1;
    this.sun.shadow.camera.far = 400;
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.normalBias = 0.02;
    this.sky = new THREE.HemisphereLight(0xffffff, 0x888888, 1);
    this.indoors = !light && description.lights.length > 0;
    this.scene.add(this.sun, this.sun.target, this.sky);
    this.scene.fog = new THREE.Fog(0xffffff, 60, 480);
    // Its lower edge is below the horizon, where the ground's fog has the same colour.
    this.dome = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 14, 0, 2 * Math.PI, 0, 0.56 * Math.PI).rotateX(Math.PI / 2), new THREE.ShaderMaterial({
      vertexShader: SKY_VERTEX, fragmentShader: SKY_FRAGMENT, side: THREE.BackSide, depthWrite: false,
      uniforms: { zenith: { value: new THREE.Color() }, horizon: { value: new THREE.Color() },
        sunColour: { value: new THREE.Color() }, sun: { value: this.toSun }, glow: { value: 0.4 }, disc: { value: 1 } } }));
    this.dome.frustumCulled = false;
    this.dome.renderOrder = 3; // behind everything solid, so that nothing is drawn twice
    this.scene.add(this.dome);
    this.ahead = new THREE.Vector3();
    this.materials = [];
    this.texture = groundTexture();
    this.plain = quick(this.texture);
  }

  async load() {
    const { scene } = await new GLTFLoader().loadAsync("/world.glb");
    for (const node of scene.children[0]?.children.slice() || []) {
      node.traverse((mesh) => { if (mesh.isMesh) this.dress(mesh); });
      this.scene.add(node);
    }
  }

  dress(mesh) {
    const given = mesh.material, ground = given.name === "ground";
    const map = ground ? this.texture : given.map;
    if (map && !ground) map.anisotropy = 4;
    const shared = { map, color: given.color, vertexColors: given.vertexColors, transparent: given.transparent, opacity: given.opacity };
    const best = new THREE.MeshStandardMaterial({ ...shared, roughness: given.roughness, metalness: given.metalness });
    const flat = ground ? new THREE.MeshBasicMaterial({ ...shared, map: this.plain }) : new THREE.MeshLambertMaterial(shared);
    const fast = new THREE.MeshLambertMaterial(shared);
    mesh.material = best;
    mesh.receiveShadow = true;
    mesh.castShadow = !ground;
    mesh.matrixAutoUpdate = false;
    mesh.updateMatrix();
    this.materials.push({ mesh, looks: [flat, fast, best], ground });
  }

  theme(name) {
    const look = SKIES[name], u = this.dome.material.uniforms;
    u.zenith.value.set(look.zenith);
    u.horizon.value.set(look.horizon);
    u.sunColour.value.set(look.sun);
    u.glow.value = look.glow;
    this.scene.fog.color.set(look.horizon);
    this.scene.background = this.scene.fog.color;
    this.sun.color.set(look.sun);
    this.sun.intensity = this.indoors ? 0.9 : look.sunPower;
    this.sky.color.set(look.horizon).lerp(new THREE.Color(0xffffff), 0.5);
    this.sky.groundColor.set(look.ground).multiplyScalar(0.6);
    this.sky.intensity = this.indoors ? 2.0 : look.ambient;
    const light = new THREE.Color(look.sun).multiplyScalar(look.sunPower * this.toSun.z / Math.PI).add(this.sky.color.clone().multiplyScalar(look.ambient / Math.PI));
    for (const { looks, ground } of this.materials) if (ground) looks[0].color.copy(looks[1].color).multiply(light);
  }

  /** Leaves the sky out for a camera that looks below it: without a graphics card it is a third of a picture. */
  look(camera) {
    const pitch = Math.asin(Math.max(-1, Math.min(1, camera.getWorldDirection(this.ahead).z)));
    this.dome.visible = pitch + THREE.MathUtils.degToRad(camera.fov / 2) > SKY_FROM;
  }

  /** 0: neither shadows nor physical materials, 1: shadows, 2: all. */
  quality(level) {
    this.level = level;
    for (const { mesh, looks } of this.materials) mesh.material = looks[level];
    this.dome.material.uniforms.disc.value = level;
    this.sun.castShadow = level > 0;
    const side = level > 1 ? 2048 : 1024;
    if (this.sun.shadow.mapSize.x !== side) {
      this.sun.shadow.mapSize.set(side, side);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
    }
  }

  /** Shadows reach as far as needed around a point, in steps so that their edges stand still. */
  follow(focus, reach) {
    const wide = Math.max(8, 2 ** Math.ceil(Math.log2(reach))), camera = this.sun.shadow.camera;
    const grid = wide / 4, middle = new THREE.Vector3(...[focus.x, focus.y, focus.z].map((x) => grid * Math.round(x / grid)));
    this.sun.target.position.copy(middle);
    this.sun.position.copy(this.toSun).multiplyScalar(200).add(middle);
    if (camera.right !== wide) {
      Object.assign(camera, { left: -wide, right: wide, top: wide, bottom: -wide });
      camera.updateProjectionMatrix();
    }
    this.sun.target.updateMatrixWorld();
  }
}

/** A texture that is quick to read without a graphics card. */
function quick(texture) {
  const found = texture.clone();
  found.anisotropy = 1;
  found.colorSpace = THREE.NoColorSpace;
  found.minFilter = THREE.NearestMipmapNearestFilter;
  found.magFilter = THREE.NearestFilter;
  return found;
}

/** A ground with a fine grain and a grid of 2 m, for grounds without a texture of their own. */
function groundTexture() {
  const side = 512, canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const context = canvas.getContext("2d"), image = context.createImageData(side, side);
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let k = 0; k < image.data.length; k += 4) {
    const shade = 214 + 34 * random();
    image.data.set([shade, shade, shade, 255], k);
  }
  context.putImageData(image, 0, 0);
  context.strokeStyle = "rgba(255,255,255,0.55)";
  context.lineWidth = 2.5;
  for (let k = 0; k <= 2; k++) {
    const at = (k * side) / 2;
    context.strokeRect(at, -5, side, side + 10);
    context.strokeRect(-5, at, side + 10, side);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.anisotropy = 4;
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.colorSpace = THREE.SRGBColorSpace;
  return texture;
}
