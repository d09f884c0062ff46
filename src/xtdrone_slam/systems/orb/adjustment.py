"""Local bundle adjustment of the latest keyframes and their landmarks, by GTSAM."""

import gtsam
import numpy as np
from gtsam.symbol_shorthand import L, X

from .features import Pinhole
from .landmarks import Keyframe, Map
from .pose import HUBER, OUTLIER, residuals

_PER_KEYFRAME = 150  # landmarks of a keyframe that are adjusted
_MIN_LANDMARKS = 20  # below this number nothing is adjusted
_MIN_SHARED = 15  # landmarks that a fixed keyframe shares with the moving ones
_ITERATIONS = 6


def adjust(world: Map, camera: Pinhole, window: int, fixed: int = 4) -> None:
    """Optimises the poses of the latest keyframes and the landmarks that they share.

    Minimises the robust reprojection error in both images. Older keyframes that observe the same
    landmarks take part with fixed poses. Landmarks of a single keyframe move with it. Outliers are
    removed from the keyframes afterwards.

    Args:
        world: The map, which is changed.
        camera: The camera.
        window: Number of keyframes to optimise.
        fixed: Number of fixed keyframes, those with the most landmarks in common.
    """
    moving = world.keyframes[-window:]
    anchors = _anchors(world.keyframes[:-window], moving, fixed)
    if not anchors:  # the first keyframe fixes the gauge
        anchors, moving = moving[:1], moving[1:]
    if not moving:
        return
    frames = anchors + moving
    chosen = _landmarks(frames, moving)
    if len(chosen) < _MIN_LANDMARKS:
        return
    graph, values = _graph(world, camera, anchors, frames, chosen)
    parameters = gtsam.LevenbergMarquardtParams()
    parameters.setMaxIterations(_ITERATIONS)
    result = gtsam.LevenbergMarquardtOptimizer(graph, values, parameters).optimize()
    free = np.ones(len(world.points), bool)
    free[chosen] = False
    for number, frame in enumerate(frames[len(anchors) :], len(anchors)):
        world_from_camera = result.atPose3(X(number)).matrix()
        change = world_from_camera @ frame.camera_from_world
        frame.camera_from_world = np.linalg.inv(world_from_camera)
        own = free & (world.owners == len(world.keyframes) - len(frames) + number)
        world.points[own] = world.points[own] @ change[:3, :3].T + change[:3, 3]
    for landmark in chosen:
        world.points[landmark] = result.atPoint3(L(landmark))
    for frame in moving:
        _drop_outliers(world, camera, frame)


def _anchors(older: list[Keyframe], moving: list[Keyframe], limit: int) -> list[Keyframe]:
    """Returns the older keyframes that share the most landmarks with the moving ones."""
    known = np.unique(np.concatenate([frame.landmarks for frame in moving]))
    shared = [
        (int(np.isin(frame.landmarks, known, assume_unique=True).sum()), index)
        for index, frame in enumerate(older)
    ]
    best = sorted(shared, reverse=True)[:limit]
    return [
        older[index]
        for count, index in sorted(best, key=lambda item: item[1])
        if count > _MIN_SHARED
    ]


def _landmarks(frames: list[Keyframe], moving: list[Keyframe]) -> np.ndarray:
    """Returns landmarks of two frames or more: of each moving frame the most observed ones.

    They are chosen per moving keyframe, since otherwise the newest would be held by a few only.
    """
    numbers, counts = np.unique(
        np.concatenate([frame.landmarks for frame in frames]), return_counts=True
    )
    chosen = []
    for frame in moving:
        count = counts[np.searchsorted(numbers, frame.landmarks)]
        order = np.argsort(-count, kind="stable")
        chosen.append(frame.landmarks[order[count[order] >= 2][:_PER_KEYFRAME]])
    return np.unique(np.concatenate(chosen))


def _graph(
    world: Map, camera: Pinhole, anchors: list[Keyframe], frames: list[Keyframe], chosen: np.ndarray
) -> tuple[gtsam.NonlinearFactorGraph, gtsam.Values]:
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    intrinsics = gtsam.Cal3_S2Stereo(
        camera.focal, camera.focal, 0.0, camera.cx, camera.cy, camera.baseline
    )
    flat = gtsam.Cal3_S2(camera.focal, camera.focal, 0.0, camera.cx, camera.cy)
    for landmark in chosen:
        values.insert(L(landmark), world.points[landmark])
    noises = {}
    for number, frame in enumerate(frames):
        pose = gtsam.Pose3(np.linalg.inv(frame.camera_from_world))
        values.insert(X(number), pose)
        if number < len(anchors):
            graph.add(gtsam.NonlinearEqualityPose3(X(number), pose))
        rows = np.flatnonzero(np.isin(frame.landmarks, chosen, assume_unique=True))
        for landmark, (u, right, v), sigma in zip(
            frame.landmarks[rows], frame.seen[rows], frame.sigma[rows]
        ):
            size = 2 if np.isnan(right) else 3
            key = size, float(sigma)
            if key not in noises:
                noises[key] = gtsam.noiseModel.Robust.Create(
                    gtsam.noiseModel.mEstimator.Huber.Create(HUBER),
                    gtsam.noiseModel.Isotropic.Sigma(size, float(sigma)),
                )
            if size == 3:
                graph.add(
                    gtsam.GenericStereoFactor3D(
                        gtsam.StereoPoint2(u, right, v),
                        noises[key],
                        X(number),
                        L(landmark),
                        intrinsics,
                    )
                )
            else:
                graph.add(
                    gtsam.GenericProjectionFactorCal3_S2(
                        np.array([u, v]), noises[key], X(number), L(landmark), flat
                    )
                )
    return graph, values


def _drop_outliers(world: Map, camera: Pinhole, frame: Keyframe) -> None:
    error, _ = residuals(
        camera, frame.camera_from_world, world.points[frame.landmarks], frame.seen, frame.sigma
    )
    good = np.linalg.norm(error, axis=1) < OUTLIER
    frame.landmarks, frame.seen, frame.sigma = (
        frame.landmarks[good],
        frame.seen[good],
        frame.sigma[good],
    )
