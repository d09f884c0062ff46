"""BatchSimulation: resets, seeds, contacts, wind, sensors, and what it refuses."""

import numpy as np
import pytest

from xtdrone_batch.errors import BatchError
from xtdrone_batch.randomisation import Randomisation
from xtdrone_batch.scenes import BOX, CYLINDER, PLANE, SPHERE, Scenes, object_dtype
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.quaternion import rotate

WIDE = Randomisation(
    pos=(2.0, 1.0, 0.5), yaw=3.0, tilt=0.4, vel=1.0, ang_vel=0.5, mass=0.2, thrust=0.1
)
HIGH = "iris@0,0,100"


def states(batch):
    return {name: array.tobytes() for name, array in batch.state._asdict().items()}


def hover(batch):
    return np.zeros(batch.action_shape)


def objects_of(*rows):
    """One environment for all, with objects (kind, pos, size)."""
    found = np.zeros((1, len(rows)), dtype=object_dtype())
    found["quat"][..., 3] = 1.0
    for record, (kind, pos, size) in zip(found[0], rows):
        record["kind"], record["pos"], record["size"] = kind, pos, size
    return Scenes(found, np.array([[[-50.0] * 3, [50.0] * 3]]))


GROUND = (PLANE, (0.0, 0.0, 0.0), (100.0, 100.0, 0.0))


def test_reset_draws_within_the_widths_and_depends_on_the_environment_alone():
    many = BatchSimulation(HIGH, 400, randomisation=WIDE, seed=3)
    few = BatchSimulation(HIGH, 7, randomisation=WIDE, seed=3)
    away = many.state.pos[:, 0] - BatchSimulation(HIGH).state.pos[0, 0]
    assert (abs(away) <= np.array(WIDE.pos) + 1e-9).all()
    assert (abs(away).max(axis=0) > 0.95 * np.array(WIDE.pos)).all()
    assert np.array_equal(many.state.pos[:7], few.state.pos)
    assert np.array_equal(many.variation.effectiveness[:7], few.variation.effectiveness)
    assert 0.8 <= many.variation.mass.min() < 0.82 and 1.18 < many.variation.mass.max() <= 1.2
    up = [rotate(*q, 0.0, 0.0, 1.0)[2] for q in many.state.quat[:, 0]]
    assert np.cos(0.4) - 1e-9 <= min(up) < np.cos(0.35)
    assert abs(np.linalg.norm(many.state.quat, axis=-1) - 1.0).max() < 1e-12


def test_reset_of_some_leaves_the_others():
    batch = BatchSimulation(HIGH, 20, randomisation=WIDE, seed=1)
    for _ in range(5):
        batch.step(hover(batch))
    before, mask = batch.state.pos.copy(), np.arange(20) % 3 == 0
    batch.reset(mask)
    assert np.array_equal(batch.state.pos[~mask], before[~mask])
    assert (batch.state.pos[mask] != before[mask]).any(axis=-1).all()
    assert (batch.t_us[mask] == 0).all() and (batch.t_us[~mask] == 100_000).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": "float32", "controller": "geometric"},
        {"wind": "mean=3,0,0 dryden=5"},
        {"sensors": True},
    ],
)
def test_the_same_seed_gives_the_same_bytes(options):
    def fly(seed, threads):
        batch = BatchSimulation(HIGH, 9, randomisation=WIDE, seed=seed, threads=threads, **options)
        for _ in range(10):
            batch.step(hover(batch))
        readings = batch.sensors.records.tobytes() if "sensors" in options else b""
        return states(batch), readings

    assert fly(1, 1) == fly(1, 2)
    assert fly(1, 1) != fly(2, 1)
    batch = BatchSimulation(HIGH, 9, randomisation=WIDE, seed=1, **options)
    first = states(batch)
    batch.step(hover(batch))
    batch.reset(seed=1)
    if "wind" not in options:
        assert states(batch) == first


