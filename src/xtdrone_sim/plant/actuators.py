"""All actuators, wings and aerodynamics of a fleet in compiled kernels: commands to wrenches.

Each kind of actuator is one row of a table, `_act`, which calls the kind's scalar function in
xtdrone_dynamics. A user-defined kind brings its own function, `act`.
"""

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from xtdrone_core import FleetModel, FleetState
from xtdrone_core.fleet_model import GRIPPER, PROPELLER, ROTOR, SERVO, SURFACE, WHEEL
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.vehicle import KINDS, Actuator
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_dynamics.earth import atmosphere
from xtdrone_dynamics.earth.waves import WAVE
from xtdrone_dynamics.forces import aerodynamics, half_wing, propeller, rotor, servo, wing

from .ground import add_tyres
from .water import add_hulls, add_hulls_in_waves, levels_in_waves

_WATER = 6  # place of the water's level among the arguments of step_actuators()


class ActuatorStage(Memory):
    """Actuators and aerodynamics of a fleet: lag, XTDrone (3)-(6) at every hub, named effects.

    H-force and rolling moment use the mean rotor speed over the step, thrust and drag moment
    the mean of its square. The impulse of a step is then exact although the engine applies one
    constant wrench per step.

    Attributes:
        wind: (N, 3) velocity of the air at each vehicle, world frame [m/s]; modify in place.
        density: (N,) density of the air at each vehicle [kg/m^3].
        speed_limit: (N,) fraction of maxRotVelocity that the battery voltage allows.
        effectiveness: (N, A) fraction of a rotor's nominal force; 1 unless damaged.
        power: (N,) total shaft power in the last step [W].
        wrench: (N, B, 6) wrench of the last step on each body: force [N], then torque about the
            body's origin [N m], world frame.
        joint_targets: (N, J) joint targets of this step [rad] or [m].
        tread: (N, T, 2) deflection of the tyres, in the direction of rolling and to the left [m].
        waves: (K,) of xtdrone_dynamics.earth.waves.WAVE; none in still water.
    """

    MEMORY = ("wind", "density", "speed_limit", "effectiveness", "power", "joint_targets", "tread")

    def __init__(
        self,
        fleet: FleetModel,
        altitude: float = 0.0,
        water: float = -math.inf,
        water_weight: float = 0.0,
    ):
        """Starts with all actuators at rest.

        Args:
            fleet: The vehicles.
            altitude: Height of the world's origin above mean sea level [m].
            water: Height of the water's surface above the world's origin [m]; -inf without water.
            water_weight: Weight of the water over its volume [N/m^3].
        """
        n = fleet.n
        self.wind = np.zeros((n, 3))
        self.density = np.full(n, SEA_LEVEL_DENSITY)
        self.speed_limit = np.ones(n)
        self.effectiveness = np.ones(fleet.actuator.shape)
        self.power = np.zeros(n)
        self.wrench = np.zeros((*fleet.body.shape, 6))
        self.joint_targets = np.zeros(fleet.joint.shape)
        self.tread = np.zeros((*fleet.tyre.shape, 2))
        self._water = float(water), float(water_weight)
        self.waves = np.zeros(0, dtype=WAVE)
        self._levels = np.zeros(n)  # of the water at each vehicle, in waves [m]
        self._fleet = fleet
        self._altitude = altitude
        self._air = np.zeros((n, 3))
        self._step = (
            step_actuators if fleet.kinds == KINDS else _step_with(fleet.kinds[len(KINDS) :])
        )
        self._downwash = bool(fleet.effects["wake_radius"].any())
        self.remember_start()

    def step(
        self, commands: np.ndarray, state: FleetState, dt_us: int, t_us: int = 0
    ) -> np.ndarray:
        """Advances the actuators by one step; returns the wrenches of actuators and aerodynamics.

        Args:
            commands: (N, A), clipped to each actuator's range; exactly 0 stops a rotor, any other
                value starts at zero_position_armed.
            state: The fleet at the start of the step; its `actuator` is advanced in place.
            dt_us: Length of the step [us].
            t_us: Time at its start since waves began to grow [us].

        Returns:
            `wrench`. `joint_targets` and `power` are also those of this step.
        """
        fleet, air = self._fleet, self.wind
        if self._downwash:
            air = self._air
            air[:] = self.wind
            add_downwash(
                fleet.vehicle,
                fleet.actuator,
                fleet.effects,
                self.effectiveness,
                state.pos,
                state.actuator,
                self.density,
                air,
            )
        rotors_and_more = (
            commands,
            fleet.vehicle,
            fleet.actuator,
            fleet.effects,
            fleet.propellers,
            self._altitude,
            self._water[0],
            self.speed_limit,
            self.effectiveness,
            state.body_pos,
            state.body_quat,
            state.body_vel,
            state.body_ang_vel,
            air,
            self.density,
            dt_us * 1e-6,
            state.actuator,
            self.wrench,
            self.joint_targets,
            self.power,
        )
        if self.waves.size:
            self._step_each(rotors_and_more, state.pos, t_us * 1e-6)
        else:
            self._step(*rotors_and_more)
        if fleet.wing.size:
            add_wings(
                fleet.vehicle,
                fleet.wing,
                fleet.actuator,
                fleet.effects,
                self.effectiveness,
                state.body_quat,
                state.body_vel,
                state.body_ang_vel,
                air,
                self.density,
                state.actuator,
                self.wrench,
            )
        if fleet.half_wing.size:
            add_half_wings(
                fleet.vehicle,
                fleet.half_wing,
                fleet.actuator,
                self.effectiveness,
                state.body_quat,
                state.body_vel,
                state.body_ang_vel,
                air,
                self.density,
                state.actuator,
                self.wrench,
            )
        if fleet.tyre.size:
            add_tyres(
                fleet.vehicle,
                fleet.tyre,
                state.tyre_load,
                state.body_quat,
                state.body_vel,
                state.body_ang_vel,
                state.actuator,
                self.tread,
                dt_us * 1e-6,
                self.wrench,
            )
        if fleet.hull.size:
            bodies = (
                state.body_pos,
                state.body_quat,
                state.body_vel,
                state.body_ang_vel,
                self.wrench,
            )
            if self.waves.size:
                sea = *self._water, self.waves, t_us * 1e-6
                add_hulls_in_waves(fleet.vehicle, fleet.hull, *sea, *bodies)
            else:
                add_hulls(fleet.vehicle, fleet.hull, *self._water, *bodies)
        return self.wrench

    def _step_each(self, arguments: tuple[Any, ...], pos: np.ndarray, t: float) -> None:
        """Steps the actuators of each vehicle by itself, whose water has its own level."""
        levels_in_waves(self.waves, self._water[0], t, pos, self._levels)
        for i in range(len(pos)):
            own: list[Any] = [
                each[i : i + 1]
                if isinstance(each, np.ndarray) and each is not self._fleet.propellers
                else each
                for each in arguments
            ]
            own[_WATER] = float(self._levels[i])
            self._step(*own)


