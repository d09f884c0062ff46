"""A made-up flight for identification: random commands, and what the equations make of them."""

import numpy as np

from xtdrone_dynamics.quaternion import multiply_array
from xtdrone_identification.parameters import Model
from xtdrone_identification.record import Signal
from xtdrone_identification.rollout import predict

STEP_S = 0.004
GYRO_NOISE, ACCEL_NOISE = 2e-3, 0.02  # [rad/s], [m/s^2]


def made_up(model: Model, seconds: float = 20.0, seed: int = 0) -> dict[str, Signal]:
    """Returns the signals of a vehicle that is as `model` begins, with noise.

    Its commands vary as a pilot's do who trusts nothing. Every half second its body rates are set
    to what they were a second before, as they would run away.
    """
    rng = np.random.default_rng(seed)
    count, rotors = round(seconds / STEP_S), len(model.vehicle.rotors)
    t_s = np.arange(count) * STEP_S
    slow = sum(
        rng.normal(size=(1, rotors)) * np.sin(2 * np.pi * f * t_s[:, None] + rng.uniform(0, 6))
        for f in (0.3, 0.7, 1.9)
    )
    lift = (
        0.12 * np.sin(2 * np.pi * 0.4 * t_s)[:, None] + 0.08 * np.sign(np.sin(3.1 * t_s))[:, None]
    )
    steps = rng.choice([-1.0, 1.0], size=(count // 40 + 1, rotors)).repeat(40, axis=0)[:count]
    commands = np.clip(0.6 + lift + 0.01 * slow + 0.01 * steps, 0.05, 0.95)
    vel = np.stack([4 * np.sin(0.9 * t_s), 4 * np.cos(0.7 * t_s), np.sin(1.1 * t_s)], axis=1)
    quat = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
    nodes = np.append(np.arange(0, count, 125), count)
    starts = rng.normal(0.0, 0.5, size=(len(nodes) - 1, 3))
    outputs = [np.empty((count, 3)) for _ in range(3)]
    for _ in range(6):  # drag needs the attitude, which follows from the rates
        flown = _run(model, commands, quat, vel, nodes, starts, outputs)
        quat = _turned(flown[0])
    rates, force, _ = flown
    return {
        "command": Signal(t_s, commands),
        "gyro": Signal(t_s, rates + rng.normal(0.0, GYRO_NOISE, rates.shape)),
        "accel": Signal(t_s, force + rng.normal(0.0, ACCEL_NOISE, force.shape)),
        "quat": Signal(t_s, quat),
        "vel": Signal(t_s, vel),
        "pos": Signal(t_s, 20.0 + np.cumsum(vel, axis=0) * STEP_S),
    }


def _run(model, commands, quat, vel, nodes, starts, outputs):
    arrays = model.arrays(np.zeros(len(model.parameters)))
    count = len(commands)
    predict(
        arrays.actuators,
        arrays.effects,
        arrays.body,
        commands,
        quat,
        vel,
        np.full(count, 20.0),
        np.array([0, count]),
        nodes,
        starts,
        STEP_S,
        *outputs,
        np.empty(commands.shape),
    )
    outputs[1][0] = outputs[1][1]
    return outputs


def _turned(rates):
    """Returns the attitudes (K, 4) of body rates (K, 3), from level."""
    quat = np.empty((len(rates), 4))
    quat[0] = 0.0, 0.0, 0.0, 1.0
    for k in range(1, len(rates)):
        half = 0.25 * STEP_S * (rates[k - 1] + rates[k])
        turned = multiply_array(quat[k - 1 : k], np.append(half, 1.0)[None])[0]
        quat[k] = turned / np.linalg.norm(turned)
    return quat
