"""Waves: spectra and dispersion against closed forms, how floats ride them, and world files."""

import contextlib
import math

import numpy as np
import pytest

from afloat import DRAUGHT, LENGTH, MASS, WATER, WIDTH, G, boat, powered, start
from ground import Ride
from xtdrone_core import Scenario
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.earth import waves as model
from xtdrone_sim.errors import SdfError
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.world import load_world
from xtdrone_sim.world.waves import Waves

LONG_AGO = 1e3 * model.GROWTH  # waves have grown by then [s]


def ride(tmp_path, waves, drag="", vehicle=None, t=LONG_AGO):
    """A box on waves, with the time at which it starts [s]."""
    out = Ride(vehicle or boat(tmp_path, drag), "lake", start())
    out.stage.waves, out.t_us = waves, round(t * 1e6)
    return out


def regular(height, period, direction=0.0):
    return Waves(height, period, direction, spectrum=model.REGULAR).sampled(1, G)


@pytest.mark.parametrize("spectrum", model.SPECTRA)
def test_a_spectrum_has_the_energy_of_its_height(spectrum):
    frequency = np.linspace(0.05, 60.0, 400_000)
    density = model.SPECTRA[spectrum](frequency, 2.0, 6.0)
    assert 4.0 * math.sqrt(density.mean() * np.ptp(frequency)) == pytest.approx(2.0, rel=0.02)
    assert frequency[density.argmax()] == pytest.approx(math.tau / 6.0, rel=0.01)


@pytest.mark.parametrize("spectrum", model.SPECTRA)
def test_a_sampled_sea_has_the_height_period_and_direction_that_were_asked_for(spectrum):
    sea = Waves(0.5, 4.0, 30.0, 10.0, spectrum).sampled(3, G)
    heights = [
        model.surface(sea, LONG_AGO + t, x, 0.0, 0.0)[0]
        for t in np.arange(0.0, 400.0, 0.5)
        for x in (0.0, 500.0)
    ]
    assert 4.0 * np.std(heights) == pytest.approx(0.5, rel=0.1)
    heaviest = np.median(sea["frequency"])  # half of the energy is above it
    assert 0.9 < heaviest / (math.tau / 4.0) < 1.4
    east, north = sea["east"].mean(), sea["north"].mean()
    assert math.degrees(math.atan2(north, east)) == pytest.approx(30.0, abs=5.0)


def test_waves_run_as_deep_water_lets_them():
    """Crests at g T / 2 pi; the height of the surface is where its water is."""
    wave = regular(0.4, 3.0)
    speed = G * 3.0 / math.tau
    for x, t in ((0.0, 0.0), (1.3, 0.7)):
        here = model.surface(wave, LONG_AGO, x, 5.0, 0.0)
        later = model.surface(wave, LONG_AGO + t, x + speed * t, 5.0, 0.0)
        assert later == pytest.approx(here, abs=1e-6)
    step = 1e-4
    at = [model.surface(wave, LONG_AGO + k * step, 0.0, 0.0, 0.0) for k in (0, 1)]
    assert (at[1][0] - at[0][0]) / step == pytest.approx(at[0][5], abs=1e-3)  # rises as its water
    beside = model.surface(wave, LONG_AGO, step, 0.0, 0.0)
    assert (beside[0] - at[0][0]) / step == pytest.approx(at[0][1], abs=1e-3)  # slope
    half = math.log(2.0) / wave["number"][0]
    deep = model.surface(wave, LONG_AGO, 0.0, 0.0, half)
    assert np.array(deep) == pytest.approx(0.5 * np.array(at[0]))


def test_waves_grow_from_still_water():
    wave = regular(0.4, 3.0)
    assert model.surface(wave, 0.0, 0.0, 0.0, 0.0) == pytest.approx(np.zeros(6))
    ratio = model.surface(wave, 3.0, 0.0, 0.0, 0.0)[0]
    ratio /= model.surface(wave, 3.0 * 1001, 0.0, 0.0, 0.0)[0]  # 1000 periods later
    assert ratio == pytest.approx(1.0 - math.exp(-3.0 / model.GROWTH))


