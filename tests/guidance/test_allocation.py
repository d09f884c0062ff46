"""Allocation by weighted least squares: the optimum, its priorities, and a lost rotor."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import xtdrone as xd
from physics import CONVENTIONAL
from xtdrone_autopilot.control.allocation import Mixer
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.vehicle_status import RATES, describe_bodies, new_status
from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_core.resources import vehicle_names
from xtdrone_dynamics.abilities.effectiveness import effectiveness, in_hover, largest_thrust
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.allocation.active_set import solve
from xtdrone_guidance.allocation.mixer import LeastSquares, spare_rotors

ACTUATED = [
    name for name in vehicle_names() if in_hover(FleetModel.of([xd.load_vehicle(name)])).any()
]


def solved(matrix, wanted, low, high, start):
    """The solution of the active set for |matrix x - wanted|, and its number of turns."""
    count = len(low)
    x, bound, move, factor = (
        start.copy(),
        np.zeros(count),
        np.zeros(count),
        np.zeros((count, count)),
    )
    turns = solve(matrix.T @ matrix, matrix.T @ wanted, low, high, x, count, bound, factor, move)
    return x, turns


def objective(matrix, wanted, x):
    return float(np.sum((matrix @ x - wanted) ** 2))


@pytest.mark.parametrize("name", ACTUATED)
def test_the_optimum_is_that_of_scipy(name):
    """Random demands, limits, starts and lost actuators, in reach and far beyond it."""
    fleet = FleetModel.of([xd.load_vehicle(name)])
    actuator = fleet.actuator[0]
    effect = in_hover(fleet)[0]
    used = abs(effect).max(axis=0) > 0.0
    rotors = fleet.rotor_mask[0]
    scale = np.where(rotors, largest_thrust(fleet)[0], 0.5)[used]
    effect, count = effect[:, used] * scale, int(used.sum())
    size = np.sqrt((effect**2).sum(axis=1))
    weight = np.array([0.3, 0.3, 1.0, 30.0, 30.0, 0.05]) / np.maximum(size, 1e-9) ** 2
    weight[size < 1e-9] = 0.0
    matrix = np.vstack([np.sqrt(weight)[:, None] * effect, np.sqrt(1e-4) * np.eye(count)])
    low0 = np.where(rotors[used] & ~actuator["bidirectional"][used], 0.0, -1.0)
    random = np.random.default_rng(7)
    for case in range(200):
        reach = (0.5, 1.0, 3.0)[case % 3]
        wanted = np.concatenate(
            [np.sqrt(weight) * size * reach * random.uniform(-1.0, 1.0, 6), np.zeros(count)]
        )
        low = low0 * random.uniform(0.5, 1.0, count)
        high = random.uniform(0.3, 1.0, count)
        if case % 4 == 3:  # one is lost
            low[case % count] = high[case % count] = 0.0
        x, turns = solved(matrix, wanted, low, high, random.uniform(-1.0, 1.0, count))
        free = low < high
        best = np.zeros(count)
        if free.any():
            best[free] = lsq_linear(
                matrix[:, free], wanted, (low[free], high[free]), method="bvls", tol=1e-14
            ).x
        assert (x >= low).all() and (x <= high).all()
        assert objective(matrix, wanted, x) <= objective(matrix, wanted, best) + 1e-9
        np.testing.assert_allclose(x, best, atol=1e-6)
        assert turns <= 2 * count + 2


class Mixing:
    """The mixer of one armed vehicle in the air."""

    def __init__(self, name, kind=LeastSquares):
        self.fleet = FleetModel.of([xd.load_vehicle(name)])
        self.status = new_status(1)
        describe_bodies(self.status, self.fleet)
        self.status["armed"], self.status["landed"], self.status["sp_kind"] = True, False, RATES
        self.parameters = ParameterStore(1).values
        self.estimator = Estimator(1, (0.0, 0.0, 0.0), np.zeros(3))
        self.commands = np.zeros(self.fleet.actuator.shape)
        self.weight = self.fleet.vehicle["mass"][0] * GRAVITY
        self.mixer = kind(self.fleet)
        if kind is LeastSquares:
            self.lost_rotors = LeastSquares.FEEDBACK(self.fleet)
            self.mixer.take_feedback(self.lost_rotors)

    def wrench(self, thrust, torque):
        """Collective thrust [N] and torque [N m] that the commands give for those wanted."""
        self.status["sp_thrust"], self.status["sp_torque"] = thrust, torque
        self.mixer.step(self.status, self.parameters, self.estimator, 0.004, self.commands)
        actuator = self.fleet.actuator
        speed = actuator["zero_position_armed"] + actuator["input_scaling"] * self.commands
        thrusts = np.where(self.fleet.rotor_mask, actuator["motor_constant"] * speed**2, 0.0)
        return effectiveness(self.fleet)[0, 2:] @ thrusts[0]


def reach(mixing):
    """Largest torque about each axis, roughly [N m]."""
    return abs(effectiveness(mixing.fleet)[0, 3:]) @ largest_thrust(mixing.fleet)[0] / 2


@pytest.mark.parametrize("name", CONVENTIONAL)
def test_what_is_in_reach_is_given_as_the_pseudo_inverse_does(name):
    ours, theirs = Mixing(name), Mixing(name, Mixer)
    torque = 0.05 * reach(ours) * [1.0, -1.0, 0.3]
    got = ours.wrench(ours.weight, torque)
    np.testing.assert_allclose(got, [ours.weight, *torque], rtol=5e-3, atol=1e-6 * ours.weight)
    theirs.wrench(ours.weight, torque)
    np.testing.assert_allclose(ours.commands, theirs.commands, atol=5e-3)


@pytest.mark.parametrize("name", [name for name in CONVENTIONAL if name != "quadrotor_arm"])
def test_roll_and_pitch_go_before_thrust_and_thrust_before_yaw(name):
    it = Mixing(name)
    torque, highest = reach(it) * [0.3, 0.3, 2.0], largest_thrust(it.fleet).sum()
    thrust, roll, pitch, yaw = it.wrench(it.weight, torque)
    assert roll == pytest.approx(torque[0], rel=0.05)
    assert pitch == pytest.approx(torque[1], rel=0.05)
    assert thrust == pytest.approx(it.weight, rel=0.15)
    assert yaw < 0.5 * torque[2]
    thrust, roll, pitch, _ = it.wrench(highest, torque * [1.0, 1.0, 0.0])
    assert roll == pytest.approx(torque[0], rel=0.1) and pitch == pytest.approx(torque[1], rel=0.1)
    assert thrust < 0.98 * highest


@pytest.mark.parametrize("name, rotor", [("typhoon_h480", 0), ("octorotor", 5)])
def test_a_lost_rotor_is_no_longer_asked(name, rotor):
    it = Mixing(name)
    it.lost_rotors.lost[0] = rotor
    torque = 0.02 * reach(it) * [1.0, -1.0, 0.0]
    for _ in range(3):
        thrust, roll, pitch, _ = it.wrench(it.weight, torque)
    assert it.commands[0, rotor] < 0.02
    assert thrust == pytest.approx(it.weight, rel=0.02)
    np.testing.assert_allclose([roll, pitch], torque[:2], atol=0.01 * reach(it)[:2].max())
    it.lost_rotors.lost[0] = -1
    it.wrench(it.weight, torque)
    assert it.commands[0, rotor] > 0.1


@pytest.mark.parametrize(
    "name, spare",
    [
        ("iris", False),
        ("crazyflie", False),
        ("coaxial", False),
        ("bicopter", False),
        ("typhoon_h480", True),
        ("octorotor", True),
        ("tilted_hexarotor", True),
        ("hexarotor_arms_tilt", True),
    ],
)
def test_a_rotor_is_taken_out_where_the_others_can_hover(name, spare):
    fleet = FleetModel.of([xd.load_vehicle(name)])
    assert (spare_rotors(fleet)[0, fleet.rotor_mask[0]] == spare).all()


def test_a_quadrotor_keeps_what_it_has():
    it = Mixing("iris")
    it.lost_rotors.lost[0] = 2
    it.wrench(it.weight, [0.0, 0.0, 0.0])
    assert (it.commands[it.fleet.rotor_mask] > 0.3).all()


def test_disarmed_rotors_stand_and_armed_ones_without_a_set_point_idle():
    it = Mixing("iris")
    it.status["sp_kind"] = 0
    it.wrench(it.weight, [0.0, 0.0, 0.0])
    assert (
        (0.0 < it.commands[it.fleet.rotor_mask]) & (it.commands[it.fleet.rotor_mask] < 0.05)
    ).all()
    it.status["armed"] = False
    it.wrench(it.weight, [0.0, 0.0, 0.0])
    assert not it.commands.any()


def test_a_name_that_is_no_mixer_is_refused_in_one_line():
    with pytest.raises(XtdroneError, match="least_squares") as refused:
        xd.Scenario(vehicles="iris", mixer="least_square")
    assert "\n" not in str(refused.value)
