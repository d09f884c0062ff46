"""The mixer that allocates by weighted least squares; `--mixer least_squares`.

Roll and pitch go first, then the collective thrust, then yaw, by their weights. A rotor that gives
no thrust is taken out as soon as it is found.
"""

import numpy as np

from xtdrone_autopilot.control.allocation import IDLE_COMMAND, rotor_command, vector_fleet
from xtdrone_autopilot.control.vectoring import Vectoring, allocate, torque_fraction
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import NO_SET_POINT, describe_lost_rotors
from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, lifting_rotors
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit, rebuilt
from xtdrone_dynamics.constants import GRAVITY

from .active_set import solve, solve_change
from .lost_rotors import LostRotors
from .surfaces import Surfaces

# Weights of the errors of collective thrust and of roll, pitch and yaw torque, for normalised rows
# of the effectiveness matrix; and the weight of each rotor's thrust.
WEIGHTS = np.array([1.0, 100.0, 100.0, 0.01])
MIN_WEIGHT = 1e-5
SMALL_TORQUE = 0.02  # that must be left without a rotor, over the weight and the longest arm


# The vehicles that tilt their thrust: the flight stack's steps, each with the optimum.
_vector_fleet = rebuilt(
    vector_fleet,
    (solve_change,),
    allocate=rebuilt(allocate, (solve_change,), solve_within=solve_change),
)


@njit
def allocate_one(
    vehicle: Record,
    params: Record,
    gain: np.ndarray,
    hessian: np.ndarray,
    max_thrust: np.ndarray,
    count: int,
    right: np.ndarray,
    zero: np.ndarray,
    bound: np.ndarray,
    factor: np.ndarray,
    move: np.ndarray,
    thrust: np.ndarray,
) -> None:
    """Writes the thrust of each rotor of one vehicle.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        gain: (A, 4), hessian: (A, A), see LeastSquares.
        max_thrust: (A,) 0 for rotors that are not used [N].
        count: Number of rotors.
        right, bound, move: (A,) scratch.
        zero: (A,) zeros.
        factor: (A, A) scratch.
        thrust: (A,) of the last step, overwritten [N].
    """
    fraction = torque_fraction(vehicle, params)
    for k in range(count):
        right[k] = gain[k, 0] * vehicle.sp_thrust
        for axis in range(3):
            right[k] += gain[k, axis + 1] * fraction * vehicle.sp_torque[axis]
    solve(hessian, right, zero, max_thrust, thrust, count, bound, factor, move)