@fleet_kernel
def add_downwash(
    vehicles: np.ndarray,
    actuators: np.ndarray,
    effects: np.ndarray,
    effectiveness: np.ndarray,
    pos: np.ndarray,
    speed: np.ndarray,
    density: np.ndarray,
    air: np.ndarray,
) -> None:
    """Adds the wakes of vehicles above to the wind; wakes point straight down."""
    for i in range(vehicles.shape[0]):
        effect = effects[i]
        if effect.wake_radius == 0.0:
            continue
        thrust = 0.0
        for k in range(vehicles[i].rotors):
            thrust += (
                effectiveness[i, k] * actuators[i, k].motor_constant * speed[i, k] * speed[i, k]
            )
        for j in range(vehicles.shape[0]):
            aside = math.hypot(pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1])
            air[j, 2] -= aerodynamics.downwash(
                thrust,
                effect.disc_area,
                effect.wake_radius,
                density[i],
                pos[i, 2] - pos[j, 2],
                aside,
            )


@njit(forceinline=True)
def _act(
    actuator: Record,
    effects: Record,
    propellers: np.ndarray,
    command: float,
    value: float,
    speed_limit: float,
    ratio: float,
    height: float,
    vx: float,
    vy: float,
    vz: float,
    up: tuple[float, float, float],
    down: tuple[float, float, float],
    dt: float,
) -> tuple[float, ...]:
    """Dispatches one step of an actuator to the function of its kind.

    Args:
        actuator: Its record.
        effects: Record of its vehicle's effects.
        propellers: Numbers of all propellers of the fleet.
        command: Command in lower..upper.
        value: Speed or position at the start of the step.
        speed_limit: Fraction of the largest speed that the battery voltage allows.
        ratio: Factor on the actuator's forces from air density and damage.
        height: Height of the actuator above z = 0, of a propeller above the water [m].
        vx, vy, vz: Velocity of the actuator relative to the air, frame of its body [m/s].
        up, down: A rotor's lag_factors() while speeding up and slowing down.
        dt: Length of the step [s].

    Returns:
        (value at the end, force xyz [N] and moment xyz [N m] at the actuator, frame of its body,
        shaft power [W]).
    """
    if actuator.kind == ROTOR:
        return rotor.act(
            actuator,
            effects,
            propellers,
            command,
            value,
            speed_limit,
            ratio,
            height,
            vx,
            vy,
            vz,
            up,
            down,
        )
    if actuator.kind == SERVO or actuator.kind == SURFACE:
        return servo.act(actuator, command, value, dt)
    if actuator.kind == WHEEL:
        return servo.turn(actuator, command, value, dt)
    if actuator.kind == PROPELLER:
        return propeller.act(actuator, command, value, height, dt)
    if actuator.kind == GRIPPER:
        return servo.grip(actuator, command)
    return value, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@fleet_kernel
