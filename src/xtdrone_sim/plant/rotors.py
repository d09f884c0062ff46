"""All rotors of a fleet, and the air around them, in one compiled kernel: commands to wrenches."""

import math

import numpy as np

from xtdrone_core import FleetModel, FleetState
from xtdrone_dynamics import aerodynamics, atmosphere, quaternion, rotor
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY

# Columns of the kernel's tables; one array costs less per call than a dozen.
_POS, _AXIS, _DIRECTION, _CT, _CM, _CD, _CR, _UP, _DOWN, _TOP, _SCALING, _ZERO, _POWER = (
    0, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
_LINEAR, _AREAS, _GROUND_RADIUS, _LIFT, _DAMPING, _WAKE, _DISC, _DENSITY = 0, 3, 6, 7, 8, 9, 10, 11


class RotorStage:
    """Rotors and aerodynamics of a fleet: lag, XTDrone (3)-(6) at every hub, named effects.

    The speed's mean over the step goes into H-force and rolling moment, the
    mean of its square into thrust and drag moment, so that the impulse of a
    step is exact although the engine gets one wrench per step.

    Attributes:
        wind: (N, 3) velocity of the air at each vehicle, world [m/s]; write to it in place.
        density: (N,) density of the air at each vehicle [kg/m^3].
        speed_share: (N,) share of maxRotVelocity that the rotors can reach; a weak battery's.
        effectiveness: (N, R) share of its forces that a rotor still gives; 1 unless it is broken.
        power: (N,) of all shafts in the last step [W].
    """

    def __init__(self, fleet: FleetModel, altitude: float = 0.0):
        """Packs the fleet's rotors and effects for the kernel.

        Args:
            fleet: The vehicles.
            altitude: Of the world's origin above mean sea level [m].
        """
        n = fleet.n
        self.wind = np.zeros((n, 3))
        self.density = np.full(n, SEA_LEVEL_DENSITY)
        self.speed_share = np.ones(n)
        self.effectiveness = np.ones(fleet.rotor_mask.shape)
        self.power = np.zeros(n)
        self._altitude = altitude
        self._count = fleet.rotor_mask.sum(axis=1)
        scalars = (fleet.rotor_direction, fleet.motor_constant, fleet.moment_constant,
                   fleet.rotor_drag_coefficient, fleet.rolling_moment_coefficient,
                   fleet.time_constant_up, fleet.time_constant_down, fleet.max_rot_velocity,
                   fleet.input_scaling, fleet.zero_position_armed, _power_constant(fleet))
        self._table = np.ascontiguousarray(np.concatenate(
            [fleet.rotor_pos, fleet.rotor_axis, np.stack(scalars, axis=2)], axis=2))
        self._effects = np.array([_packed(vehicle) for vehicle in fleet.vehicles])
        self._air = np.zeros((n, 3))
        self._downwash = bool(self._effects[:, _WAKE].any())

    def step(self, commands: np.ndarray, state: FleetState, dt_us: int,
             wrench: np.ndarray) -> None:
        """Advances the rotors by one step and gives what air and rotors do to the bodies.

        Args:
            commands: (N, R) in 0..1, limited to that; exactly 0 stops a rotor,
                anything above starts at zero_position_armed.
            state: The fleet at the start of the step; its rotor_vel is advanced in place.
            dt_us: Length of the step [us].
            wrench: (N, 6) is overwritten: force [N] then torque about the
                centre of gravity [N m], world frame.
        """
        air = self.wind
        if self._downwash:
            air = self._air
            air[:] = self.wind
            _add_downwash(self._table, self._effects, self._count, self.effectiveness, state.pos,
                          state.rotor_vel, self.density, air)
        _step(commands, self._table, self._count, self._effects, self._altitude, self.speed_share,
              self.effectiveness, state.pos, state.quat, state.vel, state.ang_vel, air,
              self.density, dt_us * 1e-6, state.rotor_vel, wrench, self.power)


def _power_constant(fleet) -> np.ndarray:
    """(N, R) shaft power over speed^3 [W s^3]: the pack's, or what the drag moment (6) takes."""
    constant = fleet.moment_constant * fleet.motor_constant
    for i, vehicle in enumerate(fleet.vehicles):
        if vehicle.battery is not None and vehicle.battery.rotor_power_constant > 0.0:
            constant[i] = vehicle.battery.rotor_power_constant
    return constant


def _packed(vehicle) -> np.ndarray:
    """One vehicle's row of the table of effects; zeros switch an effect off."""
    row, effects = np.zeros(12), vehicle.effects
    if "linear_drag" in effects:
        row[_LINEAR:_LINEAR + 3] = effects["linear_drag"]["coefficients"]
    if "quadratic_drag" in effects:
        row[_AREAS:_AREAS + 3] = effects["quadratic_drag"]["areas"]
    if "ground_effect" in effects:
        row[_GROUND_RADIUS] = effects["ground_effect"]["rotor_radius"][0]
    if "translational_lift" in effects:
        row[_LIFT] = effects["translational_lift"]["lift"][0]
        row[_DAMPING] = effects["translational_lift"]["damping"][0]
    if "downwash" in effects:
        radius = effects["downwash"]["rotor_radius"][0]
        row[_WAKE] = radius + max(math.hypot(*rotor.pos[:2]) for rotor in vehicle.rotors)
        row[_DISC] = len(vehicle.rotors) * math.pi * radius * radius
    row[_DENSITY] = "air_density" in effects
    return row


@njit
def _add_downwash(table, effects, count, effectiveness, pos, rotor_vel, density, air):
    """Adds the wakes of vehicles above to the wind; a wake hangs straight down."""
    for i in range(count.shape[0]):
        if effects[i, _WAKE] == 0.0:
            continue
        thrust = 0.0
        for k in range(count[i]):
            thrust += (effectiveness[i, k] * table[i, k, _CT] * rotor_vel[i, k]
                       * rotor_vel[i, k])
        for j in range(count.shape[0]):
            aside = math.hypot(pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1])
            air[j, 2] -= aerodynamics.downwash(thrust, effects[i, _DISC], effects[i, _WAKE],
                                               density[i], pos[i, 2] - pos[j, 2], aside)


