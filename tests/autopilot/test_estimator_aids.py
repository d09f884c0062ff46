"""Range finder, airspeed and external vision in the estimator, each against a flight without it."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flights
from flights import FIELD, ORIGIN, REST, N, block, fly, rms, sensors
from xtdrone_autopilot.estimation.air_data import fuse_sideslip
from xtdrone_autopilot.estimation.ekf import Ekf, EkfParameters
from xtdrone_autopilot.estimation.fusion import fuse_others
from xtdrone_autopilot.estimation.gnss import GPS_HEIGHT, GPS_POSITION, fuse_gps
from xtdrone_autopilot.estimation.output import report
from xtdrone_autopilot.estimation.state import (
    ATT,
    HISTORY_STEPS,
    PAST_STATE,
    POS,
    SIZE,
    VEL,
    WIND as WIND_STATE,
    Step,
    VehicleEkf,
)
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.estimator_flags import (
    AIRSPEED_USED,
    GPS_USED,
    HEIGHT_BY_BARO,
    HEIGHT_BY_RANGE,
    MAG_USED,
    RANGE_USED,
    SIDESLIP_USED,
    VISION_USED,
)
from xtdrone_core.state import SENSORS
from xtdrone_dynamics.constants import SEA_LEVEL_PRESSURE
from xtdrone_dynamics.earth.atmosphere import density

DOWN = (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5))  # turns the block's x axis to the ground
WIND = np.tile([4.0, -3.0, 0.0], (N, 1))
GPS_LOST = 7500  # step [4 ms]


def low(t):
    """Climbs to 2 m and stays."""
    pos = np.zeros((len(t), 3))
    pos[:, 2] = 2.0 * flights.ramp(t, REST, 4)
    return pos, np.zeros(len(t))


def bobbing(t):
    """Up and down by 1 m at up to 2 m/s, 2 m over the ground."""
    pos, yaw = low(t)
    pos[:, 2] += np.sin(2.0 * (t - REST - 4)) * flights.ramp(t, REST + 4, 2)
    return pos, yaw


def suite(gps="rtk", **more):
    return sensors(N, gps, more=(block("range", (0.0, 0.0, -0.1), DOWN), block("airspeed")), **more)


@pytest.mark.parametrize("phase", [0.0, 0.8, 1.6])
def test_the_rocking_of_a_deck_is_no_bias_of_the_gyroscopes(phase):
    """On a boat that swings to and fro by 4 degrees every 3 s, from the first sample on."""

    def deck(t):
        pos = np.zeros((len(t), 3))
        pos[:, 0] = 0.157 * np.sin(2.0 * np.pi * t / 3.0 + phase)
        return pos, np.zeros(len(t))

    ekf = Ekf(N, ORIGIN, FIELD)
    ekf.landed[:] = True
    _, log = fly(deck, 12, ekf=ekf)
    assert np.degrees(np.abs(log["turn"])).max() < 6.0  # the heading, which is fixed by 5 s
    assert np.degrees(np.abs(log["turn"][-100:, :, :2])).max() < 3.0  # as an accelerometer's bias
    assert np.abs(ekf.gyro_bias).max() < 0.03
    assert np.abs(log["vel"]).max() < 0.15


def wander(log):
    """How far the height error moves about its mean, RMS [m]."""
    error = log["pos"][:, :, 2]
    return np.sqrt(np.mean((error - error.mean(axis=0)) ** 2))


@pytest.fixture(scope="module")
def low_without_range():
    return fly(low, 30, suite=suite("m8n"), since=10, EKF2_RNG_CTRL=0)


@pytest.mark.slow
def test_range_finder_steadies_the_height_near_the_ground(low_without_range):
    _, without = low_without_range
    ekf, log = fly(low, 30, suite=suite("m8n"), since=10)
    assert np.all(ekf.flags & RANGE_USED)
    assert wander(log) < 0.8 * wander(without)
    np.testing.assert_allclose(ekf.pos[:, 2] - ekf.terrain, 2.0, atol=0.15)
    assert np.all(np.isnan(low_without_range[0].terrain))
    assert not np.any(low_without_range[0].flags & RANGE_USED)


def test_range_finder_as_the_height_reference(low_without_range):
    _, without = low_without_range
    ekf, log = fly(low, 30, suite=suite("m8n"), since=10, EKF2_HGT_REF=HEIGHT_BY_RANGE)
    assert wander(log) < 0.05 < wander(without)
    assert np.all(ekf.flags & GPS_USED) and not ekf.reset_count.any()


@pytest.mark.slow
@pytest.mark.parametrize("control, moves", [(1, False), (2, True)])
def test_high_above_the_ground_range_aids_only_where_it_is_told_to(control, moves):
    def roof(batch, k):  # 8 m up, the ground rises by 1 m
        if k >= 3500:
            batch.range_distance -= 1.0

    def high(t):
        pos, yaw = low(t)
        return 4 * pos, yaw

    ekf, _ = fly(high, 18, suite=suite(), spoil=roof, EKF2_RNG_CTRL=control)
    flat, _ = fly(high, 18, suite=suite(), EKF2_RNG_CTRL=control)
    moved = np.abs(ekf.pos[:, 2] - flat.pos[:, 2])  # the noise is the same in both
    assert np.all(moved > 0.005) if moves else np.all(moved < 1e-6)
    if not moves:
        np.testing.assert_allclose(ekf.terrain, 1.0, atol=0.35)


def test_barometer_as_the_height_reference():
    def sink(batch, k):  # 8 m of height within 20 s
        batch.baro_pressure -= 8.0 * 11.3 * min(1.0, k / 5000)

    ekf, log = fly(
        low, 25, suite=suite(), since=24, spoil=sink, EKF2_HGT_REF=HEIGHT_BY_BARO, EKF2_RNG_CTRL=0
    )
    assert np.all(log["pos"][:, :, 2] > 4.0)  # it believes the barometer, as it was told
    assert np.all(ekf.flags & GPS_USED)


def lose_gps(batch, k):
    if k >= GPS_LOST:
        batch.gps_new[:] = False


def late(name, steps):
    """A spoil that hands the readings of one sensor on `steps` steps after they were taken."""
    kept = {}

    def spoil(batch, k):
        new = f"{name.split('_')[0]}_new"
        kept[k] = getattr(batch, name).copy(), getattr(batch, new).copy()
        value, fresh = kept.pop(k - steps, (kept[k][0], False))
        getattr(batch, name)[:], getattr(batch, new)[:] = value, fresh

    return spoil


def test_late_ranges_count_at_their_own_time():
    error = {}
    for delay in (0, 100):
        _ekf, log = fly(
            bobbing,
            25,
            suite=suite(),
            since=15,
            spoil=late("range_distance", 25),
            EKF2_RNG_DELAY=delay,
            EKF2_HGT_REF=HEIGHT_BY_RANGE,
        )
        error[delay] = wander(log)
    assert error[100] < 0.02 < 0.05 < error[0]


def test_ranges_that_cannot_be_are_left_out():
    ratios = []

    def mirror(batch, k):
        if k >= 2500 and k % 260 == 0:
            batch.range_distance[:] = 40.0

    suite_, ekf = suite(), Ekf(N, ORIGIN, FIELD)
    step = ekf.step
    ekf.step = lambda *args: (step(*args), ratios.append(ekf.test_ratio("range").copy()))
    _, log = fly(low, 20, suite=suite_, ekf=ekf, since=10, spoil=mirror)
    assert np.max(ratios) > 1 and np.abs(ekf.terrain).max() < 0.5
    assert np.abs(log["pos"][:, :, 2]).max() < 0.4


@pytest.mark.slow
def test_airspeed_tells_the_wind():
    ekf, _log = fly(flights.circles, 40, suite=suite(), wind=WIND, since=30, EKF2_ARSP_THR=3)
    np.testing.assert_allclose(ekf.wind, WIND[:, :2], atol=0.3)
    assert np.all(ekf.flags & AIRSPEED_USED)
    still, _ = fly(flights.circles, 20, suite=suite(), wind=WIND)
    assert np.all(np.isnan(still.wind)) and not np.any(still.flags & AIRSPEED_USED)


def winged(turn):
    """Flight at 15 m/s through the air, nose into it, that turns by `turn` [rad/s]."""

    def flight(t):
        ramp = flights.ramp(t, REST, 5)
        yaw = turn * flights.integrated(flights.ramp(t, REST + 5, 2))
        air = 15.0 * np.stack([np.cos(yaw), np.sin(yaw), np.zeros(len(t))], axis=1)
        return flights.integrated(ramp[:, None] * (air + WIND[0])), yaw

    return flight


def glide(turn, seconds, **parameters):
    """Such a flight; it counts as one on the wings from 8 s on."""
    ekf = Ekf(N, ORIGIN, FIELD)

    def spread_wings(batch, k):
        ekf.on_wings[:] = k * flights.DT > REST + 5

    return fly(
        winged(turn),
        seconds,
        suite=suite(),
        ekf=ekf,
        wind=WIND,
        since=seconds - 2,
        spoil=spread_wings,
        **parameters,
    )[0]


@pytest.mark.slow
def test_sideslip_tells_the_wind_in_turns():
    ekf = glide(0.3, 60, EKF2_FUSE_BETA=1)
    np.testing.assert_allclose(ekf.wind, WIND[:, :2], atol=0.1)  # found 0.033
    assert np.all(ekf.flags & SIDESLIP_USED) and ekf.test_ratio("sideslip").max() < 0.05
    without = glide(0.3, 15)
    assert np.all(np.isnan(without.wind)) and not np.any(without.flags & SIDESLIP_USED)


@pytest.mark.slow
def test_sideslip_tells_the_wind_across_a_straight_flight():
    """The airspeed tells that along the nose: 0.11 m/s are left across it, 0.9 to 1.9 without."""
    with_it, without = (
        glide(0.0, 40, EKF2_ARSP_THR=3, EKF2_FUSE_BETA=fused).wind[:, 1] for fused in (1, 0)
    )
    assert abs(with_it - WIND[0, 1]).max() < 0.3 < 0.7 < abs(without - WIND[0, 1]).min()


def vehicle_of(ekf, **tuning):
    """The records of an estimator's first vehicle as kernels take them, with a history of zeros."""
    return VehicleEkf(
        EkfParameters.load(**tuning).record(),
        ParameterStore(1).values[0],
        np.zeros(1, SENSORS)[0],
        ekf.records[0],
        ekf.filters[0],
        np.zeros(HISTORY_STEPS, PAST_STATE),
        ekf.covariances[0].copy(),
        np.zeros((6, SIZE)),
    )