@pytest.mark.parametrize("name", ["iris", "crazyflie", "plane", "rover", "typhoon_h480"])
def test_a_vehicle_rests_on_the_ground(name):
    batch = BatchSimulation(f"{name}@0,0,0.02", 2, action="actuator")
    for _ in range(150):  # 3 s
        batch.step(hover(batch))
    weight = batch.model.vehicle["mass"][0] * 9.80665
    assert batch.state.contact[0, 0, 2] == pytest.approx(weight, rel=0.02)
    assert np.linalg.norm(batch.state.vel[0, 0]) < 0.02
    assert -0.005 < batch.state.pos[0, 0, 2] - batch.model.vehicles[0].cog[2] < 0.3
    assert rotate(*batch.state.quat[0, 0], 0.0, 0.0, 1.0)[2] > 0.98


@pytest.mark.parametrize(
    "obstacle",
    [
        (BOX, (3.0, 0.0, 5.0), (1.0, 8.0, 8.0)),
        (SPHERE, (3.0, 0.0, 5.0), (1.0, 0.0, 0.0)),
        (CYLINDER, (3.0, 0.0, 5.0), (1.0, 10.0, 0.0)),
    ],
)
def test_obstacles_stop_a_vehicle(obstacle):
    def farthest(scenes):
        batch = BatchSimulation("iris@0,0,5", 1, action="velocity", scenes=scenes)
        forward = np.array([[[2.0, 0.0, 0.0, 0.0]]])
        found = []
        for _ in range(140):
            batch.step(forward)
            found.append((batch.state.pos[0, 0, 0], np.linalg.norm(batch.state.contact[0, 0])))
        return np.array(found)

    free, stopped = farthest(objects_of(GROUND)), farthest(objects_of(GROUND, obstacle))
    assert free[-1, 0] > 3.0 and not free[:, 1].any()
    hit = np.flatnonzero(stopped[:, 1])
    assert len(hit) and 1.5 < stopped[hit[0], 0] < 2.6


def test_vehicles_meet():
    batch = BatchSimulation("iris@-2,0,10; iris@2,0,10", 1, action="velocity")
    towards = np.array([[[2.0, 0.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]]])
    minimum, touched = 9.0, False
    for _ in range(100):
        batch.step(towards)
        minimum = min(minimum, np.linalg.norm(np.diff(batch.state.pos[0], axis=0)))
        touched = touched or bool(batch.state.contact[0].any())
    radius = batch.description.records.base["radius"][0]
    assert touched and minimum == pytest.approx(2.0 * radius, abs=0.05)


def test_wind_carries_a_vehicle_whose_rotors_stand():
    still, windy = (
        BatchSimulation(HIGH, 1, action="attitude", wind=wind) for wind in ("", "5,0,0")
    )
    level = np.array([[[0.0, 0.0, 0.0, 1.0, 0.5]]])
    for _ in range(50):
        still.step(level)
        windy.step(level)
    assert (windy.state.wind == (5.0, 0.0, 0.0)).all()
    assert windy.state.vel[0, 0, 0] > 0.5 and abs(still.state.vel[0, 0, 0]) < 1e-9


def test_sensors_measure_the_state():
    batch = BatchSimulation("iris@1,2,30", 3, action="velocity", sensors=True)
    for _ in range(50):
        batch.step(hover(batch))
    accel = batch.sensors.records["accel"].reshape(3, 1, 3)
    assert accel[..., 2] == pytest.approx(9.80665, abs=0.5)
    assert len(np.unique(accel)) == accel.size


@pytest.mark.parametrize("controller", ["px4", "geometric", "indi"])
@pytest.mark.parametrize("name", ["iris", "crazyflie", "heavy_lifter", "octorotor"])
def test_each_controller_reaches_a_position(name, controller):
    batch = BatchSimulation(f"{name}@0,0,20", 1, action="position", controller=controller)
    goal = np.array([[[3.0, -2.0, 22.0, 1.0]]])
    for _ in range(500):  # 10 s
        batch.step(goal)
    assert batch.state.pos[0, 0] == pytest.approx(goal[0, 0, :3], abs=0.05)
    x, y, _ = rotate(*batch.state.quat[0, 0], 1.0, 0.0, 0.0)
    assert np.arctan2(y, x) == pytest.approx(1.0, abs=0.02)


