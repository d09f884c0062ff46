"""Effects of realistic images, each against its closed form."""

import math

import numpy as np
import pytest

from xtdrone_sim.rendering.realistic import fog, rain, sky, sun, textures
from xtdrone_sim.rendering.realistic.lens import blur, exposure, optics
from xtdrone_sim.rendering.realistic.shade import decoded
from xtdrone_sim.scene import materials

LATITUDE = math.radians(47.4)


def flat(value=1000.0, shape=(48, 64)):
    return np.full((*shape, 3), value, dtype=np.float32)


@pytest.mark.parametrize("latitude", [-33.0, 0.0, 47.4])
def test_the_sun_at_noon_stands_at_latitude_and_declination(latitude):
    towards = sun.towards(12.0, math.radians(latitude))
    assert math.degrees(math.asin(towards[2])) == pytest.approx(90.0 - abs(latitude - 23.44))
    assert towards[0] == pytest.approx(0.0, abs=1e-12)


def test_the_sun_rises_in_the_east_and_is_gone_at_night():
    morning, evening = sun.towards(6.0, LATITUDE), sun.towards(18.0, LATITUDE)
    assert morning[0] > 0.9 and evening[0] < -0.9 and np.linalg.norm(morning) == pytest.approx(1.0)
    assert sun.towards(0.0, LATITUDE)[2] < 0.0
    assert not sun.illuminance(math.asin(sun.towards(0.0, LATITUDE)[2])).any()
    low, high = (sun.illuminance(math.radians(angle)) for angle in (3.0, 60.0))
    assert (low < high).all() and low[2] / low[0] < 0.5 * high[2] / high[0]  # a low sun is red


@pytest.mark.slow
def test_light_of_the_sky_falls_from_noon_to_night():
    levels = [sky.sky_of(sun.towards(hour, LATITUDE)).ambient.mean() for hour in (12, 19, 21, 24)]
    assert levels == sorted(levels, reverse=True) and levels[0] > 1e4 * levels[-1]


def test_an_overcast_sky_has_no_sun_and_is_three_times_as_bright_above():
    grey = sky.sky_of(sun.towards(12.0, LATITUDE), 1.0)
    assert not grey.sun.any()
    assert grey.map[-1].mean() / grey.map[0].mean() == pytest.approx(3.0, rel=0.01)


def test_fog_lets_through_what_each_kind_says():
    assert fog.transmittance(50.0, 0.02, 0.0, 0.0, fog.EXPONENTIAL) == pytest.approx(math.exp(-1))
    assert fog.transmittance(50.0, 0.02, 0.0, 0.0, fog.SQUARED) == pytest.approx(math.exp(-1))
    assert fog.transmittance(25.0, 0.02, 0.0, 0.0, fog.SQUARED) == pytest.approx(math.exp(-0.25))
    assert [fog.transmittance(d, 0.0, 10.0, 30.0, fog.LINEAR) for d in (5.0, 20.0, 40.0)] == [
        1.0,
        0.5,
        0.0,
    ]
    assert math.exp(-fog.density_of(300.0) * 300.0) == pytest.approx(0.02, rel=1e-3)


def test_vignetting_is_the_fourth_power_of_the_cosine():
    image, pixel = flat(), 0.02
    left, bottom = -32 * pixel, -24 * pixel
    optics.vignetted(image, 1.0, left, bottom, pixel)
    y, x = np.mgrid[0:48, 0:64] + 0.5
    angle = np.arctan(np.hypot(left + x * pixel, bottom + y * pixel))
    np.testing.assert_allclose(image[:, :, 1], 1000.0 * np.cos(angle) ** 4, rtol=1e-5)


@pytest.mark.parametrize("rate,seconds", [(0.5, 0.02), (-1.5, 0.01), (2.0, 0.03)])
def test_motion_blur_is_as_wide_as_rate_times_exposure_times_focal_length(rate, seconds):
    focal = 500.0
    image = flat(0.0, (5, 200))
    image[:, 100:] = 1.0
    pixel = 1.0 / focal
    out = blur.blurred(
        image,
        np.full((5, 200), np.inf, dtype=np.float32),
        np.zeros(3),
        np.array([0.0, 0.0, rate]),
        seconds,
        -100 * pixel,
        -2.5 * pixel,
        pixel,
    )
    ramp = out[2, :, 0]
    at, share = np.arange(199) - 99.0, np.diff(ramp)
    middle = (share * at).sum()
    width = math.sqrt(12.0 * (share * (at - middle) ** 2).sum())  # of a box of that deviation
    assert width == pytest.approx(abs(rate) * seconds * focal, rel=0.05, abs=0.6)
    assert (ramp[0], ramp[-1]) == (0.0, 1.0) and middle == pytest.approx(0.0, abs=0.5)


def test_what_flies_along_is_blurred_by_its_distance_and_what_is_attached_is_not():
    near, far = (
        blur.image_velocity(0.0, 0.0, z, np.array([0.0, 3.0, 0.0]), np.zeros(3))[0]
        for z in (2.0, 6.0)
    )
    assert near == pytest.approx(1.5) and far == pytest.approx(0.5)  # v / z, to the right
    image = np.random.default_rng(1).random((8, 40, 3)).astype(np.float32)
    own = np.full((8, 40), 0.5 * blur.ATTACHED, dtype=np.float32)
    out = blur.blurred(image, own, np.array([0.0, 30.0, 0.0]), np.zeros(3), 0.05, -1.0, -0.2, 0.05)
    assert np.array_equal(out, image)


