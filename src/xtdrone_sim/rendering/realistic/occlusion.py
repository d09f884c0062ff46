"""Ambient occlusion: corners get less light from the sky, as depth around a pixel shows."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_SAMPLES = 12
_REACH = 1.2  # distance up to which things occlude [m]
_MAX_RADIUS = 60.0  # radius of the disc that is searched [pixels]
_STRENGTH = 1.5


@njit(nogil=True)
def occlusion(
    distance: np.ndarray, normals: np.ndarray, left: float, bottom: float, pixel: float, step: int
) -> np.ndarray:
    """Share of the ambient light that arrives, at every `step`-th pixel (Mittring 2007).

    Args:
        distance: (h, w) along the optical axis [m], inf for nothing.
        normals: (h, w, 3) of the surfaces: forward, left and up of the camera.
        left, bottom: Coordinates at unit distance of the image's lower left corner, x to the
            right and y up.
        pixel: Side of a pixel at unit distance.
        step: Step of the pixels.

    Returns:
        (ceil(h / step), ceil(w / step)) float32, 0..1, smoothed over 4 by 4.
    """
    h, w = distance.shape
    rows, columns = (h + step - 1) // step, (w + step - 1) // step
    raw = np.ones((rows, columns), dtype=np.float32)
    for r in range(rows):
        for c in range(columns):
            v, u = r * step, c * step
            z = distance[v, u]
            if not math.isfinite(z):
                continue
            radius = min(_REACH / (z * pixel), _MAX_RADIUS)
            if radius < 1.5:
                continue
            x0, y0 = (left + (u + 0.5) * pixel) * z, (bottom + (v + 0.5) * pixel) * z
            nf, nl, nu = normals[v, u, 0], normals[v, u, 1], normals[v, u, 2]
            turn = 2.0 * math.pi * (((r & 3) * 4 + (c & 3)) * 7 % 16) / 16.0
            total = 0.0
            for k in range(_SAMPLES):
                part = (k + 0.5) / _SAMPLES
                angle = turn + 2.399963 * k
                uu = u + int(radius * part * math.cos(angle))
                vv = v + int(radius * part * math.sin(angle))
                if not (0 <= uu < w and 0 <= vv < h):
                    continue
                other = distance[vv, uu]
                if not math.isfinite(other):
                    continue
                df = other - z
                dl = -((left + (uu + 0.5) * pixel) * other - x0)
                du = (bottom + (vv + 0.5) * pixel) * other - y0
                square = df * df + dl * dl + du * du
                if square < 1e-8 or square > _REACH * _REACH:
                    continue
                length = math.sqrt(square)
                cosine = (df * nf + dl * nl + du * nu) / length
                if cosine > 0.08:
                    total += (cosine - 0.08) * (1.0 - length / _REACH)
            raw[r, c] = max(0.0, 1.0 - _STRENGTH * 2.0 * total / _SAMPLES)
    out = np.empty_like(raw)
    for r in range(rows):
        for c in range(columns):
            z = distance[r * step, c * step]
            total, count = 0.0, 0
            for k in range(-2, 2):
                for m in range(-2, 2):
                    rr, cc = r + k, c + m
                    if (
                        0 <= rr < rows
                        and 0 <= cc < columns
                        and abs(distance[rr * step, cc * step] - z) < 0.06 * z
                    ):
                        total += raw[rr, cc]
                        count += 1
            out[r, c] = total / count if count else raw[r, c]
    return out
