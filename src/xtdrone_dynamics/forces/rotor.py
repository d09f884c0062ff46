"""One rotor: thrust, H-force, moments and motor lag; XTDrone (3)-(10)."""

import math

import numpy as np

from ..compiled import Record, njit
from ..constants import SEA_LEVEL_DENSITY
from ..propellers import wrench as propellers
from ..shapes import Acted, Vector
from . import aerodynamics

_STOPPED = 1e-3  # a rotor with zero command below this speed is stopped [rad/s]


@njit
def lag(
    speed: float, target: float, time_constant_up: float, time_constant_down: float, dt: float
) -> float:
    """Speed after dt of a rotor with first-order lag, exact for a constant target.

    Args:
        speed: Speed at the start [rad/s].
        target: Commanded speed [rad/s].
        time_constant_up, time_constant_down: Time constants while speeding up and slowing down [s].
        dt: Duration [s].

    Returns:
        Speed at the end [rad/s].
    """
    tau = time_constant_up if target > speed else time_constant_down
    if tau <= 0.0:
        return target
    after = target + (speed - target) * math.exp(-dt / tau)
    # Otherwise a stopping rotor decays towards 0 through denormals, which are slow.
    return 0.0 if target == 0.0 and after < _STOPPED else after


@njit
def mean_powers(
    speed: float, target: float, time_constant_up: float, time_constant_down: float, dt: float
) -> tuple[float, float]:
    """Closed-form means of the speed and of its square over a step of the lag.

    With these means, a force that is constant over the step gives the exact impulse,
    although the rotor speed changes within the step.

    Args:
        speed, target, time_constant_up, time_constant_down, dt: As in lag().

    Returns:
        (mean of speed [rad/s], mean of speed^2 [rad^2/s^2]).
    """
    tau = time_constant_up if target > speed else time_constant_down
    if tau <= 0.0:
        return target, target * target
    gap = speed - target
    ratio = dt / tau
    first = -math.expm1(-ratio) / ratio
    second = -math.expm1(-2.0 * ratio) / (2.0 * ratio)
    return target + gap * first, target * target + gap * (2.0 * target * first + gap * second)


@njit
def lag_factors(time_constant: float, dt: float) -> Vector:
    """Returns the factors of lagged() for a time constant [s] and a step [s].

    Returns:
        (fraction of a gap that remains after the step, its mean over the step, the mean of its
        square).
    """
    if time_constant <= 0.0:
        return 0.0, 0.0, 0.0
    ratio = dt / time_constant
    return (
        math.exp(-ratio),
        -math.expm1(-ratio) / ratio,
        -math.expm1(-2.0 * ratio) / (2.0 * ratio),
    )


@njit
def lagged(speed: float, target: float, up: Vector, down: Vector) -> Vector:
    """Speed after a step, and means of speed and speed^2 over it: lag() and mean_powers().

    Without branches, for kernels in lanes.

    Args:
        speed, target: As in lag().
        up, down: lag_factors() while speeding up and slowing down.

    Returns:
        (speed at the end, mean of speed, mean of speed^2).
    """
    rises = target > speed
    left = up[0] if rises else down[0]
    first = up[1] if rises else down[1]
    second = up[2] if rises else down[2]
    gap = speed - target
    after = target + gap * left
    after = 0.0 if (target == 0.0) & (after < _STOPPED) else after
    return (
        after,
        target + gap * first,
        target * target + gap * (2.0 * target * first + gap * second),
    )


@njit
def target_speed(command: float, scaling: float, zero: float, max_speed: float) -> float:
    """Speed for a command 0..1 of a rotor that turns one way; exactly 0 stops it [rad/s]."""
    return min(max_speed, scaling * command + zero) if command > 0.0 else 0.0


