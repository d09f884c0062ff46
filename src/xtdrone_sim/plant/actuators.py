"""All actuators of a fleet and the aerodynamics in one compiled kernel: commands to wrenches.

Each kind of actuator is one row of a table, `_act`, which calls the kind's scalar function in
xtdrone_dynamics. A user-defined kind brings its own function, `act`.
"""

import math
import types

import numba
import numpy as np

from xtdrone_core import FleetModel, FleetState
from xtdrone_core.fleet_model import PROPELLER, ROTOR, SERVO, SURFACE, WHEEL
from xtdrone_core.snapshot import Memory
from xtdrone_core.vehicle import KINDS
from xtdrone_dynamics import aerodynamics, atmosphere, quaternion, rotor, servo
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY


class ActuatorStage(Memory):
    """Actuators and aerodynamics of a fleet: lag, XTDrone (3)-(6) at every hub, named effects.

    H-force and rolling moment use the mean rotor speed over the step, thrust and drag moment
    the mean of its square. The impulse of a step is then exact although the engine applies one
    constant wrench per step.

    Attributes:
        wind: (N, 3) velocity of the air at each vehicle, world frame [m/s]; modify in place.
        density: (N,) density of the air at each vehicle [kg/m^3].
        speed_share: (N,) fraction of maxRotVelocity that the battery voltage allows.
        effectiveness: (N, A) fraction of a rotor's nominal force; 1 unless damaged.
        power: (N,) total shaft power in the last step [W].
        wrench: (N, B, 6) wrench of the last step on each body: force [N], then torque about the
            body's origin [N m], world frame.
        joint_targets: (N, J) joint targets of this step [rad] or [m].
    """

    MEMORY = ("wind", "density", "speed_share", "effectiveness", "power", "joint_targets")

    def __init__(self, fleet: FleetModel, altitude: float = 0.0):
        """Starts with all actuators at rest.

        Args:
            fleet: The vehicles.
            altitude: Height of the world's origin above mean sea level [m].
        """
        n = fleet.n
        self.wind = np.zeros((n, 3))
        self.density = np.full(n, SEA_LEVEL_DENSITY)
        self.speed_share = np.ones(n)
        self.effectiveness = np.ones(fleet.actuator.shape)
        self.power = np.zeros(n)
        self.wrench = np.zeros((*fleet.body.shape, 6))
        self.joint_targets = np.zeros(fleet.joint.shape)
        self._fleet = fleet
        self._altitude = altitude
        self._air = np.zeros((n, 3))
        self._step = _step if fleet.kinds == KINDS else _step_with(fleet.kinds[len(KINDS):])
        self._downwash = bool(fleet.effects["wake_radius"].any())
        self.remember_start()

    def step(self, commands: np.ndarray, state: FleetState, dt_us: int) -> np.ndarray:
        """Advances the actuators by one step; returns the wrenches of actuators and aerodynamics.

        Args:
            commands: (N, A), clipped to each actuator's range; exactly 0 stops a rotor, any other
                value starts at zero_position_armed.
            state: The fleet at the start of the step; its `actuator` is advanced in place.
            dt_us: Length of the step [us].

        Returns:
            `wrench`. `joint_targets` and `power` are also those of this step.
        """
        fleet, air = self._fleet, self.wind
        if self._downwash:
            air = self._air
            air[:] = self.wind
            _add_downwash(fleet.vehicle, fleet.actuator, fleet.effects, self.effectiveness,
                          state.pos, state.actuator, self.density, air)
        self._step(commands, fleet.vehicle, fleet.actuator, fleet.effects, self._altitude,
                   self.speed_share, self.effectiveness, state.body_pos, state.body_quat,
                   state.body_vel, state.body_ang_vel, air, self.density, dt_us * 1e-6,
                   state.actuator, self.wrench, self.joint_targets, self.power)
        return self.wrench


@njit
def _add_downwash(vehicle, actuator, effects, effectiveness, pos, speed, density, air):
    """Adds the wakes of vehicles above to the wind; wakes point straight down."""
    for i in range(vehicle.shape[0]):
        e = effects[i]
        if e.wake_radius == 0.0:
            continue
        thrust = 0.0
        for k in range(vehicle[i].rotors):
            thrust += (effectiveness[i, k] * actuator[i, k].motor_constant * speed[i, k]
                       * speed[i, k])
        for j in range(vehicle.shape[0]):
            aside = math.hypot(pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1])
            air[j, 2] -= aerodynamics.downwash(thrust, e.disc_area, e.wake_radius, density[i],
                                               pos[i, 2] - pos[j, 2], aside)


