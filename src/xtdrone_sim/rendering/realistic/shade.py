"""Light on surfaces: luminance from albedo, depth, the sun, the sky, lamps and fog."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from . import fog, lamps, leaves, shadows, sky, sun, wet

_SUN_DISC = math.cos(sun.SIZE)
_BOUNCE = 0.22  # fraction of its light that the ground reflects
_GLOW = 8000.0  # luminance of emissive 1 [cd/m^2]


def decoded() -> np.ndarray:
    """(256,) linear value of each level of sRGB, 0..1."""
    level = np.arange(256) / 255.0
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4).astype(
        np.float32
    )


@njit(inline="always")
def _alike(line: np.ndarray, k: int, z: float) -> int:
    """Index of the neighbour of element k of a line that is the most like z."""
    if k == 0:
        return 1
    if k == len(line) - 1 or abs(line[k - 1] - z) < abs(line[k + 1] - z):
        return k - 1
    return k + 1


@njit(nogil=True)
def normals_of(distance: np.ndarray, left: float, bottom: float, pixel: float) -> np.ndarray:
    """Normals (h, w, 3) float32 of the surfaces, forward, left and up of the camera.

    Args:
        distance: (h, w) along the optical axis [m], inf for nothing.
        left, bottom, pixel: See occlusion().
    """
    h, w = distance.shape
    out = np.zeros((h, w, 3), dtype=np.float32)
    for v in range(h):
        for u in range(w):
            z = distance[v, u]
            if not math.isfinite(z):
                continue
            # Of the two neighbours on each axis the one at the more similar distance counts, as
            # the other may lie on another surface.
            k = _alike(distance[v], u, z)
            m = _alike(distance[:, u], v, z)
            x, y = left + (u + 0.5) * pixel, bottom + (v + 0.5) * pixel
            z1, z2 = distance[v, k], distance[m, u]
            if not (math.isfinite(z1) and math.isfinite(z2)):
                out[v, u, 0], out[v, u, 1], out[v, u, 2] = -1.0, x, -y
            else:
                af, al, au = z1 - z, -((left + (k + 0.5) * pixel) * z1 - x * z), y * (z1 - z)
                bf, bl, bu = z2 - z, -x * (z2 - z), (bottom + (m + 0.5) * pixel) * z2 - y * z
                nf, nl, nu = al * bu - au * bl, au * bf - af * bu, af * bl - al * bf
                if nf - nl * x + nu * y > 0.0:  # it faces the camera
                    nf, nl, nu = -nf, -nl, -nu
                out[v, u, 0], out[v, u, 1], out[v, u, 2] = nf, nl, nu
            length = math.sqrt(out[v, u, 0] ** 2 + out[v, u, 1] ** 2 + out[v, u, 2] ** 2)
            if length > 0.0:
                for c in range(3):
                    out[v, u, c] /= length
    return out


@njit(nogil=True)
def shade(
    albedo: np.ndarray,
    distance: np.ndarray,
    normals: np.ndarray,
    occlusion: np.ndarray,
    ids: np.ndarray,
    surfaces: np.ndarray,
    decode: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
    pos: np.ndarray,
    axes: np.ndarray,
    heavens: np.ndarray,
    towards: np.ndarray,
    sunlight: np.ndarray,
    ambient: np.ndarray,
    depth: np.ndarray,
    places: np.ndarray,
    rows: np.ndarray,
    cubes: np.ndarray,
    beside: tuple,
    air: tuple,
    veil: np.ndarray,
    t_s: float,
    covered: float,
    films: np.ndarray,
) -> np.ndarray:
    """Luminance (h, w, 3) float32 of an image [cd/m^2].

    Args:
        albedo: (h, w, 3) uint8, sRGB.
        distance, normals: (h, w), (h, w, 3), see normals_of().
        occlusion: Share of ambient light, at every second pixel.
        ids: (h, w) rows of `surfaces`, or (0, 0) where all are matt.
        surfaces: see surfaces.table_of().
        decode: See decoded().
        left, bottom, pixel: See normals_of().
        pos, axes: (3,) of the camera, and (3, 3) its axes as columns, world.
        heavens: Map of the sky, see Sky.
        towards, sunlight, ambient: (3,) each, see Sky.
        depth, places: Of the sun's shadows, or in rain of what falls from above, see shadows.Maps.
        rows, cubes: See lamps.Lamps.
        beside: depth and places of the shadows of directional lamps, a map each.
        air: density, start, end and kind, see fog.transmittance().
        veil: (3,) luminance of fog; negative for the horizon's, by direction.
        t_s: For ripples [s].
        covered: Share of level ground below puddles; 0 in dry weather.
        films: (h, w) zeros, into which it writes how wet surfaces are, see wet.film(); (0, 0) in
            dry weather.
    """
    h, w = distance.shape
    out = np.empty((h, w, 3), dtype=np.float32)
    density, start, end, kind = air
    matt = ids.shape[0] == 0
    ground, own = np.empty(3), np.empty(3)
    for c in range(3):
        ground[c] = _BOUNCE * (ambient[c] + sunlight[c] * max(towards[2], 0.0))
    for v in range(h):
        for u in range(w):
            x, y = left + (u + 0.5) * pixel, bottom + (v + 0.5) * pixel
            rx = axes[0, 0] - x * axes[0, 1] + y * axes[0, 2]
            ry = axes[1, 0] - x * axes[1, 1] + y * axes[1, 2]
            rz = axes[2, 0] - x * axes[2, 1] + y * axes[2, 2]
            stretch = math.sqrt(rx * rx + ry * ry + rz * rz)
            dx, dy, dz = rx / stretch, ry / stretch, rz / stretch
            z = distance[v, u]
            seen = math.isfinite(z)
            through = fog.transmittance(z * stretch, density, start, end, kind) if seen else 0.0
            if not seen:
                # Of the sky itself fog hides what its depth of some hundred metres hides.
                hazy = 0.0
                if veil[0] >= 0.0:
                    hazy = 1.0 - fog.transmittance(300.0 / max(dz, 0.02), density, start, end, kind)
                disc = dx * towards[0] + dy * towards[1] + dz * towards[2] > _SUN_DISC
                for c in range(3):
                    value = sky.sample(heavens, dx, dy, dz, c)
                    if disc:
                        value += sunlight[c] / 6.8e-5
                    out[v, u, c] = value if hazy == 0.0 else value * (1.0 - hazy) + hazy * veil[c]
                continue
            px, py, pz = pos[0] + z * rx, pos[1] + z * ry, pos[2] + z * rz
            nf, nl, nu = normals[v, u, 0], normals[v, u, 1], normals[v, u, 2]
            nx = axes[0, 0] * nf + axes[0, 1] * nl + axes[0, 2] * nu
            ny = axes[1, 0] * nf + axes[1, 1] * nl + axes[1, 2] * nu
            nz = axes[2, 0] * nf + axes[2, 1] * nl + axes[2, 2] * nu
            surface = surfaces[0] if matt else surfaces[ids[v, u]]
            if surface[4] > 0.0 and nz > 0.9:
                blur = z * stretch * pixel / max(-dz, 0.01)  # side of the pixel on the water
                nx, ny, nz = _rippled(px, py, t_s, surface[4], blur)
            worn = 1.0
            if surface[6] > 0.0:
                much = surface[6]
                worn, tx, ty, tz = leaves.tuft(px, py, pz, z * stretch * pixel)
                worn, nx, ny, nz = (
                    1.0 + much * (worn - 1.0),
                    nx + much * tx,
                    ny + much * ty,
                    nz + much * tz,
                )
                length = math.sqrt(nx * nx + ny * ny + nz * nz)
                nx, ny, nz = nx / length, ny / length, nz / length
            facing = nx * towards[0] + ny * towards[1] + nz * towards[2]
            sunny, soaked = 0.0, 0.0
            if facing > 0.0 and sunlight[0] > 0.0:
                sunny = 1.0
                if depth.shape[0] > 0:
                    sunny = shadows.lit(depth, places, px, py, pz, nx, ny, nz)
            if films.shape[0] > 0 and surface[7] > 0.0 and nz > 0.2:
                soaked = shadows.lit(depth, places, px, py, pz, nx, ny, nz)
                patch = 0.6 * _patches(px, py, 0.23) + 0.4 * _patches(px, py, 0.9)
                films[v, u] = (
                    soaked * surface[7] * wet.film(nz, patch, covered if surface[7] == 1.0 else 0.0)
                )
            open_sky = occlusion[v // 2, u // 2]
            gloss, rough, metal = surface[0], surface[1], surface[2]
            mirror, fresnel = 0.0, 0.0
            mx, my, mz = 0.0, 0.0, 1.0
            if gloss > 0.0 or metal > 0.0:
                along = dx * nx + dy * ny + dz * nz
                mx, my, mz = dx - 2.0 * along * nx, dy - 2.0 * along * ny, dz - 2.0 * along * nz
                fresnel = (1.0 - min(max(-along, 0.0), 1.0)) ** 5
                if sunny > 0.0:
                    mirror = _lobe(mx * towards[0] + my * towards[1] + mz * towards[2], rough)
            if surface[5] > 0.0:
                worn += surface[5] * (_patches(px, py, 0.11) + 0.7 * _patches(px, py, 0.43) - 0.85)
            shines, open_lamp = rows.shape[0] > 0, 0.4 + 0.6 * open_sky
            red, green, blue = 0.0, 0.0, 0.0
            for k in range(rows.shape[0]):
                level = lamps.illuminance(rows[k], px, py, pz, nx, ny, nz)
                slot = int(rows[k, 14])
                if level > 0.0 and slot >= 0:
                    if rows[k, 15] > 0.0:
                        level *= shadows.lit(
                            beside[0][slot : slot + 1],
                            beside[1][slot : slot + 1],
                            px,
                            py,
                            pz,
                            nx,
                            ny,
                            nz,
                        )
                    else:
                        level *= lamps.lit(cubes, rows[k], px, py, pz, nx, ny, nz)
                red += level * rows[k, 6]
                green += level * rows[k, 7]
                blue += level * rows[k, 8]
            for c in range(3):
                own[c] = decode[albedo[v, u, c]]
            if surface[6] == 1.0:
                own[0], own[1], own[2] = leaves.natural(own[0], own[1], own[2])
            for c in range(3):
                colour = own[c] * worn
                if soaked > 0.0 and gloss == 0.0:
                    colour += soaked * (wet.darkened(colour) - colour)
                light = sunny * facing * sunlight[c] if sunny > 0.0 else 0.0
                light += open_sky * (ambient[c] * (0.5 + 0.5 * nz) + ground[c] * (0.5 - 0.5 * nz))
                if shines:
                    light += open_lamp * (red if c == 0 else green if c == 1 else blue)
                value = colour * light * (1.0 - metal) / math.pi + surface[3] * colour * _GLOW
                if gloss > 0.0 or metal > 0.0:
                    base = gloss * (1.0 - metal) + colour * metal
                    reflects = base + (1.0 - base) * fresnel * (1.0 - rough)
                    around = (
                        sky.sample(heavens, mx, my, mz, c)
                        if mz > 0.0 or surface[4] > 0.0
                        else ground[c] / math.pi
                    )
                    value = value * (1.0 - reflects * (1.0 - metal)) + reflects * (
                        open_sky * around + sunny * mirror * sunlight[c]
                    )
                if through < 1.0:
                    grey = veil[c] if veil[0] >= 0.0 else sky.sample(heavens, dx, dy, 0.02, c)
                    value = value * through + grey * (1.0 - through)
                out[v, u, c] = value
    return out


@njit
def _lobe(cosine: float, rough: float) -> float:
    """Blinn's highlight of the sun around its mirror image, per illuminance."""
    if cosine <= 0.0:
        return 0.0
    power = 2.0 / (max(rough, 0.03) ** 4) - 1.0
    return (power + 2.0) / (8.0 * math.pi) * math.exp(power * math.log(cosine))


