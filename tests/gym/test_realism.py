"""What differs from the truth in training: noise, lasting errors, delay, wind."""

import dataclasses

import numpy as np
import pytest

from xtdrone_batch.errors import BatchError
from xtdrone_gym.realism import FLIGHT, Realism
from xtdrone_gym.task_batch import PRIVILEGED, TaskBatch
from xtdrone_gym.tasks import TASKS

MANY = 2000
HOVER = np.float32([0.0, 0.0, 0.0, 0.7])


def batch(environments=MANY, **options):
    return TaskBatch("Position-v0", environments, threads=1, **options)


def hover(tasks, steps=1):
    for _ in range(steps):
        tasks.step(np.tile(HOVER, (*tasks.action.shape[:2], 1)))


@pytest.mark.parametrize(("kind", "seen"), [("pos", "pos"), ("vel", "vel"), ("rate", "ang_vel")])
def test_noise_and_lasting_errors_have_their_widths(kind, seen):
    tasks = batch(realism=Realism(**{f"{kind}_noise": 0.3, f"{kind}_bias": 0.5}))

    def errors():
        return getattr(tasks.seen, seen) - getattr(tasks.true, seen)

    hover(tasks)
    first = errors()
    hover(tasks)
    second = errors()
    assert first.std() == pytest.approx(np.hypot(0.3, 0.5), rel=0.05)
    assert (first - second).std() == pytest.approx(np.sqrt(2.0) * 0.3, rel=0.05)  # bias stays
    tasks.begin()
    assert abs(np.corrcoef(errors().ravel(), second.ravel())[0, 1]) < 0.1  # and is drawn anew


def test_a_measured_attitude_is_a_rotation_near_the_true_one():
    tasks = batch(realism=Realism(tilt_noise=0.05))
    hover(tasks)
    a, b = tasks.seen.quat[:, 0], tasks.true.quat[:, 0]
    assert np.linalg.norm(a, axis=1) == pytest.approx(1.0, abs=1e-5)
    angle = 2.0 * np.arccos(np.clip(np.abs((a * b).sum(axis=1)), 0.0, 1.0))
    assert np.sqrt(np.mean(angle**2)) == pytest.approx(np.sqrt(3.0) * 0.05, rel=0.05)


def test_actions_arrive_late_by_what_each_episode_has_drawn():
    tasks = batch(300, realism=Realism(delay=3))
    given = np.zeros((8, *tasks.action.shape), dtype=np.float32)
    given[..., 3] = np.linspace(0.3, 0.9, 8)[:, None, None]
    arrived = []
    for action in given:
        tasks.step(action)
        arrived.append(tasks.arriving[:, 0, 3].copy())
    late = tasks.delay
    assert set(late) == {0, 1, 2, 3}
    for k in range(3, 8):
        assert arrived[k] == pytest.approx(given[k - late, 0, 0, 3])
    assert (arrived[0][late > 0] == 0.0).all()  # nothing was commanded before
    assert tasks.action[0, 0, 3] == given[-1, 0, 0, 3]  # what is observed is what was given


def test_what_arrives_has_a_lasting_error():
    tasks = batch(realism=Realism(action_bias=0.1))
    hover(tasks, 2)
    error = tasks.arriving - tasks.action
    half = 0.5 * (np.array(tasks.task.high) - tasks.task.low)
    assert error.std(axis=(0, 1)) == pytest.approx(0.1 * half, rel=0.1)
    hover(tasks)
    assert tasks.arriving - tasks.action == pytest.approx(error, abs=1e-6)


def test_wind_blows_from_any_direction_up_to_its_speed():
    calm = TASKS["Position-v0"].randomisation
    tasks = batch(randomisation=dataclasses.replace(calm, wind=4.0))
    wind = tasks.batch.state.wind[:, 0]
    speed = np.linalg.norm(wind, axis=1)
    assert speed.max() < 4.0 and speed.mean() == pytest.approx(2.0, rel=0.1)
    assert abs(wind.mean(axis=0)).max() < 0.2 and (wind[:, 2] == 0.0).all()
    hover(tasks, 50)
    assert tasks.batch.state.wind[:, 0] == pytest.approx(wind)
    drift = (tasks.true.vel[:, 0, :2] * wind[:, :2]).sum(axis=1) / speed
    assert drift[speed > 3.0].mean() > drift[speed < 1.0].mean() + 0.05
    with pytest.raises(BatchError, match="not allowed together"):
        batch(2, randomisation=dataclasses.replace(calm, wind=4.0), wind="1,0,0")


def test_a_critic_may_know_the_truth():
    tasks = batch(50, realism=FLIGHT, history=2)
    hover(tasks)
    out = np.zeros((50, 1, tasks.task.size + PRIVILEGED), dtype=np.float32)
    tasks.privileged(out)
    clean = batch(50)
    for name in ("pos", "quat", "vel", "ang_vel"):
        getattr(clean.batch.state, name)[:] = getattr(tasks.true, name)
    clean.goal[:], clean.action[:] = tasks.goal, tasks.action
    clean.task.observe(np.arange(50), clean.true)
    assert out[..., : tasks.task.size] == pytest.approx(clean.true.observation, abs=1e-5)
    assert (out[..., -1] == tasks.delay[:, None]).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pos_noise", -0.1),
        ("delay", 1.5),
        ("delay", 99),
        ("rate_bias", float("nan")),
        ("tilt_noise", "much"),
        ("action_bias", 1e9),
    ],
)
def test_what_is_not_allowed_is_named(name, value):
    with pytest.raises(BatchError, match=f"{name} = .* is not allowed: give a"):
        Realism(**{name: value})
