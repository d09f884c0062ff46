"""Guidance, total energy, attitude and rate control of a fixed wing, each against its theory."""

import math

import numpy as np
import pytest

from xtdrone_autopilot.fixed_wing import npfg, tecs
from xtdrone_autopilot.fixed_wing.attitude import control_attitude, control_rates
from xtdrone_autopilot.fixed_wing.state import new_state
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING
from xtdrone_dynamics.constants import GRAVITY

NORTH, STILL = (1.0, 0.0), (0.0, 0.0)
SPEED = 15.0  # FW_AIRSPD_TRIM [m/s]


@pytest.fixture
def w():
    return new_state(1).view(np.recarray)[0]


@pytest.fixture
def store():
    return ParameterStore(1, np.array([FIXED_WING]))


@pytest.fixture
def q(store):
    return store.values.view(np.recarray)[0]


def guide(
    w, q, pos=STILL, vel=(SPEED, 0.0), wind=STILL, tangent=NORTH, closest=STILL, curvature=0.0
):
    npfg.guide(w, q, pos, vel, wind, tangent, closest, curvature, q.NPFG_PERIOD, SPEED, 20.0)
    return w


def test_on_the_path_it_flies_straight_on(w, q):
    guide(w, q)
    assert (w.guidance_roll, w.track_error, w.bearing) == pytest.approx((0.0, 0.0, 0.0))
    assert w.airspeed_ref == pytest.approx(SPEED)


@pytest.mark.parametrize("east", [-300.0, 300.0])
def test_far_from_the_path_it_flies_straight_to_it(w, q, east):
    guide(w, q, pos=(0.0, east))
    assert w.track_error == east
    assert w.bearing == pytest.approx(-math.copysign(math.pi / 2, east))
    assert math.copysign(1.0, w.guidance_roll) == -math.copysign(1.0, east)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_on_a_circle_it_banks_as_the_turn_needs(w, q, side):
    guide(w, q, curvature=side / 80.0)
    assert math.tan(w.guidance_roll) == pytest.approx(side * SPEED**2 / 80.0 / GRAVITY)


@pytest.mark.parametrize("wind", [(0.0, 5.0), (-6.0, 3.0), (4.0, -8.0)])
def test_the_wind_triangle_closes_along_the_bearing(q, wind):
    air = npfg.reference_air_velocity(q, wind, NORTH, q.FW_GND_SPD_MIN, SPEED, 20.0)
    assert math.hypot(*air) == pytest.approx(SPEED)
    assert air[1] + wind[1] == pytest.approx(0.0, abs=1e-6)
    assert air[0] + wind[0] > 5.0


def test_in_a_head_wind_it_flies_faster_to_keep_its_ground_speed(q):
    air = npfg.reference_air_velocity(q, (-13.0, 0.0), NORTH, q.FW_GND_SPD_MIN, SPEED, 20.0)
    assert air == pytest.approx((18.0, 0.0))


def test_wind_that_it_cannot_fly_against_is_met_by_its_nose(q):
    air = npfg.reference_air_velocity(q, (-25.0, 0.0), NORTH, q.FW_GND_SPD_MIN, SPEED, 20.0)
    assert math.hypot(*air) == pytest.approx(20.0)
    assert air[0] > 0.0


def test_it_converges_to_the_path_in_cross_wind(w, q):
    """A point mass that takes on its bank angle with NPFG_ROLL_TC."""
    pos, heading, roll, wind, dt = np.array([0.0, 60.0]), 0.5, 0.0, np.array([0.0, 5.0]), 0.02
    errors = []
    for _ in range(round(60.0 / dt)):
        vel = SPEED * np.array([math.cos(heading), math.sin(heading)]) + wind
        pos += vel * dt
        guide(w, q, tuple(pos), tuple(vel), tuple(wind), closest=(pos[0], 0.0))
        roll += (w.guidance_roll - roll) * dt / q.NPFG_ROLL_TC
        heading += GRAVITY * math.tan(roll) / SPEED * dt
        errors.append(abs(pos[1]))
    assert max(errors[-500:]) < 0.3
    assert w.guidance_roll == pytest.approx(0.0, abs=0.01)


def demand(q, height=50.0, airspeed=SPEED, height_rate=math.nan, guards=True):
    return tecs.Demand(
        height,
        height_rate,
        airspeed,
        q.FW_AIRSPD_MIN,
        -0.3,
        0.5,
        q.FW_THR_MIN,
        q.FW_THR_MAX,
        q.FW_T_CLMB_R_SP,
        q.FW_T_SINK_R_SP,
        q.FW_T_ALT_TC,
        guards,
        1.0,
    )