@njit
def wrench(
    mean_speed: float,
    mean_square: float,
    direction: float,
    axis_x: float,
    axis_y: float,
    axis_z: float,
    thrust_constant: float,
    moment_constant: float,
    rotor_drag_coefficient: float,
    rolling_moment_coefficient: float,
    vx: float,
    vy: float,
    vz: float,
) -> tuple[float, float, float, float, float, float]:
    """Force and moment of one rotor at its hub, in the frame of the arguments; XTDrone (3)-(6).

    Args:
        mean_speed, mean_square: Means of speed and speed^2 over the step [rad/s, rad^2/s^2].
        direction: +1 for rotation counter-clockwise seen from above, -1 for clockwise.
        axis_x, axis_y, axis_z: Unit vector of the thrust direction.
        thrust_constant: C_T of (3) [N s^2].
        moment_constant: C_M of (6) [m].
        rotor_drag_coefficient: C_D of (4) [N s^2/m].
        rolling_moment_coefficient: C_R of (5) [N s^2].
        vx, vy, vz: Velocity of the hub relative to the air [m/s].

    Returns:
        (fx, fy, fz, mx, my, mz), force [N] and moment [N m].
    """
    along = vx * axis_x + vy * axis_y + vz * axis_z
    px, py, pz = vx - along * axis_x, vy - along * axis_y, vz - along * axis_z
    thrust = thrust_constant * mean_square
    drag = mean_speed * rotor_drag_coefficient
    roll = direction * mean_speed * rolling_moment_coefficient
    reaction = direction * moment_constant * thrust
    return (
        thrust * axis_x - drag * px,
        thrust * axis_y - drag * py,
        thrust * axis_z - drag * pz,
        -roll * px - reaction * axis_x,
        -roll * py - reaction * axis_y,
        -roll * pz - reaction * axis_z,
    )


@njit
def thrust_lost(largest_airspeed: float, along: float) -> float:
    """Fraction of its thrust that a rotor loses in axial flow, as PX4's gazebo_motor_model has it.

    The reaction torque stays, as there.

    Args:
        largest_airspeed: At which no thrust is left, maxRelativeAirspeed [m/s].
        along: Velocity of the hub relative to the air along the axis, either way [m/s].

    Returns:
        0 to 1.
    """
    return min(1.0, abs(along) / largest_airspeed)


@njit(forceinline=True)
def act(
    rotor: Record,
    effects: Record,
    numbers: np.ndarray,
    command: float,
    speed: float,
    speed_limit: float,
    ratio: float,
    height: float,
    vx: float,
    vy: float,
    vz: float,
    up: Vector,
    down: Vector,
) -> Acted:
    """One step of a rotor; XTDrone (3)-(6) and the aerodynamic effects at its hub.

    Args:
        rotor: Record of the rotor.
        effects: Record of its vehicle's effects.
        numbers: Numbers of all propellers of the fleet.
        command: Command within the rotor's range; exactly 0 stops it.
        speed: Speed at the start of the step [rad/s]; negative for reverse rotation.
        speed_limit: Fraction of the largest speed that the battery voltage allows.
        ratio: Factor on the rotor's forces from air density and damage.
        height: Height of the hub above the ground [m].
        vx, vy, vz: Velocity of the hub relative to the air, frame of its body [m/s].
        up, down: lag_factors() while speeding up and slowing down.

    Returns:
        (speed at the end, force xyz [N] and moment xyz [N m] at the hub, shaft power [W]).
    """
    target = 0.0
    max_speed = rotor.max_rot_velocity * speed_limit
    if command > 0.0:
        target = min(max_speed, rotor.input_scaling * command + rotor.zero_position_armed)
    elif command < 0.0:
        target = max(-max_speed, rotor.input_scaling * command - rotor.zero_position_armed)
    # A rotor in reverse is the mirror image of one that turns forwards.
    side = -1.0 if speed < 0.0 or (speed == 0.0 and target < 0.0) else 1.0
    after, mean, square = lagged(side * speed, side * target, up, down)
    after *= side
    if rotor.propeller_at >= 0:
        return by_propeller(
            rotor, effects, numbers, after, mean, square, side, ratio, height, vx, vy, vz
        )
    power = rotor.power_constant * ratio * square * mean
    ax, ay, az = rotor.axis[0], rotor.axis[1], rotor.axis[2]
    fx, fy, fz, mx, my, mz = wrench(
        mean,
        side * square,
        side * rotor.direction,
        ax,
        ay,
        az,
        rotor.motor_constant * ratio,
        side * rotor.moment_constant,
        rotor.rotor_drag_coefficient * ratio,
        rotor.rolling_moment_coefficient * ratio,
        vx,
        vy,
        vz,
    )
    extra = 0.0
    if effects.ground_radius > 0.0:
        extra += (
            side
            * rotor.motor_constant
            * ratio
            * square
            * (aerodynamics.ground_effect(effects.ground_radius, height) - 1.0)
        )
    along = vx * ax + vy * ay + vz * az
    if rotor.max_relative_airspeed > 0.0:
        extra -= (
            side
            * rotor.motor_constant
            * ratio
            * square
            * thrust_lost(rotor.max_relative_airspeed, along)
        )
    if effects.lift > 0.0 or effects.damping > 0.0:
        across = vx * vx + vy * vy + vz * vz - along * along
        if mean > 0.0:
            extra += (
                side
                * ratio
                * aerodynamics.inflow_thrust(effects.lift, effects.damping, mean, across, along)
            )
    return after, fx + extra * ax, fy + extra * ay, fz + extra * az, mx, my, mz, power


