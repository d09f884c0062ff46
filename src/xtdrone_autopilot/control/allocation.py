"""Control allocation: collective thrust and torque to rotor commands.

The pseudo-inverse of the effectiveness matrix in hover gives rotor thrusts. XTDrone (3) turns them
into rotor speeds, and those into commands 0..1. Fully actuated vehicles, and those whose servos
tilt rotors, are allocated by vectoring.py.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, MULTICOPTER, lifting_rotors
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit

from ..interfaces import Estimator
from ..state.vehicle_status import NO_SET_POINT
from .vector import air_velocity, clamp
from .vectoring import Vectoring, allocate, command_servos, tilt_forwards

YAW_THRUST_MARGIN = 0.15  # fraction of a rotor's range that yaw may take from the collective
IDLE_COMMAND = 0.01  # command of an armed rotor without a set-point
SWEEPS = 40  # number of coordinate-descent sweeps for a vehicle with a failed rotor
# Weights of the errors of collective thrust and of roll, pitch and yaw torque in that descent, for
# normalised rows of the effectiveness matrix; and the weight of each rotor's thrust.
WEIGHTS = np.array([1.0, 30.0, 30.0, 0.05])
MIN_WEIGHT = 1e-4


@njit
def tilt_fraction(tilt: float, carried: float) -> float:
    """Returns the largest fraction of roll and pitch that keeps a rotor's thrust above zero.

    Args:
        tilt: Thrust of the rotor for roll and pitch [N].
        carried: Thrust of the rotor for the collective [N].
    """
    return max(carried, 0.0) / -tilt if tilt < 0.0 else 1.0


@njit
def thrust_range(
    lowest: float, highest: float, yaw_peak: float, smallest_max: float, max_fraction: float
) -> tuple[float, float, float]:
    """Returns how far roll and pitch are followed, and the limits of the collective then.

    Only MC_AIRMODE lets the collective rise for roll and pitch. Without it, a vehicle that reduces
    its thrust to land does not lift off again by levelling itself.

    Args:
        lowest, highest: Smallest and largest thrust of a rotor for roll and pitch, including 0 [N].
        yaw_peak: Largest thrust of a rotor for yaw [N].
        smallest_max: Smallest maximum thrust of the rotors [N].
        max_fraction: Smallest tilt_fraction() without MC_AIRMODE, 1 with it.

    Returns:
        (fraction of roll and pitch, smallest and largest thrust of each rotor [N]).
    """
    fraction = smallest_max / (highest - lowest) if highest - lowest > smallest_max else 1.0
    fraction = min(fraction, max_fraction)
    low = -lowest * fraction
    high = max(
        smallest_max - highest * fraction - min(yaw_peak, YAW_THRUST_MARGIN * smallest_max), low
    )
    return fraction, low, high


@njit
def yaw_fraction(yaw: float, thrust: float, max_thrust: float) -> float:
    """Returns the fraction of a rotor's thrust for yaw [N] that its thrust range allows."""
    margin = max(max_thrust - thrust, 0.0) if yaw > 0.0 else max(thrust, 0.0)
    return margin / abs(yaw) if abs(yaw) > 1e-9 else 1.0


@njit
def _allocate_by_pseudo_inverse(
    vehicle: Record,
    params: Record,
    mixer: np.ndarray,
    max_thrust: np.ndarray,
    n_rotors: int,
    thrust: np.ndarray,
) -> None:
    """Writes each rotor's thrust [N]; roll and pitch go before the collective, yaw comes last."""
    lowest, highest, yaw_peak, smallest_max, max_fraction = 0.0, 0.0, 0.0, math.inf, 1.0
    for rotor in range(n_rotors):
        tilt = mixer[rotor, 3] * vehicle.sp_torque[0] + mixer[rotor, 4] * vehicle.sp_torque[1]
        thrust[rotor] = tilt
        lowest = min(lowest, tilt)
        highest = max(highest, tilt)
        yaw_peak = max(yaw_peak, abs(mixer[rotor, 5] * vehicle.sp_torque[2]))
        smallest_max = min(smallest_max, max_thrust[rotor])
        if params.MC_AIRMODE == 0:
            max_fraction = min(
                max_fraction, tilt_fraction(tilt, mixer[rotor, 2] * vehicle.sp_thrust)
            )
    fraction, low, high = thrust_range(lowest, highest, yaw_peak, smallest_max, max_fraction)
    # Yaw gets the rest of the thrust range.
    max_fraction = 1.0
    for rotor in range(n_rotors):
        thrust[rotor] = fraction * thrust[rotor] + clamp(
            mixer[rotor, 2] * vehicle.sp_thrust, low, high
        )
        max_fraction = min(
            max_fraction,
            yaw_fraction(mixer[rotor, 5] * vehicle.sp_torque[2], thrust[rotor], max_thrust[rotor]),
        )
    for rotor in range(n_rotors):
        thrust[rotor] = clamp(
            thrust[rotor] + max_fraction * mixer[rotor, 5] * vehicle.sp_torque[2],
            0.0,
            max_thrust[rotor],
        )


