"""What MuJoCo draws for realistic images: colours, depth and numbers of geoms."""

import mujoco
import numpy as np


def drawn(
    scene: mujoco.MjvScene,
    context: mujoco.MjrContext,
    width: int,
    height: int,
    near: float,
    far: float,
    parallel: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Colours (h, w, 3) uint8, and distances (h, w) float32 along the axis, inf for nothing [m].

    Args:
        scene: With its camera.
        context: Of OpenGL.
        width, height: [pixels].
        near, far: Of the camera [m].
        parallel: Whether its projection is.
    """
    view = mujoco.MjrRect(0, 0, width, height)
    mujoco.mjr_render(view, scene, context)
    colours = np.empty((height, width, 3), dtype=np.uint8)
    distances = np.empty((height, width), dtype=np.float32)
    mujoco.mjr_readPixels(colours, distances, view, context)
    nothing = distances <= 0.0
    if parallel:
        distances = near + (np.float32(1.0) - distances) * np.float32(far - near)
    else:
        distances = near * far / (near + distances * np.float32(far - near))
    distances[nothing] = np.inf
    return colours, distances


def numbers(
    scene: mujoco.MjvScene, context: mujoco.MjrContext, width: int, height: int
) -> np.ndarray:
    """Number (h, w) of the geom in each pixel, plus one; 0 for none. Arguments as of drawn()."""
    flags = scene.flags
    flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = True
    view = mujoco.MjrRect(0, 0, width, height)
    mujoco.mjr_render(view, scene, context)
    colours = np.empty((height, width, 3), dtype=np.uint8)
    mujoco.mjr_readPixels(colours, None, view, context)
    flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = False
    return colours @ np.array([1, 256, 65536])


def square(
    scene: mujoco.MjvScene,
    context: mujoco.MjrContext,
    eye: np.ndarray,
    forward: np.ndarray,
    up: np.ndarray,
    half: float,
    near: float,
    far: float,
    side: int,
    parallel: bool,
) -> np.ndarray:
    """Distances (side, side) of a square view; its camera is left where that was.

    Args:
        scene, context, near, far, parallel: See drawn().
        eye, forward, up: (3,) each, world.
        half: A side [m] if parallel, or else at unit distance.
        side: [pixels].
    """
    for camera in scene.camera:
        camera.pos, camera.forward, camera.up = eye, forward, up
        camera.frustum_near, camera.frustum_far = near, far
        edge = half if parallel else half * near
        camera.frustum_center, camera.frustum_width = 0.0, edge
        camera.frustum_bottom, camera.frustum_top = -edge, edge
        camera.orthographic = int(parallel)
    distances = drawn(scene, context, side, side, near, far, parallel)[1]
    for camera in scene.camera:
        camera.orthographic = 0
    return distances


def bare(model: mujoco.MjModel, size: int) -> mujoco.MjvScene:
    """A scene of a model without shadows, sky, reflections and fog of MuJoCo's."""
    scene = mujoco.MjvScene(model, size)
    for flag in ("SHADOW", "SKYBOX", "REFLECTION", "FOG"):
        scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = False
    return scene
