"""The estimator on prescribed flights with our sensor models: errors, consistency, failures."""

import functools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flights
from flights import FIELD, ORIGIN, Log, N, block, degrees, fly, rms, sensors
from sensor_models import SensorSuite
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.estimation.ekf import Ekf, EkfParameters
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.estimator_flags import ALIGNED, AT_REST, GPS_USED, POSITION_VALID
from xtdrone_core import FleetState
from xtdrone_dynamics.constants import GRAVITY

BIAS = {"rtk": (0.05, 0.05, 0.08), "m8n": (1.0, 1.0, 1.5)}  # of the presets, (E, N, U) [m]


@functools.cache
def flown(name, gps):
    """What several tests look at: the Ekf and its Log."""
    return fly(flights.FLIGHTS[name], 45, suite=sensors(N, gps, seed=4))


# Each flight with one receiver, each receiver on one flight or more.
EACH = pytest.mark.parametrize(
    "name, gps",
    [
        pytest.param(
            name, gps, marks=[] if (name == "circles") == (gps == "m8n") else [pytest.mark.long]
        )
        for name in flights.FLIGHTS
        for gps in BIAS
    ],
)


@pytest.mark.slow
@EACH
def test_position_is_as_good_as_the_receiver(name, gps):
    ekf, log = flown(name, gps)
    # Pooled over few vehicles with one slow bias each, the sample's spread is a fifth.
    assert np.all(rms(log["pos"]) < 1.3 * np.array(BIAS[gps]))
    assert np.all(rms(log["vel"]) < (0.04 if gps == "rtk" else 0.1))
    assert log["ready"].all()
    assert not ekf.reset_count.any()
    assert ekf.test_ratios.max() < 1