def test_sideslip_has_the_derivatives_of_finite_differences():
    ekf = glide(0.3, 12, EKF2_FUSE_BETA=1)
    vehicle = vehicle_of(ekf)
    state, estimate, work = vehicle.state, vehicle.estimate, vehicle.work
    fuse_sideslip(vehicle, ekf.t_us)

    def slip(changed):
        turn = Rotation.from_rotvec(changed[ATT : ATT + 3]) * Rotation.from_quat(estimate["quat"])
        through = state["vel"] + changed[VEL : VEL + 3]
        through[:2] -= estimate["wind"] + changed[WIND_STATE : WIND_STATE + 2]
        ahead, span, _ = turn.inv().apply(through)
        return span / ahead

    step = 1e-6 * np.eye(SIZE)
    expected = [(slip(row) - slip(-row)) / 2e-6 for row in step]
    np.testing.assert_allclose(work[1], expected, atol=1e-7)


@pytest.mark.parametrize("temperature, ratio", [(0.0, 1.0), (288.15, 1.0), (144.075, 2.0)])
def test_the_airspeed_is_of_the_density_that_was_measured_or_of_the_standard_one(
    temperature, ratio
):
    """Half the temperature is twice the density; a temperature of 0 K was not measured."""
    vehicle = vehicle_of(Ekf(1, ORIGIN, FIELD))
    vehicle.params["EKF2_ARSP_THR"], vehicle.params["EKF2_ASP_DELAY"] = 1.0, 0.0
    vehicle.state["position_t"], vehicle.state["vel"][0] = 0, 10.0 / math.sqrt(ratio)
    vehicle.estimate["airspeed_axis"] = 1.0, 0.0, 0.0
    vehicle.history["quat"][:] = 0.0, 0.0, 0.0, 1.0
    vehicle.cov[:] = np.eye(SIZE)
    readings = vehicle.readings
    readings["airspeed_new"], readings["airspeed_pressure"] = True, 0.5 * density(0.0) * 10.0**2
    readings["baro_pressure"], readings["baro_temperature"] = SEA_LEVEL_PRESSURE, temperature
    times = np.zeros(HISTORY_STEPS, dtype=np.int64)
    fuse_others(vehicle, Step((0.0, 0.0, 0.0), FIELD, 0.004, 0, times, 1))
    assert vehicle.state["airspeed_t"] == 0
    assert vehicle.work[0, VEL] == pytest.approx(0.0, abs=1e-6)  # the speed needs no correction