@njit
def rotor_command(
    thrust: float, motor_constant: float, scaling: float, zero: float, weight: float
) -> float:
    """Returns the command 0..1 of a rotor for a thrust.

    Args:
        thrust: [N].
        motor_constant, scaling, zero: Constants of xtdrone_core.vehicle.Rotor.
        weight: Factor of the command, hover_weight of VEHICLE_STATUS.
    """
    command = (math.sqrt(thrust / motor_constant) - zero) / scaling
    return clamp(weight * command, IDLE_COMMAND, 1.0)


@njit
def _allocate_within_limits(
    vehicle: Record,
    gain: np.ndarray,
    hessian: np.ndarray,
    max_thrust: np.ndarray,
    used: np.ndarray,
    n_rotors: int,
    thrust: np.ndarray,
) -> None:
    """Writes each rotor's thrust [N] after a rotor failure: the optimum within the thrust limits.

    A hexarotor with one failed rotor hovers with the opposite rotor stopped, where the
    pseudo-inverse gives negative thrusts. Coordinate descent from the thrusts of the last step
    minimises the weighted squares of the errors of thrust and torque.
    """
    for _ in range(SWEEPS):
        for rotor in range(n_rotors):
            if not used[rotor]:
                thrust[rotor] = 0.0
                continue
            descent = gain[rotor, 0] * vehicle.sp_thrust
            for k in range(3):
                descent += gain[rotor, k + 1] * vehicle.sp_torque[k]
            for other in range(n_rotors):
                descent -= hessian[rotor, other] * thrust[other]
            thrust[rotor] = clamp(
                thrust[rotor] + descent / hessian[rotor, rotor], 0.0, max_thrust[rotor]
            )