@pytest.mark.slow
@EACH
def test_errors_stay_within_three_sigma(name, gps):
    _, log = flown(name, gps)
    for error, sigma in (("pos", "pos_std"), ("vel", "vel_std"), ("turn", "att_std")):
        assert np.mean(np.abs(log[error]) < 3 * log[sigma]) >= 0.99
    # And the deviations are not simply huge.
    assert np.all(log["vel_std"].mean(axis=(0, 1)) < 0.15)
    assert np.all(log["att_std"][-1] < np.radians((1.5, 1.5, 3.0)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["circles", "steps"])
def test_attitude_with_turn_on_biases_once_it_has_manoeuvred(name):
    _, log = fly(flights.FLIGHTS[name], 50, since=35)
    assert np.sqrt(np.mean(degrees(log["turn"]) ** 2)) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", flights.FLIGHTS)
def test_attitude_of_a_calibrated_imu(name):
    tags = {"accelerometer_turn_on_bias_sigma": 0.01, "accelerometer_random_walk": 1e-4}
    blocks = (
        block("imu", **tags),
        block("magnetometer", turn_on_bias_sigma=5e-8),
        block("barometer"),
        block("gps", preset="rtk"),
    )
    _ekf, log = fly(flights.FLIGHTS[name], 40, suite=SensorSuite([blocks] * N, ORIGIN, FIELD, 3))
    assert np.sqrt(np.mean(degrees(log["turn"]) ** 2)) < 0.5


def test_biases_are_found():
    steady = {
        f"{sensor}_{name}": value
        for sensor in ("gyroscope", "accelerometer")
        for name, value in (("random_walk", 0), ("bias_correlation_time", 1e6))
    }
    suite = sensors(N, seed=5, **steady)
    rest = np.array(
        [
            [b.gyro.copy(), b.accel.copy()]
            for b in (suite.step(FleetState.zeros(N, 4), k * 4000) for k in range(2000))
        ]
    )
    gyro, accel = rest.mean(axis=0)
    ekf, _ = fly(flights.steps, 50, suite=sensors(N, seed=5, **steady))
    np.testing.assert_allclose(ekf.gyro_bias, gyro, atol=5e-4)
    np.testing.assert_allclose(ekf.accel_bias, accel - (0, 0, GRAVITY), atol=0.03)
    assert np.abs(accel - (0, 0, GRAVITY)).max() > 0.3  # there was something to find


@pytest.mark.slow
def test_antenna_off_the_centre_is_accounted_for():
    antenna = (0.6, 0.3, 0.5)
    ekf = Ekf(N, ORIGIN, FIELD)
    ekf.gps_pos[:] = antenna
    _, known = fly(flights.circles, 30, suite=sensors(N, antenna=antenna), ekf=ekf)
    _, central = fly(flights.circles, 30)
    _, unknown = fly(flights.circles, 30, suite=sensors(N, antenna=antenna))
    np.testing.assert_allclose(rms(known["pos"]), rms(central["pos"]), atol=0.01)
    assert rms(unknown["pos"])[2] > 0.25


def test_a_late_fix_counts_at_its_own_time():
    def pretend_fresh(batch, k):
        batch.gps_t_us[:] = batch.t_us

    _, right = fly(flights.steps, 30)
    _, wrong = fly(flights.steps, 30, spoil=pretend_fresh)
    assert rms(right["pos"])[0] < 0.065
    assert rms(wrong["pos"])[0] > 0.2


def test_barometer_does_not_pull_the_height_from_gps():
    def sink(batch, k):  # the weather changes by 8 m of height within 30 s
        batch.baro_pressure -= 8.0 * 11.3 * min(1.0, k / 7500)

    ekf, log = fly(flights.hover, 40, spoil=sink)
    assert np.abs(log["pos"][:, :, 2]).max() < 0.35
    assert np.all(np.abs(ekf.baro_offset - ekf.baro_offset.mean()) < 12)
    assert ekf.baro_offset.mean() > 4


def test_outliers_are_left_out():
    def jump(batch, k):
        if 5000 <= k < 5200 and batch.gps_new[0]:
            batch.gps_lat += 30 / 6371000.0
        if k % 500 == 0:
            batch.baro_pressure += 3000.0
        if k % 300 == 0:
            batch.mag *= -1.0

    ekf, log = fly(flights.circles, 30, spoil=jump)
    assert rms(log["pos"])[1] < 0.08
    assert degrees(log["turn"][-1]).max() < 3
    assert not ekf.reset_count.any()


def test_gps_that_moved_for_good_is_believed_in_the_end():
    def move(batch, k):
        if k >= 3000 and batch.gps_new[0]:
            batch.gps_lat += 30 / 6371000.0

    ekf, log = fly(flights.hover, 22, spoil=move)
    assert ekf.reset_count.tolist() == [1] * N
    np.testing.assert_allclose(ekf.reset_pos[:, 1], 30, atol=3)
    np.testing.assert_allclose(log["pos"][-1][:, 1], 30, atol=0.4)
    assert ekf.ready.all()


def test_without_gps_it_is_not_ready_but_keeps_its_attitude():
    def lose(batch, k):
        if k >= 4000:
            batch.gps_new[:] = False

    ekf, log = fly(flights.hover, 40, spoil=lose)
    assert not ekf.ready.any()
    assert "lost" in ekf.why_not_ready(0)
    assert degrees(log["turn"][-1]).max() < 6
    assert np.abs(ekf.vel).max() < 1


def test_without_any_fix_it_says_so():
    def never(batch, k):
        batch.gps_fix[:] = 0

    ekf, _ = fly(flights.hover, 4, spoil=never)
    assert not ekf.ready.any()
    assert "no GPS fix" in ekf.why_not_ready(0)
    assert np.all(ekf.flags & POSITION_VALID == 0)


def test_parameters_scale_the_tuning_of_each_vehicle():
    ekf, log = fly(flights.hover, 10, n=2, suite=sensors(2, "m8n"), EKF2_REQ_EPH=[0.1, 3.0])
    assert (ekf.flags & GPS_USED != 0).tolist() == [False, True]
    ekf, log = fly(flights.hover, 20, n=2, EKF2_GPS_V_NOISE=[0.3, 3.0])
    calm, vague = log["vel_std"][-1][:, 0]
    assert vague > 1.3 * calm


def test_parameters_act_within_a_second():
    suite, ekf, values = sensors(1), Ekf(1, ORIGIN, FIELD), ParameterStore(1).values
    deviations = []
    for k, state in enumerate(flights.states(flights.hover, 14)):
        if k == 2500:
            values["EKF2_GPS_V_NOISE"] = 3.0
        ekf.step(suite.step(state, state.t_us), values)
        deviations.append(ekf.vel_std[0, 0])
    assert max(deviations[2400:2500]) < 0.8 * max(deviations[2500:3500])


def test_alignment_waits_for_rest():
    suite, ekf = sensors(1), Ekf(1, ORIGIN, FIELD)
    state = FleetState.zeros(1, 4)
    for k in range(1500):
        state.ang_vel[0] = (0.5 * math.sin(k / 20), 0, 0) if k < 600 else 0.0
        ekf.step(suite.step(state, k * 4000))
        assert not (k < 600 and ekf.flags[0] & ALIGNED)
        if k == 599:
            assert "rest" in ekf.why_not_ready(0)
    assert ekf.ready[0]


@pytest.mark.parametrize(
    "euler",
    [(0, 0, 0), (0, 0, 120), (0, 0, -179), (20, -15, 60), (170, 10, 30), (0, 89, 0), (0, -80, 45)],
)
def test_alignment_finds_any_attitude_at_rest(euler):
    suite = sensors(1, "rtk", accelerometer_turn_on_bias_sigma=0.01)
    ekf, state = Ekf(1, ORIGIN, FIELD), FleetState.zeros(1, 4)
    turn = Rotation.from_euler("ZYX", euler[::-1], degrees=True)
    state.quat[0] = turn.as_quat()
    for k in range(600):
        ekf.step(suite.step(state, k * 4000))
    error = Rotation.from_quat(ekf.quat[0]) * turn.inv()
    assert np.degrees(error.magnitude()) < 3
    assert ekf.ready[0]


def test_a_landed_vehicle_stands_still():
    state = FleetState.zeros(N, 4)
    spread = {}
    for landed in (False, True):
        suite, ekf = sensors(N), Ekf(N, ORIGIN, FIELD)
        ekf.landed[:] = landed
        for k in range(4000):
            ekf.step(suite.step(state, k * 4000))
            if k == 2000:
                log = Log()
            if k >= 2000:
                log.add(ekf, state)
        spread[landed] = rms(log["vel"])
        assert np.all((ekf.flags & AT_REST != 0) == landed)
    assert np.all(spread[True] < 0.6 * spread[False])


def test_same_readings_same_bits():
    a, _ = fly(flights.steps, 12, 2)
    b, _ = fly(flights.steps, 12, 2)
    c, _ = fly(flights.steps, 12, 5, suite=sensors(5))
    for name in ("pos", "vel", "quat", "accel_bias", "field_bias"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
        assert np.array_equal(getattr(a, name), getattr(c, name)[:2])


def test_covariance_stays_symmetric_and_positive():
    ekf, _ = fly(flights.steps, 40, 2)
    for cov in ekf.covariances:
        scale = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
        assert np.abs(cov - cov.T).max() < 1e-9 * scale.max()
        assert np.linalg.eigvalsh(cov / scale).min() > 0


@pytest.mark.parametrize(
    "changes,words",
    [
        ({"acel_noise": 1}, "did you mean 'accel_noise'"),
        ({"gyro_noise": -1}, "positive"),
        ({"pos_gate": math.nan}, "positive"),
    ],
)
def test_bad_parameters_are_refused(changes, words):
    with pytest.raises(AutopilotError, match=words):
        EkfParameters.load(**changes)


def test_a_gentle_lift_off_is_not_taken_for_rest():
    """The detector of take-offs waits for a velocity that only the estimator can tell it."""

    def lift(t):
        pos = np.zeros((len(t), 3))
        vel = 0.8 * (np.clip(t - flights.REST, 0, 1.5) - np.clip(t - flights.REST - 3, 0, 1.5))
        pos[:, 2] = np.cumsum(vel) * flights.DT
        return pos, np.zeros(len(t))

    ekf = Ekf(N, ORIGIN, FIELD)

    def late_detector(batch, k):
        ekf.landed[:] = k * flights.DT < flights.REST + 1.5

    _, log = fly(lift, 9, ekf=ekf, spoil=late_detector)
    assert np.abs(log["pos"][:, :, 2]).max() < 0.3
    assert np.abs(log["vel"][:, :, 2]).max() < 0.15


@pytest.mark.parametrize("gps, fix", [("rtk", 0.045), ("m8n", 0.09)])
def test_a_fix_makes_no_step_in_what_control_gets(gps, fix):
    """Within 20 ms the error of the velocity hardly changes, though fixes correct it by `fix`."""
    _, log = fly(flights.hover, 15, suite=sensors(N, gps), since=8)
    steps = np.abs(np.diff(log["vel"], axis=0)).max()
    assert steps < 0.25 * fix
    _, hasty = fly(
        flights.hover, 15, suite=sensors(N, gps), since=8, EKF2_TAU_VEL=0.1, EKF2_TAU_POS=0.1
    )
    assert 1.5 * steps < np.abs(np.diff(hasty["vel"], axis=0)).max() < fix
