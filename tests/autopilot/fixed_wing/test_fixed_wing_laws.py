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
def wing():
    return new_state(1).view(np.recarray)[0]


@pytest.fixture
def store():
    return ParameterStore(1, np.array([FIXED_WING]))


@pytest.fixture
def params(store):
    return store.values.view(np.recarray)[0]


def guide(
    wing,
    params,
    pos=STILL,
    vel=(SPEED, 0.0),
    wind=STILL,
    tangent=NORTH,
    closest=STILL,
    curvature=0.0,
):
    npfg.guide(
        wing, params, pos, vel, wind, tangent, closest, curvature, params.NPFG_PERIOD, SPEED, 20.0
    )
    return wing


def test_on_the_path_it_flies_straight_on(wing, params):
    guide(wing, params)
    assert (wing.guidance_roll, wing.track_error, wing.bearing) == pytest.approx((0.0, 0.0, 0.0))
    assert wing.airspeed_ref == pytest.approx(SPEED)


@pytest.mark.parametrize("east", [-300.0, 300.0])
def test_far_from_the_path_it_flies_straight_to_it(wing, params, east):
    guide(wing, params, pos=(0.0, east))
    assert wing.track_error == east
    assert wing.bearing == pytest.approx(-math.copysign(math.pi / 2, east))
    assert math.copysign(1.0, wing.guidance_roll) == -math.copysign(1.0, east)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_on_a_circle_it_banks_as_the_turn_needs(wing, params, side):
    guide(wing, params, curvature=side / 80.0)
    assert math.tan(wing.guidance_roll) == pytest.approx(side * SPEED**2 / 80.0 / GRAVITY)


@pytest.mark.parametrize("wind", [(0.0, 5.0), (-6.0, 3.0), (4.0, -8.0)])
def test_the_wind_triangle_closes_along_the_bearing(params, wind):
    air = npfg.reference_air_velocity(params, wind, NORTH, params.FW_GND_SPD_MIN, SPEED, 20.0)
    assert math.hypot(*air) == pytest.approx(SPEED)
    assert air[1] + wind[1] == pytest.approx(0.0, abs=1e-6)
    assert air[0] + wind[0] > 5.0


def test_in_a_head_wind_it_flies_faster_to_keep_its_ground_speed(params):
    air = npfg.reference_air_velocity(
        params, (-13.0, 0.0), NORTH, params.FW_GND_SPD_MIN, SPEED, 20.0
    )
    assert air == pytest.approx((18.0, 0.0))


def test_wind_that_it_cannot_fly_against_is_met_by_its_nose(params):
    air = npfg.reference_air_velocity(
        params, (-25.0, 0.0), NORTH, params.FW_GND_SPD_MIN, SPEED, 20.0
    )
    assert math.hypot(*air) == pytest.approx(20.0)
    assert air[0] > 0.0


@pytest.mark.parametrize(
    "bearing, wind, air",
    [
        ((1.0, 0.0), (15.0, -20.0), (0.0, 20.0)),
        ((1.0, 0.0), (15.0, 20.0), (0.0, -20.0)),
        ((0.0, 1.0), (20.0, 15.0), (-20.0, 0.0)),
        ((0.6, -0.8), (-15.0, 20.0), (12.0, -16.0)),
    ],
)
def test_wind_as_strong_as_it_can_be_met_is_met_across_the_bearing(params, bearing, wind, air):
    """Wind of 25 m/s whose part across is all of the airspeed; the last blows from ahead."""
    found = npfg.reference_air_velocity(params, wind, bearing, 5.0, SPEED, 20.0)
    assert found == pytest.approx(air, abs=1e-9)


def test_the_track_error_is_the_distance_to_the_right_of_an_oblique_path(wing, params):
    closest, tangent, right = np.array((10.0, 20.0)), np.array((0.6, 0.8)), np.array((-0.8, 0.6))
    pos = closest + 5.0 * tangent + 3.0 * right
    guide(wing, params, tuple(pos), closest=tuple(closest), tangent=tuple(tangent))
    assert wing.track_error == pytest.approx(3.0)


@pytest.mark.parametrize(
    "vector, expected", [((0.03, -0.04), (0.6, -0.8)), ((3.0, 4.0), (0.6, 0.8)), (STILL, STILL)]
)
def test_a_unit_vector_has_the_direction_and_none_for_zero(vector, expected):
    assert npfg.unit(vector) == pytest.approx(expected)