def step_actuators(
    commands: np.ndarray,
    vehicles: np.ndarray,
    actuators: np.ndarray,
    effects: np.ndarray,
    propellers: np.ndarray,
    altitude: float,
    water: float,
    speed_limit: np.ndarray,
    effectiveness: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    air: np.ndarray,
    density: np.ndarray,
    dt: float,
    value: np.ndarray,
    wrench: np.ndarray,
    joint_targets: np.ndarray,
    power: np.ndarray,
) -> None:
    """One step of all actuators, and the drag of the bodies; see ActuatorStage."""
    # Most rotors are alike, and the exponentials of their lag as long as all else.
    tau_up, tau_down = 0.0, 0.0
    up = down = rotor.lag_factors(0.0, dt)
    for i in range(vehicles.shape[0]):
        effect = effects[i]
        if effect.air_density:
            density[i] = atmosphere.density(altitude + pos[i, 0, 2])
        thickness = density[i] / SEA_LEVEL_DENSITY
        total, limit = 0.0, speed_limit[i]
        n_actuators = vehicles[i].actuators
        for b in range(vehicles[i].bodies):
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(
                qx,
                qy,
                qz,
                qw,
                vel[i, b, 0] - air[i, 0],
                vel[i, b, 1] - air[i, 1],
                vel[i, b, 2] - air[i, 2],
            )
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            fx = fy = fz = 0.0
            if b == 0:
                fx, fy, fz = aerodynamics.drag(effect, density[i], ux, uy, uz)
            mx = my = mz = 0.0
            for j in range(n_actuators):
                actuator = actuators[i, j]
                if actuator.body != b:
                    continue
                command = min(actuator.upper, max(actuator.lower, commands[i, j]))
                rx, ry, rz = actuator.pos[0], actuator.pos[1], actuator.pos[2]
                height = 0.0
                if effect.ground_radius > 0.0 or actuator.kind == PROPELLER:
                    height = pos[i, b, 2] + quaternion.rotate(qx, qy, qz, qw, rx, ry, rz)[2]
                    if actuator.kind == PROPELLER:
                        height -= water
                if actuator.time_constant_up != tau_up:
                    tau_up, up = (
                        actuator.time_constant_up,
                        rotor.lag_factors(actuator.time_constant_up, dt),
                    )
                if actuator.time_constant_down != tau_down:
                    tau_down = actuator.time_constant_down
                    down = rotor.lag_factors(tau_down, dt)
                value[i, j], hx, hy, hz, bx, by, bz, shaft = _act(
                    actuator,
                    effect,
                    propellers,
                    command,
                    value[i, j],
                    limit,
                    thickness * effectiveness[i, j],
                    height,
                    ux + wy * rz - wz * ry,
                    uy + wz * rx - wx * rz,
                    uz + wx * ry - wy * rx,
                    up,
                    down,
                    dt,
                )
                if actuator.kind == SERVO:
                    joint_targets[i, actuator.joint] = value[i, j]
                total += shaft
                fx, fy, fz = fx + hx, fy + hy, fz + hz
                mx += bx + ry * hz - rz * hy
                my += by + rz * hx - rx * hz
                mz += bz + rx * hy - ry * hx
            out = wrench[i, b]
            out[0], out[1], out[2] = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            out[3], out[4], out[5] = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
        power[i] = total


@njit
def _in_slipstream(
    surface: Record,
    actuator: Record,
    speed: float,
    effectiveness: float,
    density: float,
    vx: float,
    vy: float,
    vz: float,
) -> tuple[float, float, float]:
    """Velocity of a wing relative to the air behind a rotor, in the frame of their body [m/s]."""
    ax, ay, az = actuator.axis[0], actuator.axis[1], actuator.axis[2]
    along = vx * ax + vy * ay + vz * az
    thrust = actuator.motor_constant * effectiveness * speed * abs(speed)
    if actuator.max_relative_airspeed > 0.0:
        thrust *= 1.0 - rotor.thrust_lost(actuator.max_relative_airspeed, along)
    more = wing.slipstream(thrust, surface.disc_area, density, along) - along
    return vx + more * ax, vy + more * ay, vz + more * az