@pytest.mark.parametrize("period", [1.1, 1.6, 3.0, 6.0])
def test_a_box_heaves_as_its_linear_equation_says(tmp_path, period):
    """m z'' = k (r - z) + c (r' - z'), r the wave by the pressure at its bottom, averaged."""
    wave = regular(0.02, period, 90.0)  # from abeam
    damping, stiffness = 900.0, WATER * G * LENGTH * WIDTH
    drag = f"<linear_drag>0 0 {damping}</linear_drag><linear_damping>300 300 300</linear_damping>"
    rows = ride(tmp_path, wave, drag).go(12 * period)[round(6 * period / 0.004) :]
    omega, number = math.tau / period, wave["number"][0]
    across = math.cos(number * 0.5 * WIDTH / math.sqrt(3.0))  # mean of its columns
    carried = 0.01 * math.exp(-number * DRAUGHT) * across
    moved = stiffness + 1j * omega * damping
    expected = carried * abs(moved / (moved - MASS * omega**2))
    z = rows[:, 2] - rows[:, 2].mean()
    assert math.sqrt(2.0) * z.std() == pytest.approx(expected, rel=0.03)


def test_a_box_lies_as_long_waves_slope_and_drifts_to_and_fro_with_their_water(tmp_path):
    wave = regular(0.4, 8.0)
    drag = "<linear_drag>400 400 900</linear_drag><linear_damping>60 60 60</linear_damping>"
    rows = ride(tmp_path, wave, drag).go(32.0)[4000:]
    pitch = 2.0 * rows[:, 4]
    assert abs(pitch).max() == pytest.approx(0.2 * wave["number"][0], rel=0.1)
    assert np.ptp(rows[:, 2]) == pytest.approx(0.4, rel=0.03)
    x = rows[:, 0] - np.linspace(rows[0, 0], rows[-1, 0], len(rows))
    assert np.ptp(x) == pytest.approx(0.4, rel=0.15)  # orbits of deep water are circles


def test_a_propeller_pushes_below_the_surface_of_its_own_place(tmp_path):
    """On a crest of 2 m the boat is above the still level, and its propellers in the water."""
    vehicle, power = powered(tmp_path, depth=0.3), []
    there = ride(tmp_path, regular(4.0, 12.0), vehicle=vehicle, t=0.0)
    for _ in range(3000):
        there.go(0.004, 0.5, 0.5)
        power.append(there.stage.power[0])
    assert max(row[2] for row in there.rows) > 1.0  # above the still surface
    assert min(power) > 0.0


def test_without_waves_water_is_still(tmp_path):
    calm = ride(tmp_path, Waves().sampled(1, G)).go(1.0)
    assert (calm == Ride(boat(tmp_path), "lake", start()).go(1.0)).all()
    flat = ride(tmp_path, regular(0.0, 3.0)).go(1.0)
    assert flat == pytest.approx(calm, abs=1e-9)


WATER_TAG = '<xtdrone:water xmlns:xtdrone="urn:xtdrone">{}</xtdrone:water>'
FIELD = '<plugin name="w" filename="libWavefieldModelPlugin.so"><wave>{}</wave></plugin>'
PUBLISHED = (
    '<plugin filename="libPublisherPlugin.so" name="vrx::PublisherPlugin">'
    '<message type="gz.msgs.Param" topic="/vrx/wavefield/parameters" every="2.0">{}</message>'
    "</plugin>"
)
MODEL = (
    '<plugin filename="gz-waves1-waves-model-system" name="gz::sim::systems::WavesModel">'
    "<static>0</static><wave>{}</wave></plugin>"
)


def world(tmp_path, text, inside=False):
    file = tmp_path / "sea.world"
    pose = "<static>1</static><pose>0 0 1.5 0 0 0</pose>"
    body = f'<model name="sea">{pose}<link name="l"/>{text}</model>' if inside else text
    file.write_text(f'<sdf version="1.6"><world name="w">{body}</world></sdf>')
    return load_world(str(file))


def test_waves_come_from_the_worlds_water(tmp_path):
    tags = "<waves><height>0.4</height><period>4</period><spectrum>regular</spectrum></waves>"
    found = world(tmp_path, WATER_TAG.format(f"<level>0.5</level>{tags}"))
    assert (found.water, found.waves) == (0.5, Waves(0.4, 4.0, spectrum="regular"))
    assert load_world("lake").waves.calm


