"""A time-optimal plan is followed by body rates and thrust that lag behind their commands."""

import math

import numpy as np
from test_time_optimal import QUADROTOR

from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import multiply, rotate
from xtdrone_guidance.time_optimal.planner import TimeOptimal, way_points
from xtdrone_guidance.time_optimal.tracking import Tracker

RATE_LAG_S, THRUST_LAG_S, STEP_S = 0.045, 0.02, 0.004


def flown(plan, tracker):
    """Returns distances from the plan (T,) [m] of a body whose rates and thrust lag."""
    pos, vel, quat = plan.at(0.0).pos.copy(), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    rates, thrust, away = np.zeros(3), QUADROTOR.mass * GRAVITY, []
    for k in range(int(plan.duration / STEP_S)):
        wanted, push = tracker.command(k * STEP_S, pos, quat, vel, 0.0)
        rates = rates + STEP_S / RATE_LAG_S * (wanted - rates)
        thrust += STEP_S / THRUST_LAG_S * (push - thrust)
        turn = float(np.linalg.norm(rates)) * STEP_S
        axis = math.sin(0.5 * turn) / max(turn, 1e-12) * STEP_S * rates
        quat = np.array(multiply(*quat, *axis, math.cos(0.5 * turn)))
        up = np.array(rotate(*quat, 0.0, 0.0, 1.0))
        vel = vel + STEP_S * (thrust / QUADROTOR.mass * up - [0.0, 0.0, GRAVITY])
        pos = pos + STEP_S * vel
        away.append(np.linalg.norm(pos - plan.at((k + 1) * STEP_S).pos))
    return np.array(away)


def test_a_body_that_lags_stays_by_its_plan_through_fast_turns():
    points = np.array([[3.0, 2.0, 2.0], [6.0, -1.0, 1.0], [2.0, -4.0, 2.0]])
    ends = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.5]])
    plan = TimeOptimal(QUADROTOR, ends, way_points(points, 0.2))
    assert flown(plan, Tracker(plan, QUADROTOR)).max() < 0.2  # 0.3 with an attitude ahead of time
