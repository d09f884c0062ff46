"""The sensors: noise of the right size and colour, rates, delays, frames, streams."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models import (
    BarometerParameters,
    GpsParameters,
    ImuParameters,
    MagnetometerParameters,
    NoiseParameters,
    SensorError,
    SensorSuite,
)
from sensor_models.blocks import numbers, refuse_misspelt
from sensor_models.parameters import presets
from xtdrone_core import FleetState, SensorBlock
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.geodesy import to_local
from xtdrone_dynamics.quaternion import from_euler

ORIGIN = (math.radians(47.397742), math.radians(8.545594), 488.0)
FIELD = np.array([1.0e-6, 21.0e-6, -43.0e-6])
LEVEL = (0.0, 0.0, 0.0, 1.0)
READINGS = ("gyro", "accel", "mag", "baro_pressure", "gps_lat", "gps_lon", "gps_alt", "gps_vel")
EXACT = {
    "imu": {
        f"{sensor}_{name}": 0
        for sensor in ("gyroscope", "accelerometer")
        for name in (
            "noise_density",
            "random_walk",
            "turn_on_bias_sigma",
            "resolution",
            "misalignment",
            "scale_error",
        )
    },
    "magnetometer": {
        "noise_density": 0,
        "random_walk": 0,
        "turn_on_bias_sigma": 0,
        "resolution": 0,
    },
    "barometer": {"noise_density": 0, "random_walk": 0, "turn_on_bias_sigma": 0, "resolution": 0},
    "gps": {
        f"{axis}_{name}": 0
        for axis in ("horizontal", "vertical")
        for name in ("noise_density", "random_walk", "velocity_noise_density")
    },
    "airspeed": {"noise_density": 0, "turn_on_bias_sigma": 0, "resolution": 0},
    "range": {"noise_density": 0, "turn_on_bias_sigma": 0, "resolution": 0},
}


def block(kind, pos=(0.0, 0.0, 0.0), **tags):
    return SensorBlock(kind, f"my_{kind}", pos, LEVEL, tags)


def exact_block(kind, pos=(0.0, 0.0, 0.0), **tags):
    return block(kind, pos, **{**EXACT[kind], **tags})


@pytest.mark.parametrize(
    "tags, said",
    [
        ({"noise": {"stdev": 0.1}}, "stdev.*stddev"),
        ({"noise": {"stddev": 0.1}, "updaterate": 3}, "updaterate.*update_rate"),
        ({"pressets": "m8n"}, "pressets.*preset"),
        (
            {"noise": {"stddev": 0.1, "colour": "pink"}, "shape": {"stdev": 1}, "preset": "m8n"},
            None,
        ),
    ],
)
def test_a_tag_that_resembles_a_known_one_of_its_element_is_misspelt(tags, said):
    known = [("noise", "stddev"), ("noise", "mean"), ("update_rate",)]
    if said is None:
        refuse_misspelt(block("gps"), tags, known, ("preset",))
        return
    with pytest.raises(SensorError, match=said):
        refuse_misspelt(block("gps"), tags, known, ("preset",))


@pytest.mark.parametrize("count, wanted", [(1, "a number"), (3, "3 numbers")])
def test_numbers_that_are_none_are_refused_with_how_many_are_wanted(count, wanted):
    assert numbers(block("gps"), "offset", "1 2 3 4", count) == (1.0, 2.0, 3.0)[:count]
    with pytest.raises(SensorError, match=f"<offset> of gps 'my_gps' is 'x': give {wanted}$"):
        numbers(block("gps"), "offset", "x", count)


def usual(preset="rtk"):
    return (block("imu"), block("magnetometer"), block("barometer"), block("gps", preset=preset))


def suite(fleet, seed=1, **options):
    return SensorSuite(fleet, ORIGIN, FIELD, seed, **options)


def run(sensors, state, steps, names=READINGS, each=None):
    """Readings of all steps: {name: (steps, N, ...)}."""
    out = {name: [] for name in names}
    for k in range(steps):
        if each:
            each(k, state)
        batch = sensors.step(state, k * 4000)
        for name in names:
            out[name].append(getattr(batch, name).copy())
    return {name: np.array(rows) for name, rows in out.items()}


def test_parameters_in_place_of_the_vehicles_own():
    blocks = (*usual()[:3], block("gps", preset="rtk", pubRate="5", latency="0.4"))
    state = FleetState.zeros(1, 4)
    for options, wanted in (
        (
            {"changes": "gps.rate=10; gps.latency=0.2"},
            (*usual()[:3], block("gps", preset="rtk", rate="10", latency="0.2")),
        ),
        ({"changes": "gps.preset=m8n;"}, usual("m8n")),
        (
            {"gps_preset": "m8n", "changes": "gps.latency = 0.3"},
            (*usual()[:3], block("gps", preset="m8n", latency="0.3")),
        ),
    ):
        one, other = (
            run(each, state, 300) for each in (suite([blocks], **options), suite([wanted]))
        )
        assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


@pytest.mark.parametrize(
    "changes, says",
    [
        ("gps.latency", "cannot read sensors 'gps.latency'"),
        ("gsp.rate=1", "did you mean 'gps'"),
        ("gps.latencyy=1", "did you mean 'latency'"),
        ("gps.preset=m8", "did you mean 'm8n'"),
        ("gps.latency=nan", "give a number"),
        ("range.rate=5", "no vehicle has a sensor of kind"),
    ],
)
def test_parameters_that_are_refused(changes, says):
    with pytest.raises(SensorError, match=says):
        suite([usual()], changes=changes)


def test_exact_sensors_say_the_truth():
    blocks = tuple(exact_block(kind) for kind in EXACT)
    sensors = suite([blocks])
    state = FleetState.zeros(1, 4)
    state.pos[0], state.vel[0] = (300.0, -200.0, 50.0), (3.0, -2.0, 1.0)
    state.ang_vel[0] = (0.1, -0.2, 0.3)
    state.quat[0] = from_euler(0.0, 0.0, math.pi / 2)  # nose to the north
    state.acc[0] = (0.0, 2.0, 0.0)
    for k in range(26):
        batch = sensors.step(state, k * 4000)
    np.testing.assert_allclose(batch.gyro[0], (0.1, -0.2, 0.3))
    np.testing.assert_allclose(batch.accel[0], (2.0, 0.0, GRAVITY), atol=1e-12)
    np.testing.assert_allclose(batch.mag[0], (FIELD[1], -FIELD[0], FIELD[2]), atol=1e-18)
    east, north = to_local(batch.gps_lat[0], batch.gps_lon[0], *ORIGIN[:2])
    np.testing.assert_allclose((east, north), (300.0, -200.0), atol=1e-5)
    assert batch.gps_alt[0] == pytest.approx(538.0)
    np.testing.assert_allclose(batch.gps_vel[0], (3.0, -2.0, 1.0))
    # The ISA at 538 m, from its table of layers: 288.15 K - 6.5 K/km.
    assert batch.baro_temperature[0] == pytest.approx(284.653)
    assert batch.baro_pressure[0] == pytest.approx(101325 * (284.653 / 288.15) ** 5.2559, rel=1e-5)


@pytest.mark.parametrize(
    "kind,flag,period",
    [("magnetometer", "mag_new", 3), ("barometer", "baro_new", 5), ("gps", "gps_new", 25)],
)
def test_rates_are_whole_steps(kind, flag, period):
    sensors = suite([usual()])
    new = run(sensors, FleetState.zeros(1, 4), 201, [flag])[flag][:, 0]
    assert np.flatnonzero(new).tolist() == list(range(25 if kind == "gps" else 0, 201, period))


@pytest.mark.parametrize(
    "rate,steps", [(100, 3), (20.5, 13), (300, 1), (250, 1), (125, 2), (83, 3), (84, 3)]
)
def test_rate_between_two_steps_means_the_next_step(rate, steps):
    sensors = suite([(block("imu"), block("magnetometer", pubRate=str(rate)))])
    new = run(sensors, FleetState.zeros(1, 4), 40, ["mag_new"])["mag_new"][:, 0]
    assert np.flatnonzero(new).tolist() == list(range(0, 40, steps))


@pytest.mark.parametrize("rate", [0, -5])
def test_rate_that_is_not_positive_is_refused(rate):
    with pytest.raises(SensorError, match="number above 0"):
        suite([(block("imu"), block("magnetometer", pubRate=str(rate)))])


@pytest.mark.parametrize("latency,steps", [(0, 0), (0.04, 10), (0.1, 25), (0.22, 55)])
def test_gps_tells_late_what_was_true(latency, steps):
    sensors = suite([(block("imu"), exact_block("gps", latency=latency))])
    state = FleetState.zeros(1, 4)
    seen = 0
    for k in range(200):
        state.pos[0, 2] = 0.1 * k
        batch = sensors.step(state, k * 4000)
        assert batch.gps_new[0] == (k >= steps and (k - steps) % 25 == 0)
        if batch.gps_new[0]:
            seen += 1
            assert batch.gps_t_us[0] == (k - steps) * 4000
            assert batch.gps_alt[0] - ORIGIN[2] == pytest.approx(0.1 * (k - steps))
    assert seen >= 5


@pytest.mark.parametrize(
    "pos,force",
    [
        ((0.1, 0, 0), (-0.4, 0, GRAVITY)),
        ((0, 0.1, 0), (0, -0.4, GRAVITY)),
        ((0, 0, 0.1), (0, 0, GRAVITY)),
    ],
)
def test_accelerometer_off_the_centre_feels_the_turn(pos, force):
    sensors = suite([(exact_block("imu", pos),)])
    state = FleetState.zeros(1, 4)
    state.ang_vel[0] = (0, 0, 2.0)
    for k in range(3):
        batch = sensors.step(state, k * 4000)
    np.testing.assert_allclose(batch.accel[0], force, atol=1e-12)


def test_accelerometer_off_the_centre_feels_every_turn_and_its_change():
    place, rate, change = (
        np.array([0.1, -0.2, 0.3]),
        np.array([1.0, -2.0, 3.0]),
        np.array([4, 5, 6]),
    )
    sensors = suite([(exact_block("imu", tuple(place)),)])
    state = FleetState.zeros(1, 4)
    for k in range(3):
        state.ang_vel[0] = rate + change * 0.004 * (k - 2)
        batch = sensors.step(state, k * 4000)
    turned = np.cross(change, place) + np.cross(rate, np.cross(rate, place))
    np.testing.assert_allclose(batch.accel[0], turned + (0, 0, GRAVITY), rtol=1e-9)


def test_noise_of_a_slower_sensor_has_the_density_at_its_own_rate():
    sensors = suite([(block("imu"), exact_block("magnetometer", noise_density=1e-7))] * 20)
    batches = run(sensors, FleetState.zeros(20, 4), 1500, ["mag", "mag_new"])
    rows = batches["mag"][batches["mag_new"][:, 0]]
    assert len(rows) == 500
    assert (rows - rows.mean(axis=0)).std() == pytest.approx(1e-7 * math.sqrt(250 / 3), rel=0.03)


def test_antenna_off_the_centre_moves_with_the_turn():
    sensors = suite([(exact_block("imu"), exact_block("gps", (0.2, 0, 0.1), latency=0))])
    state = FleetState.zeros(1, 4)
    state.ang_vel[0] = (0, 0, 2.0)
    batch = sensors.step(state, 0)
    np.testing.assert_allclose(batch.gps_vel[0], (0, 0.4, 0), atol=1e-12)
    east, north = to_local(batch.gps_lat[0], batch.gps_lon[0], *ORIGIN[:2])
    np.testing.assert_allclose((east, north, batch.gps_alt[0] - 488), (0.2, 0, 0.1), atol=1e-6)


@pytest.mark.parametrize(
    "channel,tag,white", [("gyro", "gyroscope", 2e-3), ("accel", "accelerometer", 3e-2)]
)
def test_white_noise_has_the_density_given(channel, tag, white):
    tags = {f"{tag}_noise_density": white}
    sensors = suite([(exact_block("imu", **tags),)] * 20)
    rows = run(sensors, FleetState.zeros(20, 4), 2000, [channel])[channel]
    rows = rows - rows.mean(axis=0)
    assert rows.std() == pytest.approx(white * math.sqrt(250), rel=0.02)
    neighbours = (rows[1:] * rows[:-1]).mean() / rows.var()
    assert abs(neighbours) < 0.01


def test_bias_is_the_gauss_markov_process_given():
    walk, time = 0.01, 2.0
    noise = NoiseParameters(0.0, walk, time, 0.0)
    stationary = walk * math.sqrt(time / 2)
    assert noise.bias_step(1e6) == pytest.approx((0.0, stationary))
    tags = {
        "horizontal_random_walk": walk,
        "horizontal_bias_correlation_time": time,
        "vertical_random_walk": walk,
        "vertical_bias_correlation_time": time,
        "updateRate": 250,
        "latency": 0,
    }
    sensors = suite([(block("imu"), exact_block("gps", **tags))] * 180)
    rows = run(sensors, FleetState.zeros(180, 4), 2000, ["gps_alt"])["gps_alt"] - ORIGIN[2]
    assert rows.std() == pytest.approx(stationary, rel=0.05)
    assert rows[0].std() == pytest.approx(stationary, rel=0.15)
    lag = int(time / 0.004)  # one correlation time: the correlation is 1/e
    assert (rows[lag:] * rows[:-lag]).mean() / rows.var() == pytest.approx(math.exp(-1), abs=0.06)


def test_turn_on_bias_stays_and_the_walk_begins_at_zero():
    walk, time, turn_on, n = 0.1, 2.0, 0.3, 200
    stationary = walk * math.sqrt(time / 2)
    tags = {
        f"{part}_{name}": value
        for part in ("gyroscope", "accelerometer")
        for name, value in (
            ("random_walk", walk),
            ("bias_correlation_time", time),
            ("turn_on_bias_sigma", turn_on),
        )
    }
    sensors = suite([(exact_block("imu", **tags),)] * n)
    rows = run(sensors, FleetState.zeros(n, 4), 5000, ["gyro", "accel"])
    for values, true in ((rows["gyro"], (0.0, 0.0, 0.0)), (rows["accel"], (0.0, 0.0, GRAVITY))):
        error = values - true
        assert error[0].std() == pytest.approx(turn_on, rel=0.1)
        grown = error - error[0]
        assert grown[1].std() == pytest.approx(walk * math.sqrt(0.004), rel=0.1)
        # Five correlation times later the walk has forgotten its start; the constant is whole.
        assert grown[2500:].std() == pytest.approx(stationary, rel=0.1)
        assert error[2500:].mean(axis=0).std() > 0.9 * turn_on


@pytest.mark.parametrize("name,sigmas", [("rtk", (0.05, 0.05, 0.08)), ("m8n", (1.0, 1.0, 1.5))])
def test_gps_presets_start_with_their_standing_bias(name, sigmas):
    n = 400
    batch = run(suite([usual(name)] * n), FleetState.zeros(n, 4), 26, READINGS)
    local = np.array(
        [
            to_local(lat, lon, *ORIGIN[:2])
            for lat, lon in zip(batch["gps_lat"][-1], batch["gps_lon"][-1])
        ]
    )
    local = np.column_stack([local, batch["gps_alt"][-1] - ORIGIN[2]])
    np.testing.assert_allclose(local.std(axis=0), sigmas, rtol=0.12)
    assert np.all(np.abs(local.mean(axis=0)) < 4 * np.array(sigmas) / math.sqrt(n))


def test_the_scenarios_gps_preset_replaces_the_vehicles():
    batch = suite([usual("m8n")] * 2, gps_preset="rtk").step(FleetState.zeros(2, 4), 0)
    assert batch.gps_fix.tolist() == [6, 6]
    assert batch.gps_eph.tolist() == [0.05, 0.05]


def test_same_seed_same_bits_another_seed_others():
    a, b, c = (run(suite([usual()] * 3, seed), FleetState.zeros(3, 4), 120) for seed in (5, 5, 6))
    for name in READINGS:
        assert np.array_equal(a[name], b[name])
        assert not np.array_equal(a[name], c[name])


def test_noise_of_a_vehicle_does_not_depend_on_the_fleet():
    small = run(suite([usual()] * 4), FleetState.zeros(4, 4), 120)
    large = run(suite([usual()] * 40), FleetState.zeros(40, 4), 120)
    for name in READINGS:
        assert np.array_equal(small[name][:, 3], large[name][:, 3])
        assert not np.array_equal(large[name][:, 3], large[name][:, 4])


def test_readings_stop_at_range_and_step_in_bits():
    tags = {"gyroscope_range": 1.0, "accelerometer_resolution": 0.25}
    sensors = suite([(exact_block("imu", **tags),)])
    state = FleetState.zeros(1, 4)
    state.ang_vel[0] = (5.0, -5.0, 0.5)
    state.acc[0] = (0.3, 0.0, 0.0)
    batch = sensors.step(state, 0)
    assert batch.gyro[0].tolist() == [1.0, -1.0, 0.5]
    assert batch.accel[0].tolist() == [0.25, 0.0, 9.75]


def test_barometer_drifts_as_told():
    sensors = suite([(block("imu"), exact_block("barometer", baroDriftPaPerSec="2.5"))])
    rows = run(sensors, FleetState.zeros(1, 4), 251, ["baro_pressure"])["baro_pressure"]
    assert rows[-1, 0] - rows[0, 0] == pytest.approx(2.5)


def test_sitl_names_are_read_in_their_units():
    imu = ImuParameters.from_block(
        block(
            "imu",
            gyroscopeNoiseDensity="0.001",
            accelerometerTurnOnBiasSigma="0.3",
            robotNamespace="iris",
        )
    )
    assert imu.gyroscope.noise_density == 0.001
    assert imu.accelerometer.turn_on_bias_sigma == 0.3
    mag = MagnetometerParameters.from_block(
        block("magnetometer", noiseDensity="0.0004", randomWalk="6.4e-6", pubRate="50")
    )
    assert mag.noise.noise_density == pytest.approx(4e-8)
    assert mag.noise.random_walk == pytest.approx(6.4e-10)
    assert mag.rate == 50
    assert BarometerParameters.from_block(block("barometer", pubRate="25")).rate == 25


def test_sitl_gps_random_walk_means_millimetres():
    gps = GpsParameters.from_block(
        block("gps", gpsNoise="true", gpsXYRandomWalk="2.0", gpsXYNoiseDensity="2e-4")
    )
    # That plugin's recursion b += 2 sqrt(dt) w dt - b/60 stands at 2 dt^1.5 / sqrt(2/60 - 1/3600).
    standing = 2 * 0.004**1.5 / math.sqrt(2 / 60 - 1 / 3600)
    assert gps.horizontal.start_bias_sigma == pytest.approx(standing, rel=0.01)
    assert gps.horizontal.white_sigma(0.2) == pytest.approx(2e-4 * math.sqrt(0.004))
    assert gps.rate == 5
    assert GpsParameters.from_block(block("gps", gpsXYRandomWalk="2")).horizontal.random_walk == 0


def test_a_rate_of_its_own_keeps_the_presets_noise():
    slow = GpsParameters.from_block(block("gps", preset="rtk", updateRate="5"))
    usual = GpsParameters.from_block(block("gps", preset="rtk"))
    assert (slow.rate, usual.rate) == (5, 10)
    assert dataclasses.replace(slow, rate=10.0) == usual


@pytest.mark.parametrize(
    "tags,kind,words",
    [
        ({"gyroscopeNoisDensity": "1"}, "imu", "did you mean <gyroscopeNoiseDensity>"),
        ({"noise_density": "much"}, "magnetometer", "give a number"),
        ({"noise_density": "-1"}, "barometer", "from 0"),
        ({"preset": "rtkk"}, "gps", "did you mean 'rtk'"),
        ({"latency": "0.9"}, "gps", "too long"),
        ({"latency": "-0.1"}, "gps", "from 0"),
        ({"biasCorrelationTime": "-1"}, "magnetometer", "from 0"),
        ({"gyroscope_range": "-1"}, "imu", "above 0"),
        ({"accelerometer_resolution": "-1"}, "imu", "from 0"),
        ({"gyroscopeNoiseDensity": "nan"}, "imu", "give a number"),
        ({"horizontal_velocity_bias_sigma": "-1"}, "gps", "from 0"),
        ({"latency": "1e30"}, "gps", "too long"),
        ({"satellites": "300"}, "gps", "whole number from 0 to 100"),
        ({"fix": "1.5"}, "gps", "whole number from 0 to 8"),
        ({"eph": "-1"}, "gps", "from 0"),
        ({"gpsNoise": "yes"}, "gps", "give true or false"),
        ({"gpsXYRandomWalk": "x", "gpsNoise": "0"}, "gps", "give a number"),
        ({"minimum": "2e5"}, "barometer", "minimum < maximum"),
        ({"hard_iron": "1 2"}, "magnetometer", "give 3 numbers"),
        ({"soft_irn": "1 2"}, "magnetometer", "did you mean <soft_iron>"),
        ({"gyroscope_misalignment": "-1"}, "imu", "from 0"),
        ({"hdop": "0"}, "gps", "above 0"),
        ({"dropout_rate": "-1"}, "gps", "from 0"),
        ({"min_distance": "5", "max_distance": "2"}, "range", "minimum < maximum"),
        ({"horizontal_bias_correlation_time": "-1"}, "gps", "from 0"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(tags, kind, words):
    with pytest.raises(SensorError, match=words) as caught:
        suite([(block("imu"), block(kind, **tags)) if kind != "imu" else (block(kind, **tags),)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "blocks,words", [((), "without an imu"), ((block("imu"), block("imu")), "second imu")]
)
def test_vehicles_need_one_imu(blocks, words):
    with pytest.raises(SensorError, match=words):
        suite([blocks])


def test_time_between_steps_is_refused():
    with pytest.raises(SensorError, match="4000"):
        suite([usual()]).step(FleetState.zeros(1, 4), 1000)


@pytest.mark.parametrize(
    "kind,name", [(kind, name) for kind, names in presets().items() for name in names]
)
def test_every_preset_makes_finite_readings(kind, name):
    blocks = [block(k) for k in presets() if k != kind] + [block(kind, preset=name)]
    rows = run(suite([tuple(blocks)]), FleetState.zeros(1, 4), 60)
    assert all(np.isfinite(values[25:]).all() for values in rows.values())


def test_vehicle_without_gps_has_no_fix():
    batch = suite([(block("imu"),)]).step(FleetState.zeros(1, 4), 0)
    assert not batch.gps_new[0] and not batch.mag_new[0] and batch.gps_fix[0] == 0


def test_misalignment_mixes_the_axes_by_the_angle_given():
    n = 300
    tags = {"gyroscope_misalignment": 0.02, "gyroscope_scale_error": 0.05}
    state = FleetState.zeros(n, 4)
    state.ang_vel[:] = (1.0, 0.0, 0.0)
    gyro = suite([(exact_block("imu", **tags),)] * n).step(state, 0).gyro
    np.testing.assert_allclose(gyro.std(axis=0), (0.05, 0.02, 0.02), rtol=0.15)
    np.testing.assert_allclose(gyro.mean(axis=0), (1.0, 0.0, 0.0), atol=0.01)


def test_magnetometer_feels_the_vehicles_iron():
    iron = "1.1 0.1 0  0.1 0.9 0  0 0 1"
    sensors = suite(
        [(block("imu"), exact_block("magnetometer", hard_iron="1e-6 -2e-6 3e-6", soft_iron=iron))]
    )
    expected = np.array(iron.split(), float).reshape(3, 3) @ FIELD + (1e-6, -2e-6, 3e-6)
    np.testing.assert_allclose(sensors.step(FleetState.zeros(1, 4), 0).mag[0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "wind,pressure",
    [
        ((0, 0, 0), 0.5 * 10.0**2),
        ((-5, 0, 0), 0.5 * 225.0),
        ((0, 8, 0), 0.5 * 10.0**2),
        ((15, 0, 0), 0.0),
    ],
)
def test_pitot_feels_the_air_that_streams_in(wind, pressure):
    sensors = suite([(block("imu"), exact_block("airspeed"))])
    state = FleetState.zeros(1, 4)
    state.vel[0] = (10.0, 0.0, 0.0)
    batch = sensors.step(state, 0, np.array([wind], dtype=float))
    density = 1.225 * (1 - 0.0065 * 488.0 / 288.15) ** 4.2559
    assert batch.airspeed_new[0]
    assert batch.airspeed_pressure[0] == pytest.approx(pressure * density, rel=1e-4, abs=1e-9)


DOWN = tuple(from_euler(0.0, math.pi / 2, 0.0))


@pytest.mark.parametrize(
    "height,roll,distance",
    [
        (10.0, 0.0, 9.9),
        (10.0, 0.5, 10 / math.cos(0.5) - 0.1),
        (300.0, 0.0, math.inf),
        (0.15, 0.0, -math.inf),
        (10.0, math.pi, math.inf),
    ],
)
def test_range_finder_sees_the_ground_along_its_beam(height, roll, distance):
    beam = SensorBlock("range", "beam", (0.0, 0.0, -0.1), DOWN, EXACT["range"])
    state = FleetState.zeros(1, 4)
    state.pos[0, 2] = height
    state.quat[0] = from_euler(roll, 0.0, 0.0)
    batch = suite([(block("imu"), beam)]).step(state, 0)
    assert batch.range_new[0] and batch.range_distance[0] == pytest.approx(distance)


def test_range_finder_asks_the_engine_when_due():
    asked = []

    def cast(vehicle, point, direction):
        asked.append(vehicle)
        return 3.0

    beam = SensorBlock(
        "range",
        "beam",
        (0.0, 0.0, 0.0),
        DOWN,
        {**EXACT["range"], "update_rate": "25", "ray": {"range": {"min": "0.5", "max": "40"}}},
    )
    sensors = suite([(block("imu"),), (block("imu"), beam)], cast=cast)
    for k in range(20):
        batch = sensors.step(FleetState.zeros(2, 4), k * 4000)
        assert batch.range_new.tolist() == [False, k % 10 == 0]
    assert asked == [1, 1] and batch.range_distance.tolist() == [0.0, 3.0]


def test_gps_loses_its_fix_as_often_and_as_long_as_told():
    n, steps = 40, 10_000
    sensors = suite(
        [(block("imu"), exact_block("gps", dropout_rate="0.2", dropout_duration="2", latency="0"))]
        * n
    )
    rows = run(sensors, FleetState.zeros(n, 4), steps, ["gps_fix", "gps_new"])
    fix = rows["gps_fix"][::25]
    assert set(np.unique(fix)) == {0, 3}
    assert not (rows["gps_new"] & (rows["gps_fix"] == 0)).any()
    # Lost for 2 s (and the rest of a period) after 5 s with a fix: two of seven.
    assert (fix == 0).mean() == pytest.approx(2.05 / 7.05, abs=0.03)
    assert (np.diff(fix, axis=0) < 0).sum() / (n * 40.0) == pytest.approx(1 / 7.05, rel=0.15)


def test_dilution_of_precision_scales_the_errors():
    usual, poor = (
        GpsParameters.from_block(block("gps", preset="m8n", **tags))
        for tags in ({}, {"hdop": "1.8"})
    )
    assert poor.horizontal.noise_density == pytest.approx(2 * usual.horizontal.noise_density)
    assert poor.horizontal.start_bias_sigma == pytest.approx(2.0)
    assert (poor.eph, poor.epv, poor.vertical) == (2.0, usual.epv, usual.vertical)
    batch = suite([(block("imu"), block("gps", hdop="1.8"))]).step(FleetState.zeros(1, 4), 0)
    assert (batch.gps_hdop[0], batch.gps_vdop[0]) == (1.8, 1.4)