def test_points_move_in_the_image_as_the_projection_does():
    """Velocity of the image against a finite difference of the projection."""
    vel, ang, point = np.array([1.2, -0.7, 0.4]), np.array([0.3, -0.5, 0.8]), np.array([5, 1.5, -2])
    step = 1e-6
    moved = point - step * (vel + np.cross(ang, point))
    seen = [np.array([-p[1] / p[0], p[2] / p[0]]) for p in (point, moved)]
    np.testing.assert_allclose(
        blur.image_velocity(*seen[0], 5.0, vel, ang), (seen[1] - seen[0]) / step, rtol=1e-4
    )


def test_levels_are_proportional_to_exposure_up_to_the_knee_and_then_saturate():
    table, decode = exposure.encoded(), decoded()
    light = flat(800.0)

    def linear(value):
        return decode[exposure.expose(light, exposure.gain_of(value), table)].mean()

    first = math.log2(800.0 / 1.2)  # full scale
    assert linear(first + 1.0) == pytest.approx(0.5, rel=0.01)
    assert linear(first + 2.0) == pytest.approx(0.25, rel=0.01)
    assert linear(first + 4.0) == pytest.approx(1.0 / 16.0, rel=0.03)
    assert exposure.expose(light, exposure.gain_of(first - 6.0), table).min() == 255


def test_an_automatic_exposure_follows_the_light():
    dim, bright = (exposure.automatic(flat(level)) for level in (100.0, 6400.0))
    assert bright - dim == pytest.approx(6.0, abs=1e-3)
    table = exposure.encoded()
    assert np.array_equal(
        exposure.expose(flat(100.0), exposure.gain_of(dim), table),
        exposure.expose(flat(6400.0), exposure.gain_of(bright), table),
    )


def test_chromatic_aberration_moves_red_and_blue_by_a_share_of_the_radius():
    image = flat(0.0, (20, 400))
    image[:, 350:] = 1.0  # 150 pixels from the axis
    out = optics.fringed(image, 0.02, -200 * 0.01, -10 * 0.01, 0.01)
    edges = [400.0 - out[10, :, c].sum() for c in range(3)]
    assert edges[0] - edges[1] == pytest.approx(0.02 * 150, abs=0.1)
    assert edges[1] - edges[2] == pytest.approx(0.02 * 150, abs=0.1)


def test_bloom_spreads_light_and_keeps_its_sum():
    image = flat(0.0, (160, 240))
    image[80, 120] = 1e5
    out = optics.bloomed(image, 0.1)
    assert out[80, 120, 0] == pytest.approx(0.9e5, rel=0.01) and out[80, 126, 0] > 0.0
    assert out.sum() == pytest.approx(image.sum(), rel=1e-3)
    np.testing.assert_allclose(optics.bloomed(flat(), 0.3), flat(), rtol=1e-5)


def test_a_streak_is_as_long_as_a_drop_falls_during_the_exposure():
    size, z, seconds, pixel = 2e-3, 2.0, 0.01, 0.002
    image = flat(0.0, (200, 40))
    drop = np.array([[0.0, 0.0, z, size]])
    rain.streaks(
        image,
        np.full((200, 40), np.inf, dtype=np.float32),
        drop,
        np.array([0.0, 0.0, -1.0]),
        np.zeros(3),
        seconds,
        np.ones(3),
        -20 * pixel,
        -100 * pixel,
        pixel,
    )
    length = (image[:, :, 0].max(axis=1) > 0.0).sum()
    assert length == pytest.approx(rain.fall_speed(size) * seconds / (z * pixel), abs=1.0)
    assert rain.fall_speed(2e-3) == pytest.approx(6.55, abs=0.01)  # m/s, Atlas and others
    wide = size / (z * pixel)  # it hides the background for a share of the exposure
    assert image.max() == pytest.approx(wide * wide / (length + wide), rel=0.05)


def test_the_number_of_drops_is_marshall_and_palmers():
    slope = rain.slope_of(10.0)
    volume = (6.0**3 - 0.25**3) / 3.0 * 0.4 * 0.3 * 1.15**2
    counts = [
        len(rain.drops(10.0, -0.2, 0.2, -0.15, 0.15, np.random.default_rng(k))) for k in range(20)
    ]
    assert np.mean(counts) == pytest.approx(8000.0 / slope * math.exp(-slope) * volume, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Grass", "Road", "Concrete", "Bricks", "WoodFloor", "PaintedWall"]
)
def test_textures_tile_without_seams(name):
    image = textures.picture(f"Gazebo/{name}").astype(int)
    assert image.shape == (1024, 1024, 3) and image.std() > 4.0
    for turned in (image, image.transpose(1, 0, 2)):
        inside = np.abs(np.diff(turned, axis=0)).mean(axis=(1, 2)).max()
        assert np.abs(turned[0] - turned[-1]).mean() <= 1.2 * inside + 1.0
    assert np.array_equal(textures.picture("Mine/Unknown"), materials.picture("Mine/Unknown"))
