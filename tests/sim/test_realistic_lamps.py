"""Lamps and wet ground of realistic images, against closed forms."""

import math

import numpy as np
import pytest
from test_realistic_images import DOWN, SQUARE, scene_of, yard

from drawing import draws
from xtdrone_core import FleetState, VehicleSpec
from xtdrone_sim.rendering.realistic import lamps, sky, wet
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

LAMP = """<light name="lamp" type="{kind}"><cast_shadows>{shadows}</cast_shadows>
  <pose>{x} 0 {z} 0 0 0</pose><diffuse>1 1 1 1</diffuse><direction>{direction}</direction>
  <attenuation><range>60</range><constant>0</constant><linear>0</linear><quadratic>1</quadratic>
  </attenuation>{more}</light>"""


def lit_yard(
    tmp_path,
    kind="point",
    shadows=1,
    x=-4.0,
    z=6.0,
    direction="0 0 -1",
    more="",
    weather="",
    specs=(),
    models=(),
):
    """A level ground with a box 2 m high from x = -0.5 to 0.5, and a lamp, at midnight."""
    path = yard(tmp_path, material="").sdf
    lamp = LAMP.format(kind=kind, shadows=shadows, x=x, z=z, direction=direction, more=more)
    path.write_text(path.read_text().replace('<model name="yard">', lamp + '<model name="yard">'))
    return scene_of(load_world(path), "0:00", weather, specs, models)