@njit(forceinline=True)
def _act(a, e, command, value, speed_share, ratio, height, vx, vy, vz, dt):
    """Dispatches one step of an actuator to the function of its kind.

    Args:
        a: Record of the actuator.
        e: Record of its vehicle's effects.
        command: Command in lower..upper.
        value: Speed or position at the start of the step.
        speed_share: Fraction of the largest speed that the battery voltage allows.
        ratio: Factor on the actuator's forces from air density and damage.
        height: Height of the actuator above z = 0 [m].
        vx, vy, vz: Velocity of the actuator relative to the air, frame of its body [m/s].
        dt: Length of the step [s].

    Returns:
        (value at the end, force xyz [N] and moment xyz [N m] at the actuator, frame of its body,
        shaft power [W]).
    """
    if a.kind == ROTOR:
        return rotor.act(a, e, command, value, speed_share, ratio, height, vx, vy, vz, dt)
    if a.kind == SERVO or a.kind == SURFACE:
        return servo.act(a, command, value, dt)
    if a.kind == WHEEL:
        return servo.turn(a, command, value, a.time_constant, a.time_constant, dt)
    if a.kind == PROPELLER:
        return servo.turn(a, command, value, a.time_constant_up, a.time_constant_down, dt)
    return value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@njit
def _step(commands, vehicle, actuator, effects, altitude, speed_share, effectiveness, pos, quat,
          vel, ang_vel, air, density, dt, value, wrench, joint_targets, power):
    for i in range(vehicle.shape[0]):
        e = effects[i]
        if e.air_density:
            density[i] = atmosphere.density(altitude + pos[i, 0, 2])
        thickness = density[i] / SEA_LEVEL_DENSITY
        total, share = 0.0, speed_share[i]
        n_actuators = vehicle[i].actuators
        for b in range(vehicle[i].bodies):
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(
                qx, qy, qz, qw, vel[i, b, 0] - air[i, 0], vel[i, b, 1] - air[i, 1],
                vel[i, b, 2] - air[i, 2])
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            fx = fy = fz = 0.0
            if b == 0:
                fx, fy, fz = aerodynamics.drag(e, density[i], ux, uy, uz)
            mx = my = mz = 0.0
            for j in range(n_actuators):
                a = actuator[i, j]
                if a.body != b:
                    continue
                command = min(a.upper, max(a.lower, commands[i, j]))
                rx, ry, rz = a.pos[0], a.pos[1], a.pos[2]
                height = 0.0
                if e.ground_radius > 0.0:
                    height = pos[i, b, 2] + quaternion.rotate(qx, qy, qz, qw, rx, ry, rz)[2]
                value[i, j], hx, hy, hz, bx, by, bz, shaft = _act(
                    a, e, command, value[i, j], share, thickness * effectiveness[i, j],
                    height, ux + wy * rz - wz * ry, uy + wz * rx - wx * rz,
                    uz + wx * ry - wy * rx, dt)
                if a.kind == SERVO:
                    joint_targets[i, a.joint] = value[i, j]
                total += shaft
                fx, fy, fz = fx + hx, fy + hy, fz + hz
                mx += bx + ry * hz - rz * hy
                my += by + rz * hx - rx * hz
                mz += bz + rx * hy - ry * hx
            w = wrench[i, b]
            w[0], w[1], w[2] = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            w[3], w[4], w[5] = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
        power[i] = total


def _step_with(kinds):
    """Compiles _step with a dispatch table that includes these kinds."""
    act = _act
    for number, kind in enumerate(kinds, len(KINDS) + 1):
        act = _extended(act, number, kind.act)
    plain = _step.py_func
    extended = types.FunctionType(plain.__code__, {**plain.__globals__, "_act": act})
    return numba.njit(error_model="numpy")(extended)


def _extended(act, number, own):
    """A dispatch function with one more kind."""
    @numba.njit(error_model="numpy")
    def either(a, e, command, value, speed_share, ratio, height, vx, vy, vz, dt):
        if a.kind == number:
            return own(a, e, command, value, speed_share, ratio, height, vx, vy, vz, dt)
        return act(a, e, command, value, speed_share, ratio, height, vx, vy, vz, dt)

    return either
