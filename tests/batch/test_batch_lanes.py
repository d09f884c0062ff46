"""Multirotors in lanes fly as they do one at a time."""

import re

import numpy as np
import pytest

from batches import HEIGHT
from xtdrone_batch.physics.lanes import control, dynamics, layout
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_dynamics.lanes import loop_in_lanes

E = 2 * layout.L + 5  # two blocks and a part of one
PLAIN = ["iris", "crazyflie", "heavy_lifter", "octorotor", "solo"]
ACTIONS = {
    "actuator": (0.55, 0.02),
    "rates": (0.3, 0.2),
    "attitude": (0.0, 0.1),
    "velocity": (0.0, 2.0),
    "position": (0.0, 3.0),
}  # mean and deviation


def actions(batch, level, seed=0):
    """A random action of each vehicle near its start."""
    mean, deviation = ACTIONS[level]
    found = np.random.default_rng(seed).normal(mean, deviation, batch.action_shape)
    if level == "rates":
        found[..., 3] = 0.55 + 0.05 * found[..., 3]
    if level == "attitude":
        found[..., 3:] = 1.0, 0.55
        found[..., :4] /= np.linalg.norm(found[..., :4], axis=-1, keepdims=True)
    if level == "position":
        found[..., :3] += batch.state.pos
    return found


def flown(
    vehicles,
    level,
    in_lanes,
    dtype="float64",
    steps=40,
    environments=E,
    threads=1,
    controller="px4",
    sub_steps=5,
):
    """The state of a batch after some steps, in wind."""
    batch = BatchSimulation(
        vehicles,
        environments,
        action=level,
        controller=controller,
        dtype=dtype,
        threads=threads,
        sub_steps=sub_steps,
    )
    assert batch.in_lanes
    if not in_lanes:
        batch.description.lanes.fits[:] = False
    rng = np.random.default_rng(1)
    batch.state.wind[:] = rng.normal(0.0, 3.0, batch.state.wind.shape)
    batch.state.vel[:] = rng.normal(0.0, 1.0, batch.state.vel.shape)
    wanted = actions(batch, level)
    for _ in range(steps):
        batch.step(wanted)
    return batch.state


def aloft(*names):
    return "; ".join(f"{name}@{5.0 * i},0,{HEIGHT}" for i, name in enumerate(names))


@pytest.mark.slow
@pytest.mark.parametrize(
    "level, controller",
    [*((level, "px4") for level in ACTIONS), ("velocity", "geometric"), ("position", "geometric")],
)
@pytest.mark.parametrize("name", PLAIN)
def test_double_precision(name, level, controller):
    one, many = (flown(aloft(name), level, each, controller=controller) for each in (False, True))
    for key in ("pos", "quat", "vel", "ang_vel", "actuator", "acc"):
        there, here = getattr(one, key), getattr(many, key)
        assert here == pytest.approx(there, rel=1e-8, abs=1e-8), key
    assert np.abs(many.vel).max() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("level", ACTIONS)
def test_single_precision(level):
    exact, rough = (flown(aloft("iris"), level, True, dtype) for dtype in ("float64", "float32"))
    # Measured 2e-4 m: at 200 m a number of single precision has steps of 1.5e-5 m.
    assert rough.pos == pytest.approx(exact.pos, abs=2e-3)
    assert rough.quat == pytest.approx(exact.quat, abs=2e-3)


@pytest.mark.parametrize("sub_steps", [1, 2, 3])
def test_the_velocity_loop_keeps_its_own_rate(sub_steps):
    one, many = (
        flown(aloft("iris"), "velocity", each, sub_steps=sub_steps, steps=60)
        for each in (False, True)
    )
    assert many.pos == pytest.approx(one.pos, abs=1e-9)
    assert np.abs(many.vel).max() > 0.3


def test_a_vehicle_changes_between_lanes_and_the_ground():
    def land(in_lanes):
        batch = BatchSimulation("iris@0,0,6", 3, action="velocity")
        if not in_lanes:
            batch.description.lanes.fits[:] = False
        down, up = np.zeros(batch.action_shape), np.zeros(batch.action_shape)
        down[..., 2], up[..., 2] = -1.0, 1.0
        down[..., 3] = up[..., 3] = 0.4
        clear = []
        for k in range(800):
            batch.step(down if k < 400 else up)
            clear.append(bool(batch.description.clear[0]))
        return batch.state, clear

    (one, _), (many, clear) = land(False), land(True)
    assert clear[0] and not clear[400] and clear[-1]
    assert many.pos == pytest.approx(one.pos, abs=1e-6)
    assert many.quat == pytest.approx(one.quat, abs=1e-6)


def test_several_types_in_an_environment():
    names = "iris", "crazyflie", "iris", "octorotor"
    one, many = (flown(aloft(*names), "velocity", each) for each in (False, True))
    assert many.pos == pytest.approx(one.pos, abs=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_give_the_same_bytes(dtype):
    one, two = (flown(aloft("iris"), "velocity", True, dtype, threads=k) for k in (1, 2))
    for there, here in zip(one, two):
        assert there.tobytes() == here.tobytes()


def test_the_neighbours_of_a_vehicle_on_the_ground_stay_in_lanes():
    batch = BatchSimulation("iris", E, controller="geometric")
    batch.state.pos[10:, :, 2] = 50.0
    wanted = np.zeros(batch.action_shape)
    for _ in range(20):
        batch.step(wanted)
    assert np.flatnonzero(~batch.description.clear).tolist() == list(range(10))
    assert (batch.state.pos[10:, 0, 2] > 45.0).all()
    assert np.ptp(batch.state.pos[:10, 0, 2]) == 0.0


# What each loop takes beside the scratch: a rotor's rows (y), those of a group of them and their
# constants (g), constants (c), numbers (n).
LOOPS = {
    control.control_geometric: "cnn",
    control.control_rates: "cn",
    control.control_position: "cnn",
    control.control_attitude: "c",
    control.filter_acceleration: "n",
    control.mix_tilt: "g",
    control.mix_range: "n",
    control.mix_collective: "g",
    control.mix_yaw: "g",
    dynamics.begin_forces: "nnnnnnn",
    dynamics.add_rotor: "yc",
    dynamics.advance_velocities: "cn",
    dynamics.advance_poses: "n",
}


@pytest.mark.long
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.function.__name__)
def test_loops_are_vector_instructions(loop, real):
    compiled = loop_in_lanes(loop, real)
    given = {
        "y": np.ones(layout.ROTOR_ROWS, real),
        "n": real(1.0),
        "c": np.ones(layout.CONSTANTS, real),
    }
    group = (
        np.ones((layout.GROUP, layout.ROTOR_ROWS), real),
        np.ones((layout.GROUP, layout.ROTOR_CONSTANTS), real),
    )
    taken = group if LOOPS[loop] == "g" else [given[kind] for kind in LOOPS[loop]]
    compiled(np.ones(layout.ROWS, real), *taken)
    (assembly,) = compiled.inspect_asm().values()
    packed, scalar, other = (
        len(re.findall(rf"\bv?(?:mul|fn?m\w+?){kind}\b", assembly))
        for kind in (("ps", "ss", "pd") if real is np.float32 else ("pd", "sd", "ps"))
    )
    # A loop over two arrays has a scalar twin for arrays that overlap.
    assert packed >= max(2, 0.9 * scalar) and other == 0
