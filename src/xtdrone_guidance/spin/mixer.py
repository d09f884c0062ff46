"""The mixer `spin`: least squares, and a spin for quadrotors that have lost a rotor."""

import math

import numpy as np

from xtdrone_autopilot.control.allocation import rotor_command
from xtdrone_autopilot.control.vector import clamp
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import ATTITUDE, NO_SET_POINT, TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import largest_thrust
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, rotate_inverse
from xtdrone_dynamics.shapes import Vector

from ..allocation.lost_rotors import LostRotors
from ..allocation.mixer import LeastSquares, spare_rotors
from .relaxed_hover import GRID, ROTORS, RelaxedHover, relaxed_hover

MAX_LEAN = 0.3  # largest lean of the axis of the spin [rad]
LIFT = 0.6, 1.25  # least and largest lift over the weight
FOLLOW_S = 0.0177  # time constant with which thrusts are thought to follow their commands [s]


@njit
def wanted_axis(vehicle: Record) -> Vector:
    """Returns where the thrust of a vehicle is to point, world, within MAX_LEAN from upright."""
    if vehicle.sp_kind != TRAJECTORY and vehicle.sp_kind != ATTITUDE:
        return 0.0, 0.0, 1.0
    quat = vehicle.sp_quat
    x, y, _ = rotate(quat[0], quat[1], quat[2], quat[3], 0.0, 0.0, 1.0)
    size, largest = math.hypot(x, y), math.sin(MAX_LEAN)
    if size > largest:
        x, y = x * largest / size, y * largest / size
    return x, y, math.sqrt(max(1.0 - x * x - y * y, 0.0))


@njit
def spin_one(
    vehicle: Record,
    estimate: Record,
    rates: np.ndarray,
    thrusts: np.ndarray,
    tilt_rates: np.ndarray,
    axes: np.ndarray,
    gains: np.ndarray,
    weight: float,
    largest: np.ndarray,
    given: np.ndarray,
    wanted: np.ndarray,
) -> None:
    """Writes the thrusts of the rotors of one vehicle that has lost one.

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS and ESTIMATE.
        rates, thrusts, tilt_rates, axes, gains: Of its RelaxedHover.
        weight: [N].
        largest: (4,) [N].
        given: (4,) that the rotors give now [N].
        wanted: (4,) output [N].
    """
    rate, quat = estimate.ang_vel, estimate.quat
    at = clamp((abs(rate[2]) - rates[0]) / (rates[1] - rates[0]), 0.0, GRID - 1.001)
    k = int(at)
    part = at - k
    x, y, z = wanted_axis(vehicle)
    bx, by, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], x, y, z)
    lift = clamp(vehicle.sp_thrust, LIFT[0] * weight, LIFT[1] * weight) / weight
    error = (
        rate[0] - (1.0 - part) * tilt_rates[k, 0] - part * tilt_rates[k + 1, 0],
        rate[1] - (1.0 - part) * tilt_rates[k, 1] - part * tilt_rates[k + 1, 1],
        bx - (1.0 - part) * axes[k, 0] - part * axes[k + 1, 0],
        by - (1.0 - part) * axes[k, 1] - part * axes[k + 1, 1],
    )
    total = 0.0
    for r in range(ROTORS):
        total += (1.0 - part) * thrusts[k, r] + part * thrusts[k + 1, r]
    if total < weight:  # it spins too slowly to be steered with more
        lift = min(lift, 1.0)
    for r in range(ROTORS):
        wanted[r] = lift * ((1.0 - part) * thrusts[k, r] + part * thrusts[k + 1, r])
    for r in range(ROTORS):
        change = 0.0
        for state in range(4):
            gain = (1.0 - part) * gains[k, r, state] + part * gains[k + 1, r, state]
            change += gain * error[state]
        for other in range(ROTORS):
            gain = (1.0 - part) * gains[k, r, 4 + other] + part * gains[k + 1, r, 4 + other]
            feed = lift * ((1.0 - part) * thrusts[k, other] + part * thrusts[k + 1, other])
            change += gain * (given[other] - feed)
        wanted[r] = clamp(wanted[r] - change, 0.0, largest[r])