@pytest.mark.parametrize(
    "speed, heading, std, expected",
    [
        (SPEED, 0.0, 0.1, 1.0),
        (2.5, 0.0, 1.0, 0.5),
        (1.5, 0.0, 1.0, 0.0),
        (SPEED, math.acos(0.045), 0.1, 0.5),
        (SPEED, 2.0, 0.1, 0.0),
    ],
)
def test_guidance_is_trusted_with_speed_beyond_its_error_and_a_course_ahead(
    speed, heading, std, expected
):
    assert npfg.certainty((speed, 0.0), heading, std) == pytest.approx(expected)


def test_it_converges_to_the_path_in_cross_wind(wing, params):
    """A point mass that takes on its bank angle with NPFG_ROLL_TC."""
    pos, heading, roll, wind, dt = np.array([0.0, 60.0]), 0.5, 0.0, np.array([0.0, 5.0]), 0.02
    errors = []
    for _ in range(round(60.0 / dt)):
        vel = SPEED * np.array([math.cos(heading), math.sin(heading)]) + wind
        pos += vel * dt
        guide(wing, params, tuple(pos), tuple(vel), tuple(wind), closest=(pos[0], 0.0))
        roll += (wing.guidance_roll - roll) * dt / params.NPFG_ROLL_TC
        heading += GRAVITY * math.tan(roll) / SPEED * dt
        errors.append(abs(pos[1]))
    assert max(errors[-500:]) < 0.3
    assert wing.guidance_roll == pytest.approx(0.0, abs=0.01)


def demand(params, height=50.0, airspeed=SPEED, height_rate=math.nan, guards=True):
    return tecs.Demand(
        height,
        height_rate,
        airspeed,
        params.FW_AIRSPD_MIN,
        -0.3,
        0.5,
        params.FW_THR_MIN,
        params.FW_THR_MAX,
        params.FW_T_CLMB_R_SP,
        params.FW_T_SINK_R_SP,
        params.FW_T_ALT_TC,
        guards,
        1.0,
    )


def fly(wing, params, demanded, seconds, height=50.0, airspeed=SPEED):
    """A point mass whose path climbs at its pitch, and whose throttle gives power as TECS has it.

    Returns:
        Rows of height, airspeed, pitch, throttle.
    """
    dt, rows = 0.02, []
    gain = params.FW_T_CLMB_MAX / (
        params.FW_THR_MAX - params.FW_THR_TRIM
    )  # climb rate of the throttle [m/s]
    for k in range(round(seconds / dt)):
        wing.airspeed = airspeed
        climb = airspeed * math.sin(wing.tecs_pitch) if k else 0.0
        tecs.control(wing, params, demanded, 20_000 * k, height, climb, dt)
        power = GRAVITY * gain * (wing.tecs_throttle - params.FW_THR_TRIM)
        height += climb * dt
        airspeed += (power - GRAVITY * climb) / airspeed * dt
        rows.append((height, airspeed, wing.tecs_pitch, wing.tecs_throttle))
    return np.array(rows)


@pytest.mark.slow
def test_level_flight_at_trim_stays(wing, params):
    rows = fly(wing, params, demand(params), 20.0)
    np.testing.assert_allclose(rows[:, :2], (50.0, SPEED) * np.ones((len(rows), 2)), atol=0.01)
    np.testing.assert_allclose(rows[-1, 3], params.FW_THR_TRIM, atol=1e-3)


@pytest.mark.slow
def test_a_climb_has_its_rate_and_keeps_the_airspeed(wing, params):
    rows = fly(wing, params, demand(params, 170.0), 100.0)
    rates = np.diff(rows[:, 0]) / 0.02
    assert rates.max() < 1.25 * params.FW_T_CLMB_R_SP
    assert np.median(rates[1250:1750]) == pytest.approx(params.FW_T_CLMB_R_SP, rel=0.1)
    assert abs(rows[:, 1] - SPEED).max() < 1.0
    np.testing.assert_allclose(rows[-1, :2], (170.0, SPEED), atol=0.3)


def test_an_airspeed_is_reached_at_the_same_height(wing, params):
    rows = fly(wing, params, demand(params, airspeed=18.0), 60.0)
    assert abs(rows[:, 0] - 50.0).max() < 1.5
    np.testing.assert_allclose(rows[-1, :2], (50.0, 18.0), atol=0.2)


def test_a_height_rate_is_flown_and_its_end_holds_the_height(wing, params):
    rows = fly(wing, params, demand(params, height_rate=2.0), 20.0)
    assert (rows[-1, 0] - rows[-500, 0]) / 9.98 == pytest.approx(2.0, abs=0.1)
    wing.tecs_t = -20_000
    after = fly(wing, params, demand(params, height_rate=0.0), 40.0, *rows[-1, :2])
    assert wing.held_height == pytest.approx(after[-1, 0], abs=0.2)