@fleet_kernel
def allocate_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    actuators: np.ndarray,
    gain: np.ndarray,
    hessian: np.ndarray,
    max_thrust: np.ndarray,
    vectored: np.ndarray,
    n_rotors: np.ndarray,
    scratch: np.ndarray,
    factor: np.ndarray,
    thrust: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Writes the commands (N, A) of the rotors of multicopters.

    Args:
        status, parameters: (N,) records of VEHICLE_STATUS and of the parameters.
        actuators: (N, A) records of the FleetModel.
        gain, hessian, max_thrust, n_rotors: See LeastSquares.
        vectored: (N,) bool, vehicles whose `thrust` is there already.
        scratch: (4, A) of which the first row is zeros.
        factor: (A, A) scratch.
        thrust: (N, A) thrusts of the last step, overwritten [N].
        commands: (N, A) output, 0..1.
    """
    for i in range(status.shape[0]):
        vehicle, count = status[i], n_rotors[i]
        if vehicle.vehicle_type != MULTICOPTER:
            continue
        if not vehicle.armed:
            commands[i] = 0.0
            continue
        if vehicle.sp_kind == NO_SET_POINT:
            commands[i, :count] = IDLE_COMMAND
            continue
        if not vectored[i]:
            allocate_one(
                vehicle,
                parameters[i],
                gain[i],
                hessian[i],
                max_thrust[i],
                count,
                scratch[1],
                scratch[0],
                scratch[2],
                factor,
                scratch[3],
                thrust[i],
            )
        for rotor in range(count):
            actuator = actuators[i, rotor]
            commands[i, rotor] = rotor_command(
                thrust[i, rotor],
                actuator.motor_constant,
                actuator.input_scaling,
                actuator.zero_position_armed,
                vehicle.hover_weight,
            )


class LeastSquares(Memory):
    """Weighted least squares within the limits of the actuators; takes lost rotors out at once.

    It implements interfaces.Mixer. A rotor is lost when it gives no thrust for 0.08 s, whatever
    CA_FAILURE_MODE says; FD_ACT_EN = 0 turns the watch off. It is taken out if the others can hover
    without it: a quadrotor falls either way, and should not for a false alarm.

    Attributes:
        gain: (N, A, 4) and hessian: (N, A, A), normal equations in the thrusts of the rotors, for
            collective thrust and torques.
        max_thrust: (N, A) 0 for rotors that are not used [N].
        n_rotors: (N,) number of rotors.
        vectoring: Allocation of the vehicles that tilt their thrust.
        surfaces: Allocation to the surfaces of planes that a rate loop gives a torque set-point.
        lost_rotors: The watch on the rotors.
    """

    FEEDBACK = LostRotors
    MEMORY = ("max_thrust", "_used", "_lost", "_thrust", "vectoring", "surfaces", "lost_rotors")
    lost_rotors: LostRotors

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with all lifting rotors of the fleet in use."""
        self._fleet, self._lifting = fleet, lifting_rotors(fleet)
        n, width = fleet.actuator.shape
        self._largest = largest_thrust(fleet)
        self.gain, self.hessian = normal_equations(fleet)
        self.n_rotors = fleet.n_rotors
        self.vectoring, self.surfaces = Vectoring(fleet), Surfaces(fleet)
        self.max_thrust = np.where(self._lifting, self._largest, 0.0)
        self._spare = spare_rotors(fleet)
        self._used = fleet.rotor_mask.copy()
        self._lost = np.full(n, -1, dtype=np.int16)
        self._thrust, self._scratch = np.zeros((n, width)), np.zeros((4, width))
        self._factor = np.zeros((width, width))

    def take_feedback(self, feedback: LostRotors) -> None:
        """Takes the watch on the rotors; see interfaces.UsesFeedback."""
        self.lost_rotors = feedback
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the lifting rotors among used, (A,) bool."""
        self._used[i] = used
        self._limit(i)

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Writes commands (N, A): rotors 0..1, 0 if disarmed; servos that tilt them -1..1."""
        self._take_out(status, parameters["FD_ACT_EN"])
        self.vectoring.step(
            _vector_fleet, status, parameters, estimator, dt, self._thrust, commands
        )
        allocate_fleet(
            status,
            parameters,
            self._fleet.actuator,
            self.gain,
            self.hessian,
            self.max_thrust,
            self.vectoring.used,
            self.n_rotors,
            self._scratch,
            self._factor,
            self._thrust,
            commands,
        )
        self.surfaces.step(status, parameters, estimator, dt, commands)

    def _take_out(self, status: np.ndarray, watched: np.ndarray) -> None:
        """Takes out the rotors that have been lost since the last step, (N,) watched or not."""
        self.lost_rotors.watched[:] = watched
        lost = self.lost_rotors.lost
        spare = self._spare[np.arange(len(lost)), lost]
        lost = np.where((lost >= 0) & spare, lost, -1)
        for i in np.flatnonzero(lost != self._lost):
            self._lost[i] = lost[i]
            describe_lost_rotors(status, self._fleet, i, self._limit(i))

    def _limit(self, i: int) -> np.ndarray:
        """Sets the limits of vehicle i by the rotors that it may use; returns these, (A,) bool."""
        used = self._used[i] & (np.arange(self._used.shape[1]) != self._lost[i])
        self.max_thrust[i] = np.where(used & self._lifting[i], self._largest[i], 0.0)
        self.vectoring.use_rotors(i, used)
        return used


def normal_equations(fleet: FleetModel) -> tuple[np.ndarray, np.ndarray]:
    """Returns the weighted normal equations in the rotors' thrusts.

    Returns:
        gain (N, A, 4) for collective thrust and torques, hessian (N, A, A).
    """
    matrix = effectiveness(fleet)[:, 2:]
    rotors = np.maximum(fleet.n_rotors, 1)[:, None]
    size = np.sqrt((matrix**2).sum(axis=2) / rotors)
    weights = WEIGHTS / np.maximum(size, 1e-9) ** 2
    gain = np.ascontiguousarray((matrix * weights[:, :, None]).transpose(0, 2, 1))
    hessian = gain @ matrix + MIN_WEIGHT * np.eye(matrix.shape[2])
    return gain, hessian


def spare_rotors(fleet: FleetModel) -> np.ndarray:
    """Returns (N, A) bool, rotors without which the others carry the vehicle and roll and pitch it.

    Yaw is given up for it.
    """
    matrices, largest = effectiveness(fleet)[:, 2:], largest_thrust(fleet)
    gain, hessian = normal_equations(fleet)
    lifting, weight = lifting_rotors(fleet), fleet.vehicle["mass"] * GRAVITY
    spare = np.zeros(lifting.shape, dtype=np.bool_)
    for i, k in np.argwhere(lifting):
        high = np.where(lifting[i], largest[i], 0.0)
        high[k] = 0.0
        torque = SMALL_TORQUE * weight[i] * abs(matrices[i, 1:3]).max()
        spare[i, k] = True
        for roll, pitch in ((torque, 0.0), (-torque, 0.0), (0.0, torque), (0.0, -torque)):
            wanted = np.array([weight[i], roll, pitch, 0.0])
            thrusts = solve_change(hessian[i], gain[i] @ wanted, np.zeros(len(high)), high)
            error = abs(matrices[i] @ thrusts - wanted)
            spare[i, k] &= error[0] < 0.05 * weight[i] and error[1:3].max() < 0.5 * torque
    return spare
