"""Tasks through Gymnasium: its checker, bounds, autoreset modes, seeds, refusals."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from scipy.spatial.transform import Rotation

from xtdrone_batch.errors import BatchError
from xtdrone_gym.interfaces.vector_env import BatchVectorEnv
from xtdrone_gym.task_batch import TaskBatch
from xtdrone_gym.tasks import TASKS

HOVER = np.array([0.0, 0.0, 0.0, 0.64], dtype=np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")  # ours are in SI units
@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_checks_and_makes_each_task(name):
    env = gymnasium.make(f"xtdrone_gym:xtdrone/{name}")
    check_env(env.unwrapped, skip_render_check=True)
    many = gymnasium.make_vec(f"xtdrone/{name}", num_envs=3)
    observation, _ = many.reset(seed=1)
    assert many.observation_space.contains(observation)
    assert many.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_observations_stay_in_their_space_under_any_action(name):
    env = BatchVectorEnv(name, 200, seed=2)
    env.reset(seed=2)
    env.action_space.seed(0)
    for _ in range(150):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward).all() and not (terminated & truncated).any()


def test_the_observation_is_the_state_in_the_bodys_frame():
    env = BatchVectorEnv("Position-v0", 5)
    observation, _ = env.reset(seed=3)
    action = (np.tile(HOVER, (5, 1)) + [0.5, 0.1, 0.2, 0.0]).astype(np.float32)
    for _ in range(20):
        observation, *_ = env.step(action)
    s = env.batch.state
    turn = Rotation.from_quat(s.quat[:, 0]).inv()
    assert observation[:, :3] == pytest.approx(
        turn.apply(env.tasks.goal[:, 0] - s.pos[:, 0]), abs=1e-4
    )
    assert observation[:, 3:6] == pytest.approx(turn.apply(np.tile([0, 0, 1], (5, 1))), abs=1e-5)
    assert observation[:, 6:9] == pytest.approx(turn.apply(s.vel[:, 0]), abs=1e-5)
    assert observation[:, 9:12] == pytest.approx(s.ang_vel[:, 0])
    assert observation[:, 12:] == pytest.approx(action)


def test_the_reward_of_position_is_aerial_gyms():
    tasks = TaskBatch("Position-v0", 1)
    state = tasks.batch.state
    state.pos[:], state.quat[:] = (0.3, -0.2, 30.5), (0.1, 0, 0, 0.99498744)
    state.ang_vel[:], tasks.goal[:] = (0.4, 0.0, -0.3), (0.0, 0.0, 30.0)
    one = np.arange(1)
    tasks.task.judge(one, tasks.reward_arrays)
    d, tilt, w = np.sqrt(0.09 + 0.04 + 0.25), 2.0 * np.arcsin(0.1), 0.5
    near = 3.0 * np.exp(-8.0 * d * d) + 2.0 * np.exp(-4.0 * d * d)
    wanted = near + (20.0 - d) / 40.0 + near * (0.2 / (0.1 + tilt**2) + 3.0 / (1.0 + w * w))
    assert tasks.reward[0, 0] == pytest.approx(wanted, rel=1e-4) and not tasks.ended[0, 0]
    state.pos[:] = 0.0, 8.1, 30.0
    tasks.task.judge(one, tasks.reward_arrays)
    assert tasks.reward[0, 0] == -20.0 and tasks.ended[0, 0]


def falling(mode, seed=5):
    env = BatchVectorEnv("Position-v0", 4, autoreset_mode=mode)
    env.reset(seed=seed)
    env.batch.state.pos[1, 0, 0] = 7.9 + env.tasks.goal[1, 0, 0]
    env.batch.state.vel[1, 0, 0] = 10.0
    return env


def test_same_step_gives_the_final_observation_and_the_next_episode_at_once():
    env = falling("SameStep")
    before = env.batch.t_us.copy()
    observation, reward, terminated, _, info = env.step(np.tile(HOVER, (4, 1)))
    assert before.max() == 0 and terminated.tolist() == [False, True, False, False]
    assert reward[1] == -20.0 and info["_final_obs"].tolist() == terminated.tolist()
    assert np.linalg.norm(info["final_obs"][1][:3]) > 8.0 and info["final_obs"][0] is None
    assert np.linalg.norm(observation[1, :3]) < 8.0 and env.batch.t_us.tolist()[1] == 0
    assert (observation[1, 12:] == 0.0).all()


def test_next_step_gives_the_next_episode_with_the_next_action():
    env = falling("NextStep")
    observation, reward, terminated, *_ = env.step(np.tile(HOVER, (4, 1)))
    assert terminated[1] and np.linalg.norm(observation[1, :3]) > 8.0 and reward[1] == -20.0
    observation, reward, terminated, *_ = env.step(np.tile(HOVER, (4, 1)))
    assert not terminated.any() and reward[1] == 0.0 and env.batch.t_us[1] == 0
    assert np.linalg.norm(observation[1, :3]) < 8.0


def test_disabled_leaves_resets_to_the_caller():
    env = falling("Disabled")
    _, _, terminated, *_ = env.step(np.tile(HOVER, (4, 1)))
    t_us, terminated = env.batch.t_us.copy(), terminated.copy()
    env.reset(options={"reset_mask": terminated})
    assert env.batch.t_us.tolist() == np.where(terminated, 0, t_us).tolist()


def test_episodes_are_truncated_at_their_time():
    env = BatchVectorEnv("Hover-v0", 3, autoreset_mode="Disabled")
    env.reset(seed=1)
    env.batch.t_us[:] = (5_979_999, 5_980_000, 0)
    _, _, terminated, truncated, _ = env.step(np.tile(HOVER, (3, 1)))
    assert truncated.tolist() == [False, True, False] and not terminated.any()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_seed_gives_the_same_episodes(threads):
    def fly(seed):
        env = BatchVectorEnv("Hover-v0", 50, threads=threads)
        env.reset(seed=seed)
        env.action_space.seed(7)
        return b"".join(env.step(env.action_space.sample())[0].tobytes() for _ in range(60))

    first = fly(4)
    assert first == fly(4) and first != fly(5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BatchVectorEnv("Positon-v0"), "unknown task 'Positon-v0'.*did you mean"),
        (lambda: BatchVectorEnv("Hover-v0", 2).step(np.zeros((2, 3))), r"shape \(2, 3\) are not"),
        (lambda: BatchVectorEnv("Hover-v0", 2).step(np.full((2, 4), np.nan)), "p = nan"),
        (lambda: BatchVectorEnv("Hover-v0", 0), "environments = 0 is not allowed"),
        (lambda: BatchVectorEnv("Hover-v0", vehicle="plane"), "plane"),
    ],
)
def test_what_is_refused_is_named(call, message):
    with pytest.raises(BatchError, match=message):
        call()
