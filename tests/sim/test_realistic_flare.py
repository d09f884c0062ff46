"""Lens flare of realistic images: where ghosts are, how bright, and when there are none."""

import math

import numpy as np
import pytest
from test_realistic_images import AHEAD, SQUARE, scene_of, yard
from test_sensors_rendered import camera_block

from drawing import draws
from sensor_models import SensorError
from sensor_models.cameras import cameras_of
from xtdrone_sim.rendering.realistic import glare
from xtdrone_sim.rendering.realistic.lens import flare

SIDE, PIXEL = 300, 0.004
CORNER = -0.5 * SIDE * PIXEL
LUX = np.array([1.0, 2.0, 3.0])


def ghost(k, x, y, pixel=PIXEL, side=SIDE):
    """The image of one ghost alone, of a source at x, y."""
    image = np.zeros((side, side, 3), dtype=np.float32)
    flare.ghostly(
        image,
        flare.ghosts()[k : k + 1],
        flare.openings(),
        x,
        y,
        LUX,
        -0.5 * side * pixel,
        -0.5 * side * pixel,
        pixel,
    )
    return image


def centre(image):
    v, u = np.mgrid[0 : len(image), 0 : len(image)] + 0.5
    light = image[:, :, 1] / image[:, :, 1].sum()
    return (light * (CORNER + u * PIXEL)).sum(), (light * (CORNER + v * PIXEL)).sum()


def small():
    """Ghosts whose whole disc is in the image, of a source at 0.2 from its middle."""
    _, stop, front = flare.openings()
    return [
        k
        for k, g in enumerate(flare.ghosts())
        if abs(g[7] - g[6] * g[1] / g[0]) * 0.2 + stop * abs(g[6] / g[0]) < 0.5
        and stop / abs(g[0]) + abs(g[1] / g[0]) * 0.2 < front  # the first surface cuts none
        and g[0] == g[2] == g[4]
        and g[1] == g[3]
    ]


def test_a_thin_lens_formula_gives_the_same_focal_length():
    """The lens maker's equation of each element, and of them in a row, against the matrices."""
    focal, stop = flare.focal_length()
    assert focal == pytest.approx(50.0, rel=0.01)  # of the published prescription, f = 50 mm
    assert 0.7 < stop < 0.95
    straight, _ = flare.trace([*range(6)])
    assert straight[0] == pytest.approx(0.0, abs=1e-12)  # parallel rays meet on the sensor
    assert straight[1] == pytest.approx(focal)  # at the focal length times their angle


def test_a_flat_plate_makes_a_ghost_where_its_thickness_says(monkeypatch):
    """Two reflections in a plate of thickness d add 2 d / n to the way of a ray at an angle."""
    monkeypatch.setattr(flare, "LENS", ((1e12, 6.0, 1.5), (1e12, 0.0, 1.0)))
    monkeypatch.setattr(flare, "STOP", 99)
    ray, _ = flare.trace([0, ("back", 1), ("forth", 0), 1], sensor=False)
    straight, _ = flare.trace([0, 1], sensor=False)
    assert ray[0] == pytest.approx(1.0) and ray[1] - straight[1] == pytest.approx(2 * 6.0 / 1.5)


def test_a_concave_mirror_focuses_at_half_its_radius(monkeypatch):
    monkeypatch.setattr(flare, "LENS", ((1e12, 5.0, 1.0), (-40.0, 0.0, 1.0)))
    monkeypatch.setattr(flare, "STOP", 99)
    ray, _ = flare.trace([0, ("back", 1)], sensor=False)  # of a ray at height 1
    assert -ray[0] / ray[2] == pytest.approx(20.0)


def test_a_quarter_wave_layer_reflects_as_the_closed_form_says():
    """((n0 ns - n1^2) / (n0 ns + n1^2))^2 at the wave that it is made for."""
    expected = ((1.62 - 1.38**2) / (1.62 + 1.38**2)) ** 2
    assert flare.reflectance(1.0, 1.62, 550.0, 550.0) == pytest.approx(expected)
    bare = ((1.62 - 1.0) / (1.62 + 1.0)) ** 2  # half a wave does nothing
    assert flare.reflectance(1.0, 1.62, 1100.0, 550.0) == pytest.approx(bare)