@njit
def by_propeller(
    rotor: Record,
    effects: Record,
    numbers: np.ndarray,
    after: float,
    mean: float,
    square: float,
    side: float,
    ratio: float,
    height: float,
    vx: float,
    vy: float,
    vz: float,
) -> Acted:
    """act() of a rotor whose propeller has a model of its own, with the ground's effect.

    Args:
        rotor, effects, numbers, ratio, height, vx, vy, vz: As of act().
        after: Speed at the end of the step [rad/s].
        mean, square: Means of the speed's magnitude and of its square over the step.
        side: -1 for reverse rotation, which is the mirror image, else 1.
    """
    ax, ay, az = side * rotor.axis[0], side * rotor.axis[1], side * rotor.axis[2]
    fx, fy, fz, mx, my, mz, thrust, torque = propellers.wrench(
        numbers,
        rotor.propeller_at,
        math.sqrt(square),
        rotor.direction,
        SEA_LEVEL_DENSITY * ratio,
        ax,
        ay,
        az,
        vx,
        vy,
        vz,
    )
    if effects.ground_radius > 0.0:
        extra = thrust * (aerodynamics.ground_effect(effects.ground_radius, height) - 1.0)
        fx, fy, fz = fx + extra * ax, fy + extra * ay, fz + extra * az
    # A speed controller brakes without giving back.
    return after, fx, fy, fz, mx, my, mz, max(0.0, torque * mean)


@njit
def thrust_constant(static_thrust: float, diameter: float, density: float) -> float:
    """C_T [N s^2] from the static thrust coefficient C_t0; XTDrone (7).

    Args:
        static_thrust: C_t0 [-].
        diameter: Rotor diameter [m].
        density: Air density [kg/m^3].
    """
    return static_thrust * density * diameter**4 / (2.0 * math.pi) ** 2


@njit
def drag_coefficient(
    static_drag: float, blades: float, chord: float, diameter: float, density: float
) -> float:
    """C_D [N s^2/m] from the blades' drag coefficient C_d0; XTDrone (8).

    Args:
        static_drag: C_d0 [-].
        blades: Number of blades.
        chord: Mean chord [m].
        diameter: Rotor diameter [m].
        density: Air density [kg/m^3].
    """
    return density * blades * chord * static_drag * diameter**2 / 16.0


@njit
def rolling_coefficient(
    root_pitch: float,
    twist: float,
    blades: float,
    lift_slope: float,
    chord: float,
    diameter: float,
    density: float,
) -> float:
    """C_R [N s^2] from the blades' pitch and twist; XTDrone (9).

    Args:
        root_pitch: Pitch at the root, theta_0 [rad].
        twist: theta_1, from root to tip, negative if the pitch decreases [rad].
        blades: Number of blades.
        lift_slope: Lift-curve slope of the blade section [1/rad].
        chord: Mean chord [m].
        diameter: Rotor diameter [m].
        density: Air density [kg/m^3].
    """
    return (root_pitch / 48.0 + twist / 64.0) * density * blades * lift_slope * chord * diameter**3


@njit
def moment_constant(static_moment: float, static_thrust: float, diameter: float) -> float:
    """C_M [m] from the static moment and thrust coefficients C_m0 and C_t0; XTDrone (10)."""
    return static_moment / static_thrust * diameter