@fleet_kernel
def spin_fleet(
    status: np.ndarray,
    estimates: np.ndarray,
    actuators: np.ndarray,
    spins: np.ndarray,
    rates: np.ndarray,
    thrusts: np.ndarray,
    tilt_rates: np.ndarray,
    axes: np.ndarray,
    gains: np.ndarray,
    weight: np.ndarray,
    largest: np.ndarray,
    dt: float,
    given: np.ndarray,
    wanted: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Writes the commands of the vehicles that spin, and follows the thrusts of all.

    Args:
        status, estimates: (N,) records of VEHICLE_STATUS and ESTIMATE.
        actuators: (N, A) records of the FleetModel.
        spins: (N,) int, the rotor that has been lost, -1 = none.
        rates, thrusts, tilt_rates, axes, gains: (N, 4, ...) RelaxedHover for each lost rotor.
        weight: (N,) [N].
        largest: (N, A) largest thrusts [N].
        dt: Length of the step [s].
        given: (N, 4) thrusts of the rotors, updated [N].
        wanted: (N, 4) scratch.
        commands: (N, A) of the other mixer, overwritten where vehicles spin.
    """
    follow = 1.0 - math.exp(-dt / FOLLOW_S)
    for i in range(len(spins)):
        vehicle, lost = status[i], spins[i]
        flies = vehicle.armed and vehicle.sp_kind != NO_SET_POINT
        if lost >= 0 and flies:
            spin_one(
                vehicle,
                estimates[i],
                rates[i, lost],
                thrusts[i, lost],
                tilt_rates[i, lost],
                axes[i, lost],
                gains[i, lost],
                weight[i],
                largest[i],
                given[i],
                wanted[i],
            )
        for r in range(min(ROTORS, commands.shape[1])):
            rotor = actuators[i, r]
            if lost >= 0 and flies:
                commands[i, r] = rotor_command(
                    wanted[i, r],
                    rotor.motor_constant,
                    rotor.input_scaling,
                    rotor.zero_position_armed,
                    vehicle.hover_weight,
                )
            speed = rotor.zero_position_armed + rotor.input_scaling * commands[i, r]
            given[i, r] += follow * (rotor.motor_constant * speed * speed - given[i, r])
            if r == lost:
                commands[i, r] = given[i, r] = 0.0


class Spin(Memory):
    """Least squares; a quadrotor that loses a rotor keeps its place in a spin, without its yaw.

    It implements interfaces.Mixer. Vehicles that hover without a rotor, such as hexarotors, do as
    with LeastSquares. Of a quadrotor the axis of the spin follows the attitude set-point's z axis,
    and its mean thrust the thrust set-point.

    Attributes:
        mixer: The LeastSquares.
        spins: (N,) int, the rotor without which a vehicle spins, -1 = none.
    """

    FEEDBACK = LostRotors
    MEMORY = ("mixer", "spins", "_given")

    def __init__(self, fleet: FleetModel) -> None:
        """Finds how each vehicle flies without each of its rotors.

        Raises:
            XtdroneError: A vehicle cannot fly without one of them.
        """
        self.mixer = LeastSquares(fleet)
        self._fleet, self._spare = fleet, spare_rotors(fleet)
        n = fleet.n
        self.spins = np.full(n, -1, dtype=np.int64)
        self._given, self._wanted = np.zeros((n, ROTORS)), np.zeros((n, ROTORS))
        self._weight = fleet.vehicle["mass"] * GRAVITY
        self._largest = largest_thrust(fleet)
        self._hovers = _hovers(fleet, self._spare)

    def take_feedback(self, feedback: LostRotors) -> None:
        """Takes the watch on the rotors; see interfaces.UsesFeedback."""
        self.mixer.take_feedback(feedback)
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the lifting rotors among used, (A,) bool."""
        self.mixer.use_rotors(i, used)

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Writes commands (N, A): rotors 0..1, 0 if disarmed; servos that tilt them -1..1."""
        self.mixer.step(status, parameters, estimator, dt, commands)
        lost = self.mixer.lost_rotors.lost
        spare = self._spare[np.arange(len(lost)), lost]
        self.spins[:] = np.where((lost >= 0) & ~spare, lost, -1)
        spin_fleet(
            status,
            estimator.records,
            self._fleet.actuator,
            self.spins,
            *self._hovers,
            self._weight,
            self._largest,
            dt,
            self._given,
            self._wanted,
            commands,
        )


def _hovers(fleet: FleetModel, spare: np.ndarray) -> RelaxedHover:
    """Returns RelaxedHover for each vehicle and each lost rotor, (N, 4, ...); 0 where not needed.

    Raises:
        XtdroneError: A vehicle cannot fly without one of its rotors.
    """
    n = fleet.n
    out = RelaxedHover(
        np.ones((n, ROTORS, GRID)),
        np.zeros((n, ROTORS, GRID, ROTORS)),
        np.zeros((n, ROTORS, GRID, 2)),
        np.zeros((n, ROTORS, GRID, 3)),
        np.zeros((n, ROTORS, GRID, ROTORS, 4 + ROTORS)),
    )
    first: dict[int, int] = {}
    for i, vehicle in enumerate(fleet.vehicles):
        alike = first.setdefault(id(vehicle), i)
        for lost in range(fleet.n_rotors[i]):
            if not spare[i, lost]:
                found = (
                    [array[alike, lost] for array in out]
                    if alike != i
                    else relaxed_hover(fleet, i, lost)
                )
                for array, values in zip(out, found, strict=True):
                    array[i, lost] = values
    return out
