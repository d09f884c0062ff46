"""Pictures and films of tasks show vehicles, goals and what stands in the world."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image

from xtdrone_batch.errors import BatchError
from xtdrone_gym.interfaces.vector_env import BatchVectorEnv
from xtdrone_gym.rendering import SIZE, View, record
from xtdrone_gym.task_batch import TaskBatch
from xtdrone_gym.tasks import TASKS
from xtdrone_sim.errors import ViewError

POSITION = TASKS["Position-v0"]
SMALL = 160, 120
HOVER = np.float32([0.0, 0.0, 0.0, 0.64])


def hover(observation):
    return np.broadcast_to(HOVER, (*observation.shape[:2], 4))


def orange(image):
    """Share of the pixels that have the colour of a vehicle, its trail and its goal."""
    r, g, b = (image[..., k].astype(int) for k in range(3))
    return float(((r > 130) & (r > g + 50) & (g > b + 20)).mean())


@pytest.mark.slow
def test_a_view_shows_the_vehicle_its_trail_and_its_goal():
    tasks = TaskBatch(POSITION, 2, threads=1)
    view = View(tasks, 1)
    tasks.begin(seed=4)
    shares = []
    for k in range(31):
        if k % 6 == 0:
            image = view.image()  # a point of the trail more
            shares.append(orange(image))
        tasks.step(np.tile(HOVER + np.float32([0.3, 0, 0, 0]), (2, 1, 1)))
    assert image.shape == (SIZE[1], SIZE[0], 3) and image.dtype == np.uint8
    assert 2e-4 < shares[0] < 0.1 and shares[-1] > shares[0]  # the trail grows
    with_goal = orange(view.image())
    tasks.goal[1, 0, 2] += 500.0
    assert orange(view.image()) < with_goal
    view.close()


@pytest.mark.slow
def test_a_view_shows_what_stands_in_its_environment():
    task = dataclasses.replace(
        POSITION,
        world="forest",
        starts=((0.0, 0.0, 1.5),),
        randomisation=dataclasses.replace(POSITION.randomisation, pos=(0.1, 0.1, 0.1)),
    )
    tasks = TaskBatch(task, 2, threads=1)
    views = [View(tasks, e, SMALL) for e in (0, 1)]
    first, second = (view.image() for view in views)
    assert np.abs(first.astype(int) - second).mean() > 5.0  # another forest
    again = views[0].image()
    tasks.begin()
    after = views[0].image()
    assert (
        np.abs(again.astype(int) - first).mean()
        < 1.0
        < 5.0
        < np.abs(after.astype(int) - first).mean()
    )
    for view in views:
        view.close()


@pytest.mark.long
def test_gymnasium_checks_and_gets_images():
    env = gymnasium.make("xtdrone_gym:xtdrone/Position-v0", render_mode="rgb_array")
    with pytest.warns(UserWarning, match="symmetric and normalized"):  # ours are in SI units
        check_env(env.unwrapped)
    env.close()
    many = BatchVectorEnv("Position-v0", 9, render_mode="rgb_array")
    many.reset(seed=1)
    images = many.render()
    assert len(images) == 4 and images[0].shape == (SIZE[1], SIZE[0], 3)
    assert (images[0] != images[1]).any()
    many.close()
    assert BatchVectorEnv("Position-v0", 2).render() is None


@pytest.mark.slow
def test_the_parallel_environment_gives_images():
    pytest.importorskip("pettingzoo")
    from xtdrone_gym.interfaces.parallel_env import parallel_env

    env = parallel_env(POSITION, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == (SIZE[1], SIZE[0], 3)
    env.close()


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".gif", ".mp4", ".png"])
def test_an_episode_is_recorded(suffix, tmp_path):
    if suffix == ".mp4":
        av = pytest.importorskip("av")
    path = record(
        TaskBatch(POSITION, 3, threads=1),
        tmp_path / f"flight{suffix}",
        hover,
        seconds=0.4,
        environment=2,
        size=SMALL,
    )
    if suffix == ".mp4":
        with av.open(str(path)) as film:
            assert len(list(film.decode(video=0))) == 11
            assert float(film.streams.video[0].average_rate) == pytest.approx(25.0)
    else:
        with Image.open(path) as film:
            assert film.size == SMALL and getattr(film, "n_frames", 1) == (
                11 if suffix == ".gif" else 1
            )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: BatchVectorEnv("Hover-v0", render_mode="depth"),
            "'depth' is not allowed: give rgb",
        ),
        (lambda: View(TaskBatch("Hover-v0", 2), 2), "environment 2 cannot be drawn: give 0 to 1"),
        (lambda: View(TaskBatch("Hover-v0"), camera="side"), "no camera 'side': give one of fleet"),
        (lambda: record(TaskBatch("Hover-v0"), "flight.avi", hover), "ends in .mp4, .gif, .png"),
    ],
)
def test_what_is_refused_is_named(call, message):
    with pytest.raises((BatchError, ViewError), match=message):
        call()