@pytest.mark.parametrize("turn", [0.0, 0.7, 2.1, 4.0])
def test_ghosts_lie_on_the_line_through_the_sun_and_the_middle(turn):
    x, y = 0.2 * math.cos(turn), 0.2 * math.sin(turn)
    found = small()
    assert len(found) >= 3
    for k in found:
        g = flare.ghosts()[k]
        at = centre(ghost(k, x, y))
        assert at[0] * y - at[1] * x == pytest.approx(0.0, abs=2e-4)
        along = (at[0] * x + at[1] * y) / 0.2
        assert along == pytest.approx(0.2 * (g[7] - g[6] * g[1] / g[0]), abs=1e-3)
    sides = {
        np.sign(
            flare.ghosts()[k][7]
            - flare.ghosts()[k][6] * flare.ghosts()[k][1] / flare.ghosts()[k][0]
        )
        for k in range(15)
    }
    assert sides == {-1.0, 1.0}  # on both sides of the middle


def test_a_ghost_has_the_light_that_two_surfaces_reflect():
    """Of the light through its opening, in that through the entrance pupil."""
    pupil, stop, _ = flare.openings()
    for k in small():
        g = flare.ghosts()[k]
        light = ghost(k, 0.2, 0.0).sum(axis=(0, 1)) * PIXEL**2
        np.testing.assert_allclose(light, g[8:11] * LUX * (stop / g[0] / pupil) ** 2, rtol=0.01)
        finer = ghost(k, 0.2, 0.0, 0.5 * PIXEL, 2 * SIDE).sum(axis=(0, 1)) * (0.5 * PIXEL) ** 2
        np.testing.assert_allclose(light, finer, rtol=0.01)


def test_flare_is_proportional_to_source_and_amount_and_falls_with_the_angle():
    image = np.full((64, 64, 3), 5.0, dtype=np.float32)
    args = -0.3, -0.3, 0.6 / 64
    one = flare.flared(image, [(0.2, 0.1, LUX)], 1.0, *args) - image
    two = flare.flared(image, [(0.2, 0.1, 2.0 * LUX)], 1.0, *args) - image
    three = flare.flared(image, [(0.2, 0.1, LUX)], 3.0, *args) - image
    np.testing.assert_allclose(two, 2.0 * one, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(three, 3.0 * one, rtol=1e-3, atol=1e-5)
    veil = np.zeros((9, 900, 3), dtype=np.float32)
    flare.veil(veil, 0.0, 0.0, np.ones(3), -0.45, -0.0045, 0.001)
    line = veil[4, 450:, 0]
    assert line[100] / line[200] == pytest.approx(4.0, rel=0.06)  # 0.1 and 0.2 rad: 1 / angle^2


def dazzled(scene, axes, pos=(-20.0, 0.0, 1.0)):
    pos = np.array(pos)
    return glare.sources(
        scene.conditions,
        scene.lamps.rows,
        pos,
        axes,
        1000.0,
        lambda ways: scene.unobstructed(pos, 0.1, ways),
    )


@draws
@pytest.mark.slow
def test_a_hidden_sun_makes_no_flare_and_a_free_one_is_where_it_stands(tmp_path):
    """The sun is at -x, 30 degrees above the horizon; the box between 20 m away."""
    scene = scene_of(yard(tmp_path))
    scene.luminance(np.zeros(3) + 5.0, AHEAD, SQUARE(9, 9), 0.1)  # compiles and places all
    back = np.array([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])  # towards -x
    ((x, y, lux),) = dazzled(scene, back)
    assert (x, y) == (pytest.approx(0.0, abs=1e-9), pytest.approx(math.tan(math.radians(30.0))))
    np.testing.assert_allclose(lux, scene.conditions.sky.sun)
    assert dazzled(scene, AHEAD) == []  # behind the camera
    assert dazzled(scene, back, (0.6, 0.0, 1.5)) == []  # right behind the box, in its shadow
    scene.close()


@draws
def test_no_flare_at_night_and_images_without_a_source_are_the_same(tmp_path):
    night = scene_of(yard(tmp_path), "0:00")
    night.luminance(np.zeros(3) + 5.0, AHEAD, SQUARE(9, 9), 0.1)
    assert dazzled(night, AHEAD) == []
    night.close()


@pytest.mark.parametrize("value", ["-1", "51", "much"])
def test_bad_amounts_are_refused_in_one_line(value):
    with pytest.raises(SensorError, match="flare") as caught:
        cameras_of(camera_block(flare=value))
    assert "\n" not in str(caught.value)