def test_told_deviations_are_of_the_covariance_and_of_the_position_of_the_reference():
    vehicle = vehicle_of(Ekf(1, ORIGIN, FIELD))
    vehicle.cov[:] = np.diag(np.arange(1.0, SIZE + 1.0) ** 2)
    vehicle.state["ref_eph"], vehicle.state["ref_epv"] = 24.0, 40.0
    report(vehicle, 0)
    np.testing.assert_allclose(vehicle.estimate["att_std"], (1.0, 2.0, 3.0))
    np.testing.assert_allclose(vehicle.estimate["vel_std"], (4.0, 5.0, 6.0))
    np.testing.assert_allclose(vehicle.estimate["pos_std"], (25.0, math.hypot(8.0, 24.0), 41.0))


def fix(vehicle, pos, accuracy):
    """Fuses a fix at rest, without delay, of that place and (horizontal, vertical) accuracy [m]."""
    fuse_gps(vehicle, (0, 0, 0.0), 0, 0.0, np.array(pos), np.zeros(3), accuracy)


@pytest.mark.parametrize("control, used", [(0, False), (6, False), (1, True), (7, True)])
def test_a_first_fix_counts_where_its_position_is_wanted(control, used):
    vehicle = vehicle_of(Ekf(1, ORIGIN, FIELD))
    vehicle.params["EKF2_GPS_CTRL"] = control
    fix(vehicle, (1.0, 2.0, 3.0), (0.5, 2.0))
    np.testing.assert_array_equal(vehicle.state["pos"], (1.0, 2.0, 3.0) if used else np.zeros(3))
    assert (vehicle.state["position_t"] == 0) == used


