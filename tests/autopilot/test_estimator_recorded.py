"""The estimator on the sensor messages that a real PX4 flew on, against the recorded truth."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import px4_recording
from xtdrone_autopilot.estimation.ekf import Ekf
from xtdrone_core import SensorBatch
from xtdrone_dynamics.earth.geodesy import to_local
from xtdrone_dynamics.earth.magnetic_field import earth_field

RECORDING = Path(__file__).parents[1] / "data" / "px4_session_dynamic.bin.gz"
ORIGIN = (math.radians(47.397742), math.radians(8.545594), 488.0)
SETTLED = 12_000_000  # errors count from here on [us]

# PX4's own errors in this flight were, east, north, up: position 0.06, 0.11, 0.25 m, velocity
# 0.04, 0.03, 0.12 m/s, attitude 0.4 deg, at most 1.2 deg. Ours stay below all of them.
POS_LIMIT = (0.03, 0.03, 0.04)  # [m]
VEL_LIMIT = (0.03, 0.03, 0.06)  # [m/s]; the recorded landing stops without an accelerometer jolt
ATT_LIMIT, ATT_MAX = 0.3, 0.9  # [deg]


class Frozen:
    """Believes for ever what it believed first once it had a fix."""

    def __init__(self):
        self.ekf = Ekf(1, ORIGIN, earth_field(*ORIGIN))
        self.held = None

    def step(self, batch):
        if batch.t_us < SETTLED:
            self.ekf.step(batch)
        self.pos, self.vel, self.quat = self.ekf.pos, self.ekf.vel, self.ekf.quat


class GpsOnly(Frozen):
    """Believes the last fix, and the attitude that it found at rest."""

    def step(self, batch):
        super().step(batch)
        if batch.gps_new[0]:
            east, north = to_local(batch.gps_lat[0], batch.gps_lon[0], *ORIGIN[:2])
            self.held = (
                np.array([[east, north, batch.gps_alt[0] - ORIGIN[2]]]),
                batch.gps_vel.copy(),
            )
        if self.held:
            self.pos, self.vel = self.held


@pytest.fixture(scope="module")
def recording():
    return list(px4_recording.steps(RECORDING))


def errors(estimator, recording):
    """Position, velocity and rotation vector errors, (samples, 3) each, where there is truth."""
    batch = SensorBatch.empty(1)
    rows = []
    for step in recording:
        truth = None
        for message in step:
            if message.get_type() == "HIL_STATE_QUATERNION":
                truth = message
            else:
                px4_recording.fill(batch, message)
        estimator.step(batch)
        if truth and batch.t_us >= SETTLED:
            east, north = to_local(
                math.radians(truth.lat * 1e-7), math.radians(truth.lon * 1e-7), *ORIGIN[:2]
            )
            pos = (east, north, truth.alt * 1e-3 - ORIGIN[2])
            vel = np.array([truth.vy, truth.vx, -truth.vz]) * 1e-2
            turn = (
                Rotation.from_quat(estimator.quat[0])
                * Rotation.from_quat(px4_recording.truth_quat(truth)).inv()
            )
            rows.append((estimator.pos[0] - pos, estimator.vel[0] - vel, turn.as_rotvec()))
    return [np.array(part) for part in zip(*rows)]


def rms(rows):
    return np.sqrt(np.mean(rows**2, axis=0))


def assert_flies_no_worse_than_px4(pos, vel, turn):
    assert len(pos) > 10_000
    assert np.all(rms(pos) < POS_LIMIT)
    assert np.all(rms(vel) < VEL_LIMIT)
    angle = np.degrees(np.linalg.norm(turn, axis=1))
    assert rms(angle) < ATT_LIMIT
    assert angle.max() < ATT_MAX


@pytest.mark.slow
def test_no_worse_than_px4_on_its_own_flight(recording):
    ekf = Ekf(1, ORIGIN, earth_field(*ORIGIN))
    assert_flies_no_worse_than_px4(*errors(ekf, recording))
    assert ekf.reset_count[0] == 0
    assert ekf.ready[0]


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("wrong", [Frozen, GpsOnly])
def test_a_wrong_estimator_does_not_pass(wrong, part, recording):
    found = errors(wrong(), recording)
    good = [np.zeros_like(rows) for rows in found]
    assert_flies_no_worse_than_px4(*good)
    good[part] = found[part]  # each of the three limits must be able to tell
    with pytest.raises(AssertionError):
        assert_flies_no_worse_than_px4(*good)


def test_is_ready_within_two_seconds(recording):
    ekf, batch = Ekf(1, ORIGIN, earth_field(*ORIGIN)), SensorBatch.empty(1)
    for step in recording[:500]:
        for message in step:
            if message.get_type() != "HIL_STATE_QUATERNION":
                px4_recording.fill(batch, message)
        ekf.step(batch)
    assert ekf.ready[0], ekf.why_not_ready(0)