def test_underspeed_gets_all_throttle_and_the_nose_down(wing, params):
    fly(wing, params, demand(params), 0.1, airspeed=4.0)
    assert wing.underspeed == 1.0
    assert wing.tecs_throttle == pytest.approx(params.FW_THR_MAX) and wing.tecs_pitch < 0.0
    fly(wing, params, demand(params, guards=False), 0.1, airspeed=4.0)
    assert wing.underspeed == 0.0


@pytest.mark.parametrize(
    "slowest, airspeed, expected",
    [(10.0, 5.5, 1.0), (10.0, 6.625, 0.5), (10.0, 7.75, 0.0), (4.0, 0.875, 0.5), (4.0, 1.75, 0.0)],
)
def test_underspeed_grows_between_one_and_two_margins_below_the_minimum(
    wing, params, slowest, airspeed, expected
):
    """A margin is 0.15 of the trim airspeed, 2.25 m/s; underspeed is full at zero at the latest."""
    wing.airspeed = airspeed
    tecs.control(wing, params, demand(params)._replace(airspeed_min=slowest), 0, 50.0, 0.0, 0.02)
    assert wing.underspeed == pytest.approx(expected)


@pytest.mark.parametrize(
    "weight, of_height, of_speed",
    [(0.0, 1.0, 0.0), (0.5, 1.0, 0.5), (1.5, 0.5, 1.0), (2.0, 0.0, 1.0)],
)
def test_the_speed_weight_divides_the_pitch_between_height_and_airspeed(
    wing, params, weight, of_height, of_speed
):
    def pitch(speed_weight, climb, airspeed):
        params.FW_T_SPDWEIGHT, wing.airspeed, wing.tecs_t = speed_weight, SPEED, -(1 << 40)
        demanded = demand(params, airspeed=airspeed, guards=False)
        tecs.control(wing, params, demanded, 0, 50.0, climb, 0.02)
        return wing.tecs_pitch

    for share, motion in ((of_height, (1.0, SPEED)), (of_speed, (0.0, SPEED + 1.0))):
        assert abs(pitch(1.0, *motion)) > 0.001
        assert pitch(weight, *motion) == pytest.approx(share * pitch(1.0, *motion), abs=1e-9)


@pytest.mark.parametrize(
    "roll_sp, pitch_sp, rate",
    [(0.2, 0.0, (0.5, 0.0, 0.0)), (0.0, 0.1, (0.0, 0.25, 0.0)), (2.0, 0.0, (None, 0.0, 0.0))],
)
def test_attitude_errors_become_rates_within_their_limits(wing, params, roll_sp, pitch_sp, rate):
    wing.airspeed, wing.roll, wing.pitch = SPEED, roll_sp, pitch_sp
    control_attitude(wing, params, 0.0, 0.0)
    limit = math.radians(params.FW_R_RMAX)
    np.testing.assert_allclose(
        wing.rate, (limit if rate[0] is None else rate[0], *rate[1:]), rtol=1e-5, atol=1e-9
    )


def test_a_bank_is_a_coordinated_turn(wing, params):
    wing.airspeed, wing.roll = SPEED, 0.6
    control_attitude(wing, params, 0.6, 0.0)
    turn = GRAVITY * math.tan(0.6) / SPEED
    np.testing.assert_allclose(
        wing.rate, (0.0, math.sin(0.6) * turn, math.cos(0.6) * turn), atol=1e-6
    )


def test_control_falls_with_the_square_of_the_airspeed(wing, params):
    wing.rate[:] = 0.0
    torque = []
    for airspeed in (SPEED, 20.0):
        wing.airspeed = airspeed
        control_rates(wing, params, np.array([-0.2, 0.0, 0.0]), True, 0.004)
        torque.append(wing.torque[0])
    assert torque[0] == pytest.approx(0.2 * params.FW_RR_P)
    assert torque[1] / torque[0] == pytest.approx((SPEED / 20.0) ** 2)


def test_the_integrator_trims_and_rests_on_the_ground_and_in_saturation(wing, params):
    wing.airspeed, wing.rate[:] = SPEED, 0.0
    rates = np.array([0.0, 0.1, 0.0])  # the nose sinks
    for _ in range(250):
        control_rates(wing, params, rates, False, 0.004)
    assert wing.rate_integral[1] == pytest.approx(0.1 * params.FW_PR_I, rel=0.01)
    held = wing.rate_integral[1]
    wing.torque[1] = 1.0
    control_rates(wing, params, rates, False, 0.004)
    assert wing.rate_integral[1] == held
    control_rates(wing, params, rates, True, 0.004)
    assert wing.rate_integral[1] == 0.0