def test_memory_of_a_vehicle():
    batch = BatchSimulation("iris", 1000, controller="geometric", dtype="float32")
    d = batch.description
    arrays = [*d.state, *d.loop_state, *d.variation, d.action, d.streams]
    assert sum(array.nbytes for array in arrays) / 1000 <= 400  # measured 252 bytes


@pytest.mark.parametrize(
    "options, message",
    [
        ({"environments": 0}, "environments = 0 is not allowed: give a whole number from 1"),
        ({"environments": 2.5}, "environments = 2.5 is not allowed"),
        ({"action": "velocty"}, "did you mean 'velocity'"),
        ({"controller": "lqr"}, "controller"),
        ({"dtype": "int8"}, "dtype 'int8' is not allowed: give float64 or float32"),
        ({"vehicles": "irsi"}, "irsi"),
        (
            {"vehicles": "iris*60", "environments": 10_000_000},
            "need .* GB and .* GB are free: give at",
        ),
        ({"vehicles": "plane", "action": "velocity"}, "'plane' takes no action 'velocity'"),
        ({"wind": "gusty"}, "gusty"),
        ({"seed": -1}, "seed = -1 is not allowed"),
        ({"threads": -1}, "threads = -1 is not allowed"),
        (
            {
                "environments": 3,
                "scenes": Scenes(np.zeros((2, 1), object_dtype()), np.zeros((2, 2, 3))),
            },
            "the scenes have 2 environments and the batch 3",
        ),
    ],
)
def test_bad_batches(options, message):
    with pytest.raises(XtdroneError, match=message) as error:
        BatchSimulation(**options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "action, message",
    [
        (np.zeros((2, 1, 3)), "shape .2, 1, 3. is not allowed: give .2, 1, 4."),
        (np.array([[[0, 0, 0, 0]], [[0, np.nan, 0, 0]]]), "environment 1, vehicle 0 has vy = nan"),
        (np.array([[["a"] * 4]] * 2), "type <U1 is not allowed"),
    ],
)
def test_bad_actions(action, message):
    batch = BatchSimulation(HIGH, 2)
    before = states(batch)
    with pytest.raises(BatchError, match=message):
        batch.step(action)
    assert states(batch) == before


@pytest.mark.parametrize(
    "mask, message",
    [
        (np.zeros(2, bool), "selects no environment"),
        (np.ones(3, bool), "shape .3,. is not allowed"),
        (np.array([0, 1]), "int64"),
    ],
)
def test_bad_masks(mask, message):
    with pytest.raises(BatchError, match=message):
        BatchSimulation(HIGH, 2).reset(mask)


@pytest.mark.parametrize(
    "values",
    [{"mass": 1.0}, {"tilt": -0.1}, {"pos": (1.0, 2.0)}, {"vel": float("nan")}, {"yaw": "much"}],
)
def test_bad_randomisations(values):
    with pytest.raises(BatchError, match=f"{next(iter(values))} = .* is not allowed"):
        Randomisation(**values)


@pytest.mark.parametrize("action", ["velocity", "position"])
@pytest.mark.parametrize("vehicle", ["iris", "crazyflie", "typhoon_h480"])
def test_vehicles_take_off_from_the_ground_into_lanes(vehicle, action):
    """Near the ground without lanes, above it in lanes: what the loops remember goes along."""
    batch = BatchSimulation(vehicle, 2, action=action)
    for _ in range(300):
        climb = np.zeros(batch.action_shape)
        climb[..., 2] = (
            3.0 if action == "position" else np.clip(3.0 - batch.state.pos[..., 2], -1.0, 1.0)
        )
        batch.step(climb)
    assert batch.state.pos[..., 2] == pytest.approx(3.0, abs=0.1)
    assert np.isfinite(batch.description.loop_state.memory[..., :9]).all()