@fleet_kernel
def add_wings(
    vehicles: np.ndarray,
    wings: np.ndarray,
    actuators: np.ndarray,
    effects: np.ndarray,
    effectiveness: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    air: np.ndarray,
    density: np.ndarray,
    value: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Adds the forces of the lifting surfaces to the wrenches of the bodies."""
    for i in range(vehicles.shape[0]):
        ratio = density[i] / SEA_LEVEL_DENSITY if effects[i].air_density else 1.0
        for k in range(vehicles[i].wings):
            surface = wings[i, k]
            b = surface.body
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(
                qx,
                qy,
                qz,
                qw,
                vel[i, b, 0] - air[i, 0],
                vel[i, b, 1] - air[i, 1],
                vel[i, b, 2] - air[i, 2],
            )
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            rx, ry, rz = surface.pos[0], surface.pos[1], surface.pos[2]
            deflection = value[i, surface.control] if surface.control >= 0 else 0.0
            vx, vy, vz = ux + wy * rz - wz * ry, uy + wz * rx - wx * rz, uz + wx * ry - wy * rx
            if surface.rotor >= 0:
                vx, vy, vz = _in_slipstream(
                    surface,
                    actuators[i, surface.rotor],
                    value[i, surface.rotor],
                    ratio * effectiveness[i, surface.rotor],
                    density[i],
                    vx,
                    vy,
                    vz,
                )
            fx, fy, fz, mx, my, mz = wing.forces(surface, deflection, ratio, vx, vy, vz)
            mx, my, mz = mx + ry * fz - rz * fy, my + rz * fx - rx * fz, mz + rx * fy - ry * fx
            fx, fy, fz = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            mx, my, mz = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
            out = wrench[i, b]
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = out[3] + mx, out[4] + my, out[5] + mz


@fleet_kernel
def add_half_wings(
    vehicles: np.ndarray,
    half_wings: np.ndarray,
    actuators: np.ndarray,
    effectiveness: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    air: np.ndarray,
    density: np.ndarray,
    value: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Adds the forces of the half wings to the wrenches of the bodies."""
    for i in range(vehicles.shape[0]):
        for k in range(vehicles[i].half_wings):
            surface = half_wings[i, k]
            b, r = surface.body, surface.rotor
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(
                qx,
                qy,
                qz,
                qw,
                vel[i, b, 0] - air[i, 0],
                vel[i, b, 1] - air[i, 1],
                vel[i, b, 2] - air[i, 2],
            )
            thrust = actuators[i, r].motor_constant * effectiveness[i, r] * value[i, r] ** 2
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            fx, fy, fz, mx, my, mz = half_wing.wrench(
                surface, value[i, surface.control], thrust, density[i], ux, uy, uz, wx, wy, wz
            )
            out = wrench[i, b]
            fx, fy, fz = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            mx, my, mz = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = out[3] + mx, out[4] + my, out[5] + mz


def _step_with(kinds: Sequence[type[Actuator]]) -> Callable[..., None]:
    """Compiles step_actuators with a dispatch table that includes these kinds."""
    act = _act
    for number, kind in enumerate(kinds, len(KINDS) + 1):
        assert kind.act is not None, f"{kind.__name__} has no act()"
        act = _extended(act, number, kind.act)
    plain = step_actuators.py_func  # type: ignore[attr-defined]  # a Numba dispatcher has it
    extended = types.FunctionType(plain.__code__, {**plain.__globals__, "_act": act})
    step: Callable[..., None] = numba.njit(error_model="numpy")(extended)
    return step


def _extended(
    act: Callable[..., tuple[float, ...]], number: int, own: Callable[..., tuple[float, ...]]
) -> Callable[..., tuple[float, ...]]:
    """Returns a dispatch function with one more kind."""

    @numba.njit(error_model="numpy")
    def either(  # type: ignore[no-untyped-def]  # compiled for records and numbers
        actuator,
        effects,
        propellers,
        command,
        value,
        limit,
        ratio,
        height,
        vx,
        vy,
        vz,
        up,
        down,
        dt,
    ):
        if actuator.kind == number:
            return own(actuator, effects, command, value, limit, ratio, height, vx, vy, vz, dt)
        return act(
            actuator,
            effects,
            propellers,
            command,
            value,
            limit,
            ratio,
            height,
            vx,
            vy,
            vz,
            up,
            down,
            dt,
        )

    dispatch: Callable[..., tuple[float, ...]] = either
    return dispatch
