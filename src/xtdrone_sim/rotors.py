"""All rotors of a fleet in one compiled kernel: commands in, wrenches out."""

import numpy as np

from xtdrone_core import FleetModel, FleetState
from xtdrone_dynamics import quaternion, rotor
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY

# Columns of the kernel's table; one array costs less per call than a dozen.
_POS, _AXIS, _DIRECTION, _CT, _CM, _CD, _CR, _UP, _DOWN, _TOP, _SCALING, _ZERO = (
    0, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)


class RotorStage:
    """The rotors of a fleet: first-order lag, then XTDrone (3)-(6) at every hub.

    The speed's mean over the step goes into H-force and rolling moment, the
    mean of its square into thrust and drag moment, so that the impulse of a
    step is exact although the engine gets one wrench per step.

    Attributes:
        wind: (N, 3) velocity of the air at each vehicle, world [m/s]; write to it in place.
        density: (N,) density of the air at each vehicle [kg/m^3]; write to it in
            place. Coefficients hold at sea level and scale with density.
    """

    def __init__(self, fleet: FleetModel):
        """Packs the fleet's rotors for the kernel."""
        n, r = fleet.rotor_mask.shape
        self.wind = np.zeros((n, 3))
        self.density = np.full(n, SEA_LEVEL_DENSITY)
        self._count = fleet.rotor_mask.sum(axis=1)
        scalars = (fleet.rotor_direction, fleet.motor_constant, fleet.moment_constant,
                   fleet.rotor_drag_coefficient, fleet.rolling_moment_coefficient,
                   fleet.time_constant_up, fleet.time_constant_down, fleet.max_rot_velocity,
                   fleet.input_scaling, fleet.zero_position_armed)
        self._table = np.ascontiguousarray(np.concatenate(
            [fleet.rotor_pos, fleet.rotor_axis, np.stack(scalars, axis=2)], axis=2))

    def step(self, commands: np.ndarray, state: FleetState, dt_us: int,
             wrench: np.ndarray) -> None:
        """Advances the rotors by one step and gives what they do to the bodies.

        Args:
            commands: (N, R) in 0..1, limited to that; exactly 0 stops a rotor,
                anything above starts at zero_position_armed.
            state: The fleet at the start of the step; its rotor_vel is advanced in place.
            dt_us: Length of the step [us].
            wrench: (N, 6) is overwritten: force [N] then torque about the
                centre of gravity [N m], world frame.
        """
        _step(commands, self._table, self._count, state.quat, state.vel, state.ang_vel, self.wind,
              self.density, dt_us * 1e-6, state.rotor_vel, wrench)


@njit
def _step(commands, table, count, quat, vel, ang_vel, wind, density, dt, rotor_vel, wrench):
    for i in range(count.shape[0]):
        qx, qy, qz, qw = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        ux, uy, uz = quaternion.rotate_inverse(
            qx, qy, qz, qw, vel[i, 0] - wind[i, 0], vel[i, 1] - wind[i, 1], vel[i, 2] - wind[i, 2])
        wx, wy, wz = ang_vel[i, 0], ang_vel[i, 1], ang_vel[i, 2]
        ratio = density[i] / SEA_LEVEL_DENSITY
        fx = fy = fz = mx = my = mz = 0.0
        for j in range(count[i]):
            t = table[i, j]
            command = min(1.0, max(0.0, commands[i, j]))
            target = 0.0
            if command > 0.0:
                target = min(t[_TOP], t[_SCALING] * command + t[_ZERO])
            speed = rotor_vel[i, j]
            mean, square = rotor.mean_powers(speed, target, t[_UP], t[_DOWN], dt)
            rotor_vel[i, j] = rotor.lag(speed, target, t[_UP], t[_DOWN], dt)
            rx, ry, rz = t[_POS], t[_POS + 1], t[_POS + 2]
            hx, hy, hz, ax, ay, az = rotor.wrench(
                mean, square, t[_DIRECTION], t[_AXIS], t[_AXIS + 1], t[_AXIS + 2],
                t[_CT] * ratio, t[_CM], t[_CD] * ratio, t[_CR] * ratio,
                ux + wy * rz - wz * ry, uy + wz * rx - wx * rz, uz + wx * ry - wy * rx)
            fx, fy, fz = fx + hx, fy + hy, fz + hz
            mx += ax + ry * hz - rz * hy
            my += ay + rz * hx - rx * hz
            mz += az + rx * hy - ry * hx
        wrench[i, 0], wrench[i, 1], wrench[i, 2] = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
        wrench[i, 3], wrench[i, 4], wrench[i, 5] = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