@njit
def vector_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    models: np.ndarray,
    bodies: np.ndarray,
    joints: np.ndarray,
    actuators: np.ndarray,
    half_wings: np.ndarray,
    vectored: np.ndarray,
    tiltrotor: np.ndarray,
    forward_weight: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    position: np.ndarray,
    dt: float,
    thrust: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Writes thrusts (N, A) and servo commands of the vehicles in a vectoring.Vectoring.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        models, bodies, joints, actuators, half_wings: Records of the FleetModel.
        vectored: (N,) bool, Vectoring.used.
        tiltrotor, forward_weight, weight, scale, low, high, values, position: See Vectoring.
        dt: Length of the step [s].
        thrust: (N, A) output, thrusts of the rotors [N].
        commands: (N, A) output, commands of the servos -1..1.
    """
    for i in range(status.shape[0]):
        if not vectored[i]:
            continue
        flies = status[i].armed and status[i].sp_kind != NO_SET_POINT
        if tiltrotor[i]:
            tilt_forwards(
                status[i],
                actuators[i],
                weight[i],
                forward_weight[i],
                scale[i],
                low[i],
                high[i],
                values[i],
                position[i],
            )
        if flies and status[i].vehicle_type == FIXED_WING:
            pass  # fixed_wing.stack commands the rotors by the throttle
        elif flies:
            allocate(
                status[i],
                parameters[i],
                models[i : i + 1],
                bodies[i : i + 1],
                joints[i : i + 1],
                actuators[i : i + 1],
                half_wings[i : i + 1],
                air_velocity(status[i], estimates[i]) if models[i].half_wings else (0.0, 0.0, 0.0),
                weight[i],
                scale[i],
                low[i],
                high[i],
                values[i],
            )
        else:
            values[i] = 0.0
        for rotor in range(models[i].rotors):
            thrust[i, rotor] = values[i, rotor]
        command_servos(actuators[i], scale[i], values[i], position[i], dt, commands[i])


@fleet_kernel
def mix_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    actuators: np.ndarray,
    mixer: np.ndarray,
    gain: np.ndarray,
    hessian: np.ndarray,
    used: np.ndarray,
    intact: np.ndarray,
    vectored: np.ndarray,
    max_thrust: np.ndarray,
    n_rotors: np.ndarray,
    thrust: np.ndarray,
    commands: np.ndarray,
) -> None:
    """Writes the commands (N, A) of the rotors.

    Args:
        status, parameters: (N,) records of VEHICLE_STATUS and of the parameters.
        actuators: (N, A) records of the FleetModel.
        mixer: (N, A, 6) Mixer.pseudo_inverse.
        gain, hessian, used, intact, max_thrust, n_rotors: See Mixer.
        vectored: (N,) bool, vehicles whose `thrust` vector_fleet() has written.
        thrust: (N, A) thrusts of the last step, overwritten [N].
        commands: (N, A) output, 0..1.
    """
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vehicle_type != MULTICOPTER:
            continue
        if not vehicle.armed:
            for rotor in range(commands.shape[1]):
                commands[i, rotor] = 0.0
            continue
        if vehicle.sp_kind == NO_SET_POINT:
            for rotor in range(n_rotors[i]):
                commands[i, rotor] = IDLE_COMMAND
            continue
        if intact[i] and not vectored[i]:
            _allocate_by_pseudo_inverse(
                vehicle, parameters[i], mixer[i], max_thrust[i], n_rotors[i], thrust[i]
            )
        elif not vectored[i]:
            _allocate_within_limits(
                vehicle, gain[i], hessian[i], max_thrust[i], used[i], n_rotors[i], thrust[i]
            )
        for rotor in range(n_rotors[i]):
            actuator = actuators[i, rotor]
            commands[i, rotor] = rotor_command(
                thrust[i, rotor],
                actuator.motor_constant,
                actuator.input_scaling,
                actuator.zero_position_armed,
                vehicle.hover_weight,
            )


class Mixer(Memory):
    """Mixer of a fleet; implements interfaces.Mixer.

    Attributes:
        pseudo_inverse: (N, A, 6) thrust of each rotor for force [1] and torque [1/m].
        gain: (N, A, 4) and hessian: (N, A, A), normal equations of the allocation with limits.
        used: (N, A) bool, rotors in use.
        intact: (N,) bool, whether all lifting rotors are in use.
        max_thrust: (N, A) [N].
        n_rotors: (N,) number of rotors.
        vectoring: Allocation of the vehicles that tilt their thrust.
    """

    MEMORY = ("pseudo_inverse", "gain", "hessian", "used", "intact", "_thrust", "vectoring")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with all lifting rotors of the fleet in use."""
        self._fleet, self._lifting = fleet, lifting_rotors(fleet)
        n, width = fleet.actuator.shape
        self.pseudo_inverse, self.gain = np.zeros((n, width, 6)), np.zeros((n, width, 4))
        self.hessian = np.zeros((n, width, width))
        self.used = np.zeros((n, width), dtype=np.bool_)
        self.intact = np.ones(n, dtype=np.bool_)
        self._effectiveness = effectiveness(fleet)
        self.vectoring = Vectoring(fleet)
        for i in range(fleet.n):
            self.use_rotors(i, fleet.rotor_mask[i])
        self.max_thrust = np.where(fleet.rotor_mask & ~self._lifting, np.inf, largest_thrust(fleet))
        self.n_rotors = fleet.n_rotors
        self._thrust = np.zeros((n, width))
        self.remember_start()

    def use_rotors(self, i: int, used: np.ndarray) -> None:
        """Allocates vehicle i to the lifting rotors among used, (A,) bool."""
        used = used & self._lifting[i]
        matrix = self._effectiveness[i, 2:]
        self.pseudo_inverse[i] = 0.0
        self.pseudo_inverse[i, used, 2:] = np.linalg.pinv(matrix[:, used])
        self.used[i] = used
        self.intact[i] = (used == self._lifting[i]).all()
        self.vectoring.use_rotors(i, used)
        n_rotors = max(self._fleet.vehicle["rotors"][i], 1)
        size = np.sqrt((matrix**2).sum(axis=1) / n_rotors)
        weights = WEIGHTS / np.maximum(size, 1e-9) ** 2
        self.gain[i] = matrix.T * weights
        self.hessian[i] = (matrix.T * weights) @ matrix
        self.hessian[i].flat[:: matrix.shape[1] + 1] += MIN_WEIGHT

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Writes commands (N, A): rotors 0..1, 0 if disarmed; servos that tilt them -1..1."""
        self.vectoring.step(vector_fleet, status, parameters, estimator, dt, self._thrust, commands)
        mix_fleet(
            status,
            parameters,
            self._fleet.actuator,
            self.pseudo_inverse,
            self.gain,
            self.hessian,
            self.used,
            self.intact,
            self.vectoring.used,
            self.max_thrust,
            self.n_rotors,
            self._thrust,
            commands,
        )