def test_a_gps_that_returns_beside_vision_adds_its_own_uncertainty():
    vehicle = vehicle_of(Ekf(1, ORIGIN, FIELD), ready_fixes=1)
    vehicle.params["EKF2_GPS_CTRL"] = GPS_POSITION | GPS_HEIGHT
    state = vehicle.state
    state["position_t"], state["vision_t"], state["gps_lost"] = 0, 0, True
    fix(vehicle, (3.0, -4.0, 5.0), (0.5, 2.0))
    np.testing.assert_allclose(np.diag(vehicle.cov)[POS : POS + 3], (0.25, 0.25, 4.0))
    np.testing.assert_allclose(state["slew"], (3.0, -4.0, 5.0))
    assert not state["gps_lost"]


@pytest.mark.slow
def test_airspeed_carries_on_where_gps_is_lost():
    ends = [
        fly(
            flights.circles,
            50,
            suite=suite(),
            wind=WIND,
            since=30,
            spoil=lose_gps,
            EKF2_ARSP_THR=threshold,
        )[1]
        for threshold in (3.0, 0.0)
    ]
    assert np.linalg.norm(ends[0]["pos"][-1][:, :2], axis=1).max() < 3.0
    assert rms(ends[0]["vel"])[:2].max() < 0.15
    assert np.linalg.norm(ends[1]["pos"][-1][:, :2], axis=1).min() > 20.0


