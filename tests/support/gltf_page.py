"""An exported flight in three.js: a blank page of Chromium with the station's copy of it."""

import contextlib
import json
import struct

from xtdrone_web.frame import STATIC

_HOST = "http://export.test/"  # answered by Playwright, not by a network
_LOAD = """async () => {
    const THREE = await import("/vendor/three.module.js");
    const { GLTFLoader } = await import("/vendor/GLTFLoader.js");
    const flight = await new GLTFLoader().loadAsync("/flight.glb");
    const mixer = new THREE.AnimationMixer(flight.scene);
    mixer.clipAction(flight.animations[0]).play();
    window.shown = { THREE, flight, at(t) {
        mixer.setTime(t);
        flight.scene.updateMatrixWorld(true);
    } };
}"""
_DRAW = """({ t, camera }) => {
    const { THREE, flight } = shown, eye = flight.cameras.find(({ name }) => name === camera);
    const renderer = new THREE.WebGLRenderer({ antialias: true });
    renderer.setSize(innerWidth, innerHeight);
    renderer.toneMapping = THREE.ACESFilmicToneMapping;
    const scene = new THREE.Scene();
    scene.background = new THREE.Color(0xbcd4ee);
    scene.add(flight.scene, new THREE.HemisphereLight(0xffffff, 0x8a8f7a, 1.6));
    document.body.style.margin = 0;
    document.body.append(renderer.domElement);
    shown.at(t);
    eye.aspect = innerWidth / innerHeight;
    eye.updateProjectionMatrix();
    renderer.render(scene, eye);
}"""
_WHERE = """(names) => names.map((name) =>
    shown.flight.scene.getObjectByName(name).getWorldPosition(new shown.THREE.Vector3()).toArray())
"""


@contextlib.contextmanager
def playing(context, glb):
    """A page of a browser's context that has loaded a GLB, while the block lasts."""

    def serve(route):
        name = route.request.url.removeprefix(_HOST)
        if name == "":
            return route.fulfill(body="<!doctype html>", content_type="text/html")
        path = glb if name == "flight.glb" else STATIC / name
        kind = "text/javascript" if name.endswith(".js") else "model/gltf-binary"
        return route.fulfill(body=path.read_bytes(), content_type=kind)

    page = context.new_page()
    page.route(_HOST + "**", serve)
    page.goto(_HOST)
    page.evaluate(_LOAD)
    try:
        yield page
    finally:
        page.close()


def where(page, t_s, names):
    """World positions [x, y, z], y up, of nodes at a time of the animation."""
    page.evaluate("(t) => shown.at(t)", t_s)
    return page.evaluate(_WHERE, list(names))


def picture(page, t_s, camera, path):
    """Draws what a camera of the file sees at a time."""
    page.evaluate(_DRAW, {"t": t_s, "camera": camera})
    page.screenshot(path=path)


def told(glb):
    """JSON and binary part of a GLB's bytes."""
    size = struct.unpack_from("<I", glb, 12)[0]
    return json.loads(glb[20 : 20 + size]), glb[28 + size :]