def ground_line(scene, x, height=10.0, side=200):
    """Luminance along x, of the ground from x - height / 2 to x + height / 2."""
    light = scene.luminance(np.array([x, 0.0, height]), DOWN, SQUARE(side, side), 0.1)[0]
    return light[:, side // 2, 1]


@pytest.mark.slow
@draws
@pytest.mark.parametrize("x,z", [(-4.0, 6.0), (-3.0, 3.5), (-8.0, 5.0)])
def test_the_shadow_of_a_lamp_ends_where_its_ray_over_the_edge_meets_the_ground(tmp_path, x, z):
    """By similar triangles: edge at (0.5, 2), lamp at (x, z)."""
    scene = lit_yard(tmp_path, x=x, z=z)
    end = x + (0.5 - x) * z / (z - 2.0)
    line = ground_line(scene, end)
    assert line[80] < 0.3 * line[120]
    half = 0.5 * (line[85] + line[115])
    at = 0.05 * (int(np.argmax(line[80:] > half)) + 80 - 99.5)
    assert at == pytest.approx(0.0, abs=0.08)
    scene.close()


def test_light_of_a_lamp_falls_as_sdf_says():
    """diffuse / (constant + linear d + quadratic d^2), by the cosine; a spot within its cone."""
    row = np.array(
        [0.0, 0.0, 6.0, 0.0, 0.0, -1.0, 1.0, 1.0, 1.0, 0.5, 0.1, 0.02, -1.0, 20.0, -1.0, 0.0]
    )
    away = math.hypot(3.0, 6.0)
    expected = lamps.LUX * 6.0 / away / (0.5 + 0.1 * away + 0.02 * away**2)
    assert lamps.illuminance(row, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0) == pytest.approx(expected)
    assert lamps.illuminance(row, 3.0, 0.0, 0.0, 0.0, 0.0, -1.0) == 0.0  # from behind
    assert lamps.illuminance(row, 30.0, 0.0, 0.0, 0.0, 0.0, 1.0) == 0.0  # beyond its range
    row[12] = math.cos(0.4)
    assert lamps.illuminance(row, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0) == 0.0  # atan(3 / 6) = 0.46
    assert lamps.illuminance(row, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0) > 0.0
    row[15] = 1.0  # directional
    assert lamps.illuminance(row, 99.0, 9.0, 9.0, 0.0, 0.6, 0.8) == pytest.approx(0.8 * lamps.LUX)


@draws
@pytest.mark.slow
def test_a_lamp_without_cast_shadows_lights_what_is_behind_things(tmp_path):
    scene, other = (lit_yard(tmp_path, shadows=shadows) for shadows in (0, 1))
    assert len(scene.lamps.cubes) == 0
    bright, dark = ground_line(scene, 4.0), ground_line(other, 4.0)
    assert dark[60] < 0.2 * bright[60]  # at x = 2, in the shadow, which ends at 2.75
    np.testing.assert_allclose(dark[120:], bright[120:], rtol=1e-3)
    scene.close()
    other.close()


@draws
def test_a_spot_lights_its_cone_and_its_shadow_ends_as_that_of_a_point(tmp_path):
    scene = lit_yard(
        tmp_path,
        "spot",
        more="<spot><outer_angle>1.2</outer_angle>"
        "<inner_angle>1</inner_angle><falloff>1</falloff></spot>",
    )
    line = ground_line(scene, -4.0)
    edge = 6.0 * math.tan(0.6)
    at = -4.0 + 0.05 * (np.arange(200) - 99.5)
    dark = line < 0.05 * line.max()
    assert dark[(at < -4.0 - edge - 0.1)].all() and not dark[abs(at + 4.0) < edge - 0.1][:-5].any()
    scene.close()


@draws
def test_a_second_directional_light_casts_shadows_of_its_own(tmp_path):
    scene = lit_yard(tmp_path, "directional", direction="1 0 -1")
    line = ground_line(scene, 2.5)  # of a box 2 m high, 45 degrees
    assert line[80] < 0.2 * line[120]
    assert 0.05 * (
        int(np.argmax(line[80:] > 0.5 * (line[80] + line[120]))) - 19.5
    ) == pytest.approx(0.0, abs=0.15)
    scene.close()


@draws
def test_the_shadow_of_a_vehicle_moves_with_it_and_goes_with_it(tmp_path):
    model = load_vehicle("iris")
    scene = lit_yard(
        tmp_path, x=-9.0, z=8.0, specs=[VehicleSpec("iris", "v_0", (0.0, 0.0, 0.0))], models=[model]
    )
    state = FleetState.zeros(1, 4)
    dark = []
    for x in (-9.0, -8.0, -30.0):
        state.pos[0] = x, 0.0, 4.0  # half way to the ground: its shadow is twice as far aside
        scene.place(state)
        light = scene.luminance(np.array([-8.0, 0.0, 3.6]), DOWN, SQUARE(120, 120), 0.1)[0]
        dark.append(light[:, 60, 1].copy())
    clear = dark[2]
    shadow = [np.flatnonzero(line < 0.5 * clear) for line in dark[:2]]
    at = [-8.0 + 3.6 * ((rows.min() + rows.max() + 1) / 240 - 0.5) for rows in shadow]
    assert at[0] == pytest.approx(-9.0, abs=0.15) and at[1] == pytest.approx(-7.0, abs=0.15)
    scene.close()


def test_fresnels_equations():
    """Straight on, at Brewster's angle and at grazing incidence; against s and p at any angle."""
    n = wet.WATER
    assert wet.fresnel(1.0, n) == pytest.approx(((n - 1.0) / (n + 1.0)) ** 2)
    assert wet.fresnel(1e-9, n) == pytest.approx(1.0)
    brewster = math.atan(n)
    within = math.pi / 2.0 - brewster
    across = (math.sin(brewster - within) / math.sin(brewster + within)) ** 2
    assert wet.fresnel(math.cos(brewster), n) == pytest.approx(0.5 * across)
    for angle in np.radians([10.0, 45.0, 75.0, 88.0]):
        within = math.asin(math.sin(angle) / n)
        s = math.sin(angle - within) / math.sin(angle + within)
        p = math.tan(angle - within) / math.tan(angle + within)
        assert wet.fresnel(math.cos(angle), n) == pytest.approx(0.5 * (s * s + p * p))


def test_water_darkens_by_what_it_reflects_within():
    """As the sum of all passes: out at first, or back and out again; black stays, white nearly."""
    for albedo in (0.1, 0.3, 0.6):
        total, left = 0.0, 1.0 - wet.REFLECTED_OUTSIDE
        for _ in range(200):
            left *= albedo
            total += left * (1.0 - wet.REFLECTED_INSIDE)
            left *= wet.REFLECTED_INSIDE
        assert wet.darkened(albedo) == pytest.approx(total)
        assert 0.4 < wet.darkened(albedo) / albedo < 0.95
    assert wet.darkened(0.0) == 0.0


@pytest.mark.parametrize("degrees", [20.0, 50.0, 80.0])
def test_a_puddle_reflects_the_sky_by_fresnels_share(degrees):
    """Black ground below a puddle, seen at an angle, below an overcast sky."""
    heavens = sky.sky_of(np.array([0.0, 0.0, 1.0]), 1.0).map
    turn = math.radians(90.0 - degrees)  # of the camera downwards
    axes = np.array(
        [
            [math.cos(turn), 0.0, math.sin(turn)],
            [0.0, 1.0, 0.0],
            [-math.sin(turn), 0.0, math.cos(turn)],
        ]
    )
    image = np.zeros((9, 9, 3), dtype=np.float32)
    films = np.full((9, 9), 2.0, dtype=np.float32)
    distance = np.full((9, 9), 5.0, dtype=np.float32)
    out = wet.reflected(
        image,
        distance,
        films,
        -0.0045,
        -0.0045,
        0.001,
        np.zeros(3),
        axes,
        heavens,
        (0.0, 0.0, 0.0, 1),
        np.full(3, -1.0),
    )
    level = sky.sample(
        heavens, math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees)), 1
    )
    expected = wet.fresnel(math.cos(math.radians(degrees)), wet.WATER) * level
    assert out[4, 4, 1] == pytest.approx(expected, rel=0.03)
    films[:] = 1.0  # a film that follows the grains scatters, but about as much
    assert wet.reflected(
        image,
        distance,
        films,
        -0.0045,
        -0.0045,
        0.001,
        np.zeros(3),
        axes,
        heavens,
        (0.0, 0.0, 0.0, 1),
        np.full(3, -1.0),
    )[4, 4, 1] == pytest.approx(expected, rel=0.4)
    films[:] = 0.0
    assert not wet.reflected(
        image,
        distance,
        films,
        -0.0045,
        -0.0045,
        0.001,
        np.zeros(3),
        axes,
        heavens,
        (0.0, 0.0, 0.0, 1),
        np.full(3, -1.0),
    ).any()


@draws
def test_wet_ground_mirrors_what_stands_on_it(tmp_path, monkeypatch):
    """The white box, seen from 10 m in front, stands upside down below its foot."""
    monkeypatch.setattr(wet, "puddles", lambda rate: 1.2)  # one puddle
    path = yard(tmp_path).sdf
    path.write_text(path.read_text().replace("0.5 0.5 0.5 1", "0 0 0 1"))
    scene = scene_of(load_world(path), "12:00", "rain=0.1")
    eye = np.array([-10.5, 0.0, 1.0]), np.eye(3), SQUARE(200, 200), 0.1
    light = scene.luminance(*eye)[0][:, 100, 1]
    # The front at 10 m: foot 20 pixels below the middle, and the mirror image of its top 60 below.
    mirrored, sky_above = light[60], light[30]
    cosine = 3.0 / math.hypot(3.0, 10.0)  # of the ray to its mirror image, 2 m below the foot
    share = wet.fresnel(0.5 * (cosine + 0.18), wet.WATER)
    assert mirrored == pytest.approx(share * light[110], rel=0.35)
    assert mirrored < 0.9 * sky_above or mirrored > 1.1 * sky_above
    scene.close()
