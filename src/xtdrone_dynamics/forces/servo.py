"""Servos, wheels and grippers: rate limit and lag."""

from ..compiled import Record, njit
from ..shapes import Acted
from .rotor import lag


@njit
def follow(position: float, target: float, rate: float, time_constant: float, dt: float) -> float:
    """Position of a servo after dt: a first-order lag whose speed is limited.

    Args:
        position, target: [rad] or [m].
        rate: Largest speed [rad/s] or [m/s].
        time_constant: Time constant of the lag [s].
        dt: Duration [s].
    """
    error = target - position
    if time_constant > 0.0:
        error = lag(position, target, time_constant, time_constant, dt) - position
    return position + min(rate * dt, max(-rate * dt, error))


@njit
def act(actuator: Record, command: float, position: float, dt: float) -> Acted:
    """One step of a servo or control surface; the engine moves the body.

    Args:
        actuator: The actuator's record.
        command: In its range.
        position: Position of the joint or surface [rad] or [m].
        dt: Length of the step [s].

    Returns:
        As the plant's table of kinds.
    """
    target = actuator.zero_position_armed + actuator.input_scaling * command
    target = min(actuator.joint_upper, max(actuator.joint_lower, target))
    position = follow(position, target, actuator.rate, actuator.time_constant, dt)
    return (position, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit
def speed_after(
    actuator: Record,
    command: float,
    speed: float,
    time_constant_up: float,
    time_constant_down: float,
    dt: float,
) -> float:
    """Speed of a wheel or propeller after a step [rad/s].

    Args:
        actuator: The actuator's record.
        command: In its range; 0 stops it.
        speed: [rad/s].
        time_constant_up, time_constant_down: While speeding up and slowing down [s].
        dt: Length of the step [s].
    """
    target = 0.0
    if command != 0.0:
        target = actuator.zero_position_armed + actuator.input_scaling * command
    target = min(actuator.max_rot_velocity, max(-actuator.max_rot_velocity, target))
    speeding = abs(target) > abs(speed)
    tau = time_constant_up if speeding else time_constant_down
    return lag(speed, target, tau, tau, dt)


@njit
def turn(actuator: Record, command: float, speed: float, dt: float) -> Acted:
    """One step of a wheel, without any force: the ground acts on its tyre.

    Args:
        actuator: The actuator's record.
        command: In its range.
        speed: [rad/s].
        dt: Length of the step [s].

    Returns:
        As the plant's table of kinds.
    """
    speed = speed_after(
        actuator, command, speed, actuator.time_constant, actuator.time_constant, dt
    )
    return (speed, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit
def grip(actuator: Record, command: float) -> Acted:
    """One step of a gripper, without any force: the engine holds what it touches.

    Args:
        actuator: The actuator's record.
        command: In its range.

    Returns:
        As the plant's table of kinds.
    """
    target = actuator.zero_position_armed + actuator.input_scaling * command
    return (target, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