@pytest.mark.slow
def test_late_airspeeds_count_at_their_own_time():
    error = {}

    def spoil(batch, k):
        slow(batch, k)
        lose_gps(batch, k)

    for delay in (0, 200):
        slow = late("airspeed_pressure", 50)
        _, log = fly(
            flights.steps,
            50,
            suite=suite(),
            wind=WIND,
            since=30,
            spoil=spoil,
            EKF2_ARSP_THR=3,
            EKF2_ASP_DELAY=delay,
        )
        error[delay] = rms(log["vel"])[:2].max()
    assert error[200] < 0.5 * error[0]


@pytest.mark.slow
def test_a_magnetic_field_that_changes_for_good_is_learnt():
    def disturb(batch, k):  # a magnet of a fifth of the Earth's field comes near
        if k >= 3500:
            batch.mag += (1e-5, -5e-6, 0.0) * batch.mag_new[:, None]

    ekf, log = fly(flights.circles, 45, suite=suite(), since=14, spoil=disturb)
    heading = np.degrees(np.abs(log["turn"][:, :, 2]))
    assert heading.max() < 6.0 and heading[-1].max() < 4.0
    assert np.all(ekf.flags & MAG_USED) and not ekf.reset_count.any()
    without, log = fly(flights.circles, 45, suite=suite(), since=14)
    np.testing.assert_allclose(
        ekf.field_bias - without.field_bias, np.tile((1e-5, -5e-6, 0.0), (N, 1)), atol=2.5e-6
    )


def test_a_barometer_that_jumps_for_good_is_refused_then_learnt():
    ratios = []

    def jump(batch, k):
        ratios.append(ekf.test_ratio("baro").max())
        if k >= 3500:
            batch.baro_pressure -= 20.0 * 11.3 * batch.baro_new

    ekf = Ekf(N, ORIGIN, FIELD)
    _, log = fly(flights.hover, 30, suite=suite(), ekf=ekf, since=10, spoil=jump)
    assert max(ratios[3500:4700]) > 1.0 and max(ratios[5500:]) < 1.0
    np.testing.assert_allclose(ekf.baro_offset.mean(), 20.0, atol=2.0)
    assert np.abs(log["pos"][:, :, 2]).max() < 0.4


class Vision:
    """Poses of one vehicle at 31 Hz, 40 ms late, with noise and an origin that drifts."""

    def __init__(self, drift=(0.0, 0.0, 0.0), since=0):
        """drift [m/s] begins at a step."""
        self.noise, self.kept = np.random.default_rng(1), {}
        self.drift, self.since = np.array(drift), since

    def look(self, ekf, k, state):
        """Hands a pose on where one is due."""
        self.kept[k] = state.pos[0].copy(), Rotation.from_quat(state.quat[0])
        if k % 8 or k < 10:
            return
        pos, turn = self.kept[k - 10]
        pos = pos + self.noise.normal(0, 0.02, 3) + self.drift * max(0, k - self.since) * 0.004
        turn = Rotation.from_rotvec(self.noise.normal(0, 0.01, 3)) * turn
        ekf.fuse_vision(0, (k - 10) * 4000, pos, turn.as_quat())


