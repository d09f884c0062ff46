"""Warp's part of bench_cameras.py: rays against triangle meshes on one core; prints JSON.

Runs in a virtual environment of its own, which bench_cameras.py creates:

    python warp_cameras.py SHARE.npz FOV SECONDS WIDTH HEIGHT [WIDTH HEIGHT ...]
"""

import json
import math
import sys
import time

import numpy as np
import warp as wp

wp.config.quiet = True
share, fov, seconds = np.load(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
sizes = list(zip(map(int, sys.argv[4::2]), map(int, sys.argv[5::2])))


@wp.kernel
def cast(
    mesh: wp.array(dtype=wp.uint64),
    pos: wp.array(dtype=wp.vec3),
    quat: wp.array(dtype=wp.quat),
    width: int,
    height: int,
    focal: float,
    distance: wp.array(dtype=float),
    face: wp.array(dtype=int),
    normal: wp.array(dtype=wp.vec3),
):
    """One ray of each pixel of each environment."""
    i = wp.tid()
    e, pixel = i / (width * height), i % (width * height)
    u, v = pixel % width, pixel / width
    ray = wp.vec3(
        1.0,
        -(float(u) - 0.5 * float(width - 1)) / focal,
        -(float(v) - 0.5 * float(height - 1)) / focal,
    )
    length = wp.length(ray)
    found = wp.mesh_query_ray(mesh[e], pos[e], wp.quat_rotate(quat[e], ray) / length, 60.0 * length)
    distance[i] = wp.where(found.result, found.t / length, wp.inf)
    face[i] = wp.where(found.result, found.face, -1)
    normal[i] = found.normal


with wp.ScopedDevice("cpu"):
    meshes = []
    for e in range(len(share["pos"])):
        corners = share[f"mesh{e}"].reshape(-1, 3)
        meshes.append(
            wp.Mesh(
                points=wp.array(corners, dtype=wp.vec3),
                indices=wp.array(np.arange(len(corners), dtype=np.int32)),
            )
        )
    ids = wp.array([mesh.id for mesh in meshes], dtype=wp.uint64)
    pos, quat = (
        wp.array(share[name].astype(np.float32), dtype=kind)
        for name, kind in (("pos", wp.vec3), ("quat", wp.quat))
    )
    rates = []
    for width, height in sizes:
        rays = len(meshes) * width * height
        out = tuple(wp.zeros(rays, dtype=kind) for kind in (float, int, wp.vec3))
        given = [ids, pos, quat, width, height, 0.5 * width / math.tan(0.5 * fov), *out]
        wp.launch(cast, rays, given)
        best, spent = math.inf, 0.0
        while spent < seconds:
            begin = time.perf_counter()
            wp.launch(cast, rays, given)
            wall = time.perf_counter() - begin
            best, spent = min(best, wall), spent + wall
        assert 0.3 < np.isfinite(out[0].numpy()).mean() < 1.0
        rates.append(len(meshes) / best)
print(json.dumps({"per_s": rates, "version": wp.config.version}))