def test_waves_come_from_vrx_and_asv_wave_sim(tmp_path):
    field = "<number>3</number><scale>2</scale><angle>0.4</angle><amplitude>0.4</amplitude>"
    field += "<period>8</period><direction>1 1</direction>"
    found = world(tmp_path, FIELD.format(field), inside=True)
    sizes, frequencies, directions, _ = np.array(found.waves.listed).T
    assert (found.water, found.water_density) == (1.5, 1025.0)
    assert sizes == pytest.approx([0.2, 0.4, 0.8])
    assert frequencies == pytest.approx(math.tau / 8.0 * np.sqrt([2.0, 1.0, 0.5]))
    assert directions == pytest.approx(math.pi / 4 + np.array([-0.4, 0.0, 0.4]))
    assert not found.remarks
    keys = {"direction": 0.5, "gain": 0.3, "period": 5, "steepness": 0}
    text = " ".join(
        f'params {{ key: "{key}" value {{ type: DOUBLE double_value: {value} }} }}'
        for key, value in keys.items()
    )
    found = world(tmp_path, PUBLISHED.format(text))
    sizes, frequencies, directions, _ = np.array(found.waves.listed).T
    assert found.water == 0.0 and directions[1] == 0.5
    assert frequencies == pytest.approx(math.tau / 5.0 * np.array([1 / 1.1, 1.0, 1.1]))
    middle = 0.0081 * G**2 * math.exp(-1.25) / (math.tau / 5.0) ** 5
    expected = 0.3 * math.sqrt(2 * middle * math.tau / 5.0 * 0.5 * (1.1 - 1 / 1.1))
    assert sizes[1] == pytest.approx(expected)
    found = world(
        tmp_path, MODEL.format("<algorithm>fft</algorithm><wind_velocity>0 5</wind_velocity>")
    )
    assert found.waves.height == pytest.approx(0.21 * 25 / G)
    assert found.waves.direction == 90.0
    regular_one = (
        "<algorithm>linear_regular</algorithm><amplitude>0.3</amplitude><period>4</period>"
    )
    found = world(tmp_path, MODEL.format(regular_one))
    assert found.waves == Waves(0.6, 4.0, 0.0, spectrum="regular")


@pytest.mark.parametrize(
    "tags, words",
    [
        ("<hight>1</hight>", "hight"),
        ("<height>-1</height>", "height of <waves> -1"),
        ("<height>1</height><height>2</height>", "appears twice"),
        ("<spectrum>jonswop</spectrum>", "did you mean 'jonswap'"),
    ],
)
def test_waves_of_a_file_that_make_no_sense_are_refused(tmp_path, tags, words):
    with pytest.raises(SdfError, match=words):
        world(tmp_path, WATER_TAG.format(f"<waves>{tags}</waves>"))


def test_waves_of_a_plugin_that_make_no_sense_are_refused(tmp_path):
    for tags, words in (("<number>0</number>", "1 to 64 waves"), ("<gain>much</gain>", "'much'")):
        with pytest.raises(SdfError, match=words):
            world(tmp_path, FIELD.format(tags), inside=True)


def test_the_option_says_them_too():
    assert Waves.parse("0.3") == Waves(0.3)
    given = "height=0.3 period=3 direction=-90 spread=5 spectrum=pierson_moskowitz start=9 seed=4"
    assert Waves.parse(given) == Waves(0.3, 3.0, -90.0, 5.0, "pierson_moskowitz", 9.0, 4)
    a, b = Waves.parse("0.3 seed=4"), Waves.parse("0.3")
    assert (a.sampled(1, G) == a.sampled(2, G)).all()
    assert (b.sampled(1, G) != b.sampled(2, G)).any()


@pytest.mark.parametrize(
    "waves, words",
    [
        ("high", "height of waves high"),
        ("0.3 0.4", "give height twice"),
        ("hight=0.3", "did you mean 'height'"),
        ("period=0.1", "0.5 to 30 s"),
        ("0.3 spectrum=sea", "spectrum of waves 'sea'"),
    ],
)
def test_options_that_make_no_sense_are_one_line(waves, words):
    with pytest.raises(XtdroneError, match=words):
        Waves.parse(waves)


def test_waves_begin_when_they_shall():
    heights = {}
    for begin in (0, 2):
        scenario = Scenario("boat", world="lake", waves=f"1 start={begin}", log="none", speed=0.0)
        with contextlib.closing(Simulation(scenario)) as simulation:
            for second in (1, 3):
                while simulation.t_us < second * 1_000_000:
                    simulation.step()
                heights[begin, second] = float(simulation.state.pos[0, 2])
    assert abs(heights[0, 1] - heights[2, 1]) > 0.01  # still water before
    assert abs(heights[2, 3] - heights[2, 1]) > 0.01


def test_waves_need_water():
    scenario = Scenario("iris", waves="0.3", log="none")
    with pytest.raises(XtdroneError, match="world 'empty' has none"):
        Simulation(scenario)