def with_vision(vision, seconds, gps, flight=flights.circles, glitch=None, **parameters):
    """Errors of position (samples, 3), its steps beyond the velocity's, and the Ekf."""
    ekf, batches = Ekf(1, ORIGIN, FIELD), sensors(1)
    values = ParameterStore(1).values
    for name, value in parameters.items():
        values[name] = value
    errors, jumps = [], []
    for k, state in enumerate(flights.states(flight, seconds)):
        batch = batches.step(state, state.t_us)
        batch.gps_new[:] &= gps(k * 0.004)
        if glitch and glitch(k * 0.004):
            batch.gps_lat += 30 / 6371000.0
        before = ekf.pos[0].copy()
        ekf.step(batch, values)
        vision.look(ekf, k, state)
        errors.append(ekf.pos[0] - state.pos[0])
        jumps.append(ekf.pos[0] - before - 0.004 * ekf.vel[0])
    return np.array(errors), np.abs(jumps), ekf


def test_vision_in_the_place_of_gps():
    errors, _, ekf = with_vision(Vision(), 30, lambda t: False)
    assert ekf.ready[0]
    assert ekf.flags[0] & VISION_USED and not ekf.flags[0] & GPS_USED
    assert np.sqrt(np.mean(np.abs(errors[2500:]).max(axis=1) ** 2)) < 0.05


@pytest.mark.slow
def test_gps_is_the_reference_while_vision_drifts():
    errors, _, ekf = with_vision(Vision((0.1, -0.1, 0.05)), 40, lambda t: True)
    assert np.linalg.norm(errors[-1]) < 0.6  # vision is 6 m off by now
    assert ekf.flags[0] & VISION_USED and ekf.flags[0] & GPS_USED
    assert not ekf.reset_count[0]


@pytest.mark.slow
def test_gps_lost_for_30_s_comes_back_without_a_jump():
    drift = np.array((0.04, -0.03, 0.02))  # [m/s], while GPS is away
    vision = Vision(drift, 15 * 250)
    errors, jumps, ekf = with_vision(vision, 70, lambda t: not 15 < t < 45)
    away = errors[44 * 250]
    assert np.linalg.norm(away) > 1.0  # vision has led it astray, as nothing contradicted it
    assert np.linalg.norm(errors[-1]) < 0.4  # and GPS has brought it home
    assert ekf.flags[0] & GPS_USED and ekf.flags[0] & VISION_USED and ekf.ready[0]
    assert not ekf.reset_count[0]
    assert jumps[1250:].max() < 0.05  # no single step moves it by more [m]


@pytest.mark.slow
@pytest.mark.parametrize("seconds, moves", [(3, False), (60, True)])
def test_gps_that_jumps_is_followed_only_if_it_stays_there(seconds, moves):
    errors, jumps, ekf = with_vision(
        Vision(), 40, lambda t: True, glitch=lambda t: 15 < t < 15 + seconds
    )
    assert (np.abs(errors[5000:, 1]).max() > 2.0) == moves
    assert jumps[1250:].max() < 0.05 and not ekf.reset_count[0]


@pytest.mark.slow
def test_without_vision_the_gps_that_comes_back_is_jumped_to():
    errors, jumps, ekf = with_vision(Vision(), 45, lambda t: not 15 < t < 35, EKF2_EV_CTRL=0)
    assert ekf.reset_count[0] == 1 and jumps[35 * 250 :].max() > 1.0
    assert np.linalg.norm(errors[-1]) < 0.4


@pytest.mark.parametrize("control, used", [(15, True), (0, False)])
def test_vision_is_used_as_its_parameter_says(control, used):
    _, _, ekf = with_vision(Vision(), 6, lambda t: True, flights.hover, EKF2_EV_CTRL=control)
    assert bool(ekf.flags[0] & VISION_USED) == used