@njit
def _patches(x: float, y: float, scale: float) -> float:
    """Smooth noise over the ground, 0..1: what keeps a texture from repeating to the eye."""
    x, y = x * scale + 500.0, y * scale + 500.0
    i, j = math.floor(x), math.floor(y)
    a, b = x - i, y - j
    a, b = a * a * (3.0 - 2.0 * a), b * b * (3.0 - 2.0 * b)
    low = _hashed(i, j) * (1.0 - a) + _hashed(i + 1.0, j) * a
    high = _hashed(i, j + 1.0) * (1.0 - a) + _hashed(i + 1.0, j + 1.0) * a
    return low * (1.0 - b) + high * b


@njit(inline="always")
def _hashed(i: float, j: float) -> float:
    value = math.sin(i * 12.9898 + j * 78.233) * 43758.5453
    return value - math.floor(value)


@njit
def _rippled(x: float, y: float, t: float, steep: float, blur: float) -> tuple[float, float, float]:
    """Normal of water with some waves of deep water of a slope, but those finer than `blur` [m]."""
    sx, sy = 0.0, 0.0
    for k in range(9):
        turn = 2.4 * k + 0.4
        number = 0.9 * 1.55**k  # [rad/m]
        phase = (
            number * (x * math.cos(turn) + y * math.sin(turn))
            + 3.13 * math.sqrt(number) * t
            + 1.7 * k
        )
        slope = (
            steep
            * math.exp(-0.15 * (number * blur) ** 2)
            * math.cos(phase)
            * (0.55 + 0.45 * math.sin(0.13 * number * x + k))
        )
        sx += slope * math.cos(turn)
        sy += slope * math.sin(turn)
    length = math.sqrt(sx * sx + sy * sy + 1.0)
    return -sx / length, -sy / length, 1.0 / length