def fly(w, q, d, seconds, height=50.0, airspeed=SPEED):
    """A point mass whose path climbs at its pitch, and whose throttle gives power as TECS has it.

    Returns:
        Rows of height, airspeed, pitch, throttle.
    """
    dt, rows = 0.02, []
    gain = q.FW_T_CLMB_MAX / (q.FW_THR_MAX - q.FW_THR_TRIM)  # climb rate of the throttle [m/s]
    for k in range(round(seconds / dt)):
        w.airspeed = airspeed
        climb = airspeed * math.sin(w.tecs_pitch) if k else 0.0
        tecs.control(w, q, d, 20_000 * k, height, climb, dt)
        power = GRAVITY * gain * (w.tecs_throttle - q.FW_THR_TRIM)
        height += climb * dt
        airspeed += (power - GRAVITY * climb) / airspeed * dt
        rows.append((height, airspeed, w.tecs_pitch, w.tecs_throttle))
    return np.array(rows)


def test_level_flight_at_trim_stays(w, q):
    rows = fly(w, q, demand(q), 20.0)
    np.testing.assert_allclose(rows[:, :2], (50.0, SPEED) * np.ones((len(rows), 2)), atol=0.01)
    np.testing.assert_allclose(rows[-1, 3], q.FW_THR_TRIM, atol=1e-3)


def test_a_climb_has_its_rate_and_keeps_the_airspeed(w, q):
    rows = fly(w, q, demand(q, 170.0), 100.0)
    rates = np.diff(rows[:, 0]) / 0.02
    assert rates.max() < 1.25 * q.FW_T_CLMB_R_SP
    assert np.median(rates[1250:1750]) == pytest.approx(q.FW_T_CLMB_R_SP, rel=0.1)
    assert abs(rows[:, 1] - SPEED).max() < 1.0
    np.testing.assert_allclose(rows[-1, :2], (170.0, SPEED), atol=0.3)


def test_an_airspeed_is_reached_at_the_same_height(w, q):
    rows = fly(w, q, demand(q, airspeed=18.0), 60.0)
    assert abs(rows[:, 0] - 50.0).max() < 1.5
    np.testing.assert_allclose(rows[-1, :2], (50.0, 18.0), atol=0.2)


def test_a_height_rate_is_flown_and_its_end_holds_the_height(w, q):
    rows = fly(w, q, demand(q, height_rate=2.0), 20.0)
    assert (rows[-1, 0] - rows[-500, 0]) / 9.98 == pytest.approx(2.0, abs=0.1)
    w.tecs_t = -20_000
    after = fly(w, q, demand(q, height_rate=0.0), 40.0, *rows[-1, :2])
    assert w.held_height == pytest.approx(after[-1, 0], abs=0.2)


def test_underspeed_gets_all_throttle_and_the_nose_down(w, q):
    fly(w, q, demand(q), 0.1, airspeed=4.0)
    assert w.underspeed == 1.0
    assert w.tecs_throttle == pytest.approx(q.FW_THR_MAX) and w.tecs_pitch < 0.0
    fly(w, q, demand(q, guards=False), 0.1, airspeed=4.0)
    assert w.underspeed == 0.0


@pytest.mark.parametrize(
    "roll_sp, pitch_sp, rate",
    [(0.2, 0.0, (0.5, 0.0, 0.0)), (0.0, 0.1, (0.0, 0.25, 0.0)), (2.0, 0.0, (None, 0.0, 0.0))],
)
def test_attitude_errors_become_rates_within_their_limits(w, q, roll_sp, pitch_sp, rate):
    w.airspeed, w.roll, w.pitch = SPEED, roll_sp, pitch_sp
    control_attitude(w, q, 0.0, 0.0)
    limit = math.radians(q.FW_R_RMAX)
    np.testing.assert_allclose(
        w.rate, (limit if rate[0] is None else rate[0], *rate[1:]), rtol=1e-5, atol=1e-9
    )


def test_a_bank_is_a_coordinated_turn(w, q):
    w.airspeed, w.roll = SPEED, 0.6
    control_attitude(w, q, 0.6, 0.0)
    turn = GRAVITY * math.tan(0.6) / SPEED
    np.testing.assert_allclose(w.rate, (0.0, math.sin(0.6) * turn, math.cos(0.6) * turn), atol=1e-6)


def test_control_falls_with_the_square_of_the_airspeed(w, q):
    w.rate[:] = 0.0
    torque = []
    for airspeed in (SPEED, 20.0):
        w.airspeed = airspeed
        control_rates(w, q, np.array([-0.2, 0.0, 0.0]), True, 0.004)
        torque.append(w.torque[0])
    assert torque[0] == pytest.approx(0.2 * q.FW_RR_P)
    assert torque[1] / torque[0] == pytest.approx((SPEED / 20.0) ** 2)


def test_the_integrator_trims_and_rests_on_the_ground_and_in_saturation(w, q):
    w.airspeed, w.rate[:] = SPEED, 0.0
    rates = np.array([0.0, 0.1, 0.0])  # the nose sinks
    for _ in range(250):
        control_rates(w, q, rates, False, 0.004)
    assert w.rate_integral[1] == pytest.approx(0.1 * q.FW_PR_I, rel=0.01)
    held = w.rate_integral[1]
    w.torque[1] = 1.0
    control_rates(w, q, rates, False, 0.004)
    assert w.rate_integral[1] == held
    control_rates(w, q, rates, True, 0.004)
    assert w.rate_integral[1] == 0.0