@njit
def _step(commands, table, count, effects, altitude, speed_share, effectiveness, pos, quat, vel,
          ang_vel, air, density, dt, rotor_vel, wrench, power):
    for i in range(count.shape[0]):
        e = effects[i]
        qx, qy, qz, qw = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        ux, uy, uz = quaternion.rotate_inverse(
            qx, qy, qz, qw, vel[i, 0] - air[i, 0], vel[i, 1] - air[i, 1], vel[i, 2] - air[i, 2])
        wx, wy, wz = ang_vel[i, 0], ang_vel[i, 1], ang_vel[i, 2]
        if e[_DENSITY] > 0.0:
            density[i] = atmosphere.density(altitude + pos[i, 2])
        thickness = density[i] / SEA_LEVEL_DENSITY
        fx, fy, fz = aerodynamics.linear_drag(e[_LINEAR], e[_LINEAR + 1], e[_LINEAR + 2],
                                              ux, uy, uz)
        dx, dy, dz = aerodynamics.quadratic_drag(e[_AREAS], e[_AREAS + 1], e[_AREAS + 2],
                                                 density[i], ux, uy, uz)
        fx, fy, fz = fx + dx, fy + dy, fz + dz
        mx = my = mz = 0.0
        power[i] = 0.0
        for j in range(count[i]):
            t = table[i, j]
            ratio = thickness * effectiveness[i, j]
            command = min(1.0, max(0.0, commands[i, j]))
            target = 0.0
            if command > 0.0:
                target = min(t[_TOP] * speed_share[i], t[_SCALING] * command + t[_ZERO])
            speed = rotor_vel[i, j]
            mean, square = rotor.mean_powers(speed, target, t[_UP], t[_DOWN], dt)
            rotor_vel[i, j] = rotor.lag(speed, target, t[_UP], t[_DOWN], dt)
            power[i] += t[_POWER] * ratio * square * mean
            rx, ry, rz = t[_POS], t[_POS + 1], t[_POS + 2]
            ax, ay, az = t[_AXIS], t[_AXIS + 1], t[_AXIS + 2]
            vx, vy, vz = ux + wy * rz - wz * ry, uy + wz * rx - wx * rz, uz + wx * ry - wy * rx
            hx, hy, hz, bx, by, bz = rotor.wrench(
                mean, square, t[_DIRECTION], ax, ay, az, t[_CT] * ratio, t[_CM], t[_CD] * ratio,
                t[_CR] * ratio, vx, vy, vz)
            more = 0.0
            if e[_GROUND_RADIUS] > 0.0:
                height = pos[i, 2] + quaternion.rotate(qx, qy, qz, qw, rx, ry, rz)[2]
                more += t[_CT] * ratio * square * (
                    aerodynamics.ground_effect(e[_GROUND_RADIUS], height) - 1.0)
            if e[_LIFT] > 0.0 or e[_DAMPING] > 0.0:
                along = vx * ax + vy * ay + vz * az
                across = vx * vx + vy * vy + vz * vz - along * along
                if mean > 0.0:
                    more += ratio * aerodynamics.inflow_thrust(e[_LIFT], e[_DAMPING], mean,
                                                               across, along)
            hx, hy, hz = hx + more * ax, hy + more * ay, hz + more * az
            fx, fy, fz = fx + hx, fy + hy, fz + hz
            mx += bx + ry * hz - rz * hy
            my += by + rz * hx - rx * hz
            mz += bz + rx * hy - ry * hx
        wrench[i, 0], wrench[i, 1], wrench[i, 2] = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
        wrench[i, 3], wrench[i, 4], wrench[i, 5] = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
