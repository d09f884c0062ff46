"""Each task's own: rewards in closed form, ends, successes, what it moves, what is observed."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core.racing.track import read_track
from xtdrone_gym.errors import LearningError
from xtdrone_gym.rows import Rows
from xtdrone_gym.task import Task
from xtdrone_gym.task_batch import TaskBatch
from xtdrone_gym.tasks import TASKS, landing, pursuit, racing, track as track_task

ONE = np.arange(1)
MULTIROTORS = (
    "iris",
    "solo",
    "typhoon_h480",
    "octorotor",
    "crazyflie",
    "heavy_lifter",
    "coaxial",
    "tilted_hexarotor",
)


def still(name, **options):
    """A task of one environment, whose vehicles begin exactly where it says."""
    task = TASKS[name]
    return TaskBatch(task, 1, randomisation=type(task.randomisation)(), **options)


def judge(tasks):
    tasks.task.judge(ONE, tasks.reward_arrays)
    return tasks.reward[0], bool(tasks.ended.any()), bool(tasks.success[0])


def advance(tasks, t_us=20_000):
    tasks.task.advance(ONE, tasks.true, np.array([t_us]), tasks.task.step_s)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_seed_gives_the_same_bytes_whatever_the_number_of_environments(name):
    def fly(environments, threads, seed):
        tasks = TaskBatch(name, environments, seed=seed, threads=threads)
        random = np.random.default_rng(1)
        low, high = np.array(tasks.task.low), np.array(tasks.task.high)
        seen = []
        for _ in range(12):
            share = random.random((9, *tasks.action.shape[1:]))[:environments]
            tasks.step_and_restart(low + share * (high - low))
            seen.append((tasks.observation[:4].tobytes(), tasks.reward[:4].tobytes()))
        return seen

    assert fly(4, 1, 3) == fly(9, 2, 3) != fly(4, 1, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle",  # the smallest, the largest and the usual one; the others by make test-long
    [
        pytest.param(
            name, marks=[] if name in ("iris", "crazyflie", "heavy_lifter") else [pytest.mark.long]
        )
        for name in MULTIROTORS
    ],
)
def test_every_multirotor_begins_each_task_free_of_others_and_of_objects(vehicle):
    for name, task in TASKS.items():
        tasks = TaskBatch(task, 16, vehicle=vehicle, seed=2)
        hover = np.zeros_like(tasks.action)
        hover[..., 3] = 0.5 if task.action == "rates" else 0.0
        tasks.step(hover)
        assert not tasks.ended.any(), f"{name} with {vehicle}"


@pytest.mark.slow
def test_a_trajectory_is_the_figure_that_was_drawn_and_its_error_is_measured():
    tasks = still("Trajectory-v0", seed=4)
    place, goal, memory = tasks.batch.state.pos[0, 0], tasks.goal[0, 0], tasks.memory[0, 0]
    c, a, w, f = goal[12:].reshape(4, 3)
    for second, far in ((1.0, 3.0), (4.0, 0.1), (5.0, 0.2)):
        place[:] = c + a * np.sin(w * second + f) + (far, 0.0, 0.0)
        advance(tasks, round(second * 1e6))
        for n in range(4):
            assert goal[3 * n : 3 * n + 3] == pytest.approx(
                c + a * np.sin(w * (second + 0.2 * n) + f), abs=1e-5
            )
    assert memory == pytest.approx([0.1**2 + 0.2**2, 2.0], rel=1e-3)  # from 3 s on
    tasks.batch.state.ang_vel[0, 0] = 0.3, 0.0, 0.4
    reward, ended, success = judge(tasks)
    assert reward == pytest.approx(1.0 / (1.0 + 16.0 * 0.04) + 0.98 - 0.01, rel=1e-3)
    assert success and not ended  # a root mean square of 0.16 m
    assert tasks.potential[0, 0] == pytest.approx(-5.0 * 0.2, rel=1e-3)
    place[0] += 8.0
    assert judge(tasks)[:2] == (-10.0, True)


def through(tasks, gate, left, up, along=(-0.1, 0.1)):
    """Moves a vehicle through the plane of a gate; returns the memory."""
    x, y, z, cos, sin = tasks.goal[0, 0, racing.GATE * gate :][:5]
    tasks.memory[0, 0, racing.STARTED] = 0.0  # it has not flown here
    for far in along:
        tasks.batch.state.pos[0, 0] = (
            x + far * cos - left * sin,
            y + far * sin + left * cos,
            z + up,
        )
        advance(tasks)
    return tasks.memory[0, 0]


@pytest.mark.slow
def test_gates_stand_where_the_course_is_and_are_passed_in_their_order():
    tasks = still("Racing-v0", seed=5)
    bars = tasks.batch.scenes.objects[0, 1:].reshape(racing.GATES, racing.BARS)
    gates = tasks.goal[0, 0].reshape(racing.GATES, racing.GATE)
    assert gates[:, :3] == pytest.approx(bars["pos"].mean(axis=1), abs=1e-5)
    turned = Rotation.from_quat(bars["quat"][:, 0]).apply([1.0, 0.0, 0.0])
    assert gates[:, 3:6] == pytest.approx(turned, abs=1e-6)
    inner = np.linalg.norm(bars["pos"][:, 0] - bars["pos"][:, 1], axis=1) - bars["size"][:, 0, 1]
    assert inner == pytest.approx(racing.SIDE, abs=1e-5)
    assert through(tasks, 1, 0.0, 0.0)[racing.NEXT] == 0.0  # the second one first
    memory = through(tasks, 0, 0.3, -0.6)
    assert memory[racing.NEXT] == 1.0 and memory[racing.PASSED] == pytest.approx(0.5, abs=1e-4)
    gain = memory[racing.GAIN]
    reward, ended, _ = judge(tasks)
    assert reward == pytest.approx(gain + 1.5, abs=1e-3) and not ended
    assert through(tasks, 1, 1.3, 0.0)[racing.MISSED] == 1.0
    assert judge(tasks)[:2] == (racing.LOSS, True)
    for gate in range(1, racing.GATES):
        assert not judge(tasks)[2]
        memory = through(tasks, gate, 0.0, 1.0)
    assert memory[racing.NEXT] == racing.GATES and judge(tasks)[1:] == (True, True)


def test_a_gate_is_not_passed_backwards_and_its_frame_ends_the_flight():
    tasks = still("Racing-v0", seed=5)
    assert through(tasks, 0, 0.0, 0.0, (0.1, -0.1))[racing.NEXT] == 0.0
    tasks.batch.state.pos[0, 0] = tasks.batch.scenes.objects["pos"][0, 1]
    tasks.step(np.zeros_like(tasks.action))
    assert tasks.terminated[0] and tasks.reward[0, 0] == racing.LOSS and not tasks.success[0]


def test_the_next_two_gates_are_observed_from_the_body():
    tasks = still("Racing-v0", seed=6)
    tasks.memory[0, 0, racing.NEXT] = racing.GATES - 2
    turn = Rotation.from_euler("zyx", [1.0, 0.2, -0.3])
    tasks.batch.state.quat[0, 0] = turn.as_quat()
    tasks.batch.state.pos[0, 0] = 40.0, 2.0, 4.0
    for last, first, second in ((0.0, -2, -1), (1.0, -1, -1)):
        tasks.memory[0, 0, racing.NEXT] += last
        tasks.task.observe(ONE, tasks.true)
        gates = tasks.goal[0, 0].reshape(racing.GATES, racing.GATE)[[first, second]]
        seen = tasks.true.observation[0, 0]
        places = tasks.task.goal_positions(tasks.goal[0], tasks.memory[0])
        assert places[0] == pytest.approx(gates[0, :3])
        assert seen[:6].reshape(2, 3) == pytest.approx(
            np.clip(turn.inv().apply(gates[:, :3] - [40.0, 2.0, 4.0]), -30, 30), abs=1e-4
        )
        assert seen[6:12].reshape(2, 3) == pytest.approx(turn.inv().apply(gates[:, 3:6]), abs=1e-5)


def test_navigation_rewards_progress_and_ends_at_the_goal_and_outside():
    tasks = still("DepthNavigation-v0", seed=7)
    place, goal = tasks.batch.state.pos[0, 0], tasks.goal[0, 0]
    for far in (5.0, 4.75):
        place[:] = goal - [far, 0.0, 0.0]
        advance(tasks)
    assert judge(tasks) == (pytest.approx(0.25, abs=1e-5), False, False)
    place[0] = goal[0] - 0.9
    advance(tasks)
    assert judge(tasks) == (pytest.approx(3.85 + 10.0, abs=1e-5), True, True)
    for outside in ((2.0, 8.1, 2.0), (-3.1, 0.0, 2.0), (2.0, 0.0, 0.4), (2.0, 0.0, 4.6)):
        place[:] = outside
        advance(tasks)
        assert judge(tasks) == (-10.0, True, False)


def test_navigation_sees_a_tree_where_it_stands():
    tasks = still("DepthNavigation-v0", seed=8)
    trees = tasks.batch.scenes.objects[0, 1:]
    tasks.batch.scenes.objects[0, 2:] = np.zeros((), trees.dtype)
    trees[0]["pos"], trees[0]["quat"] = (4.0, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0)
    trees[0]["size"][0] = 0.25
    tasks.batch.rays.invalidate()
    tasks.step(np.zeros_like(tasks.action))
    row = tasks.observation[0, 0, 13 : 13 + 48].reshape(3, 16)[0]
    focal = 24.0 / np.tan(0.95)
    column = int((23.5 - focal * 0.25) / 3)  # to the left, at 3.75 of 4 m
    assert row.argmin() in (column, column + 1) and row.min() == pytest.approx(0.375, abs=0.02)
    assert row[-1] == 1.0


def test_images_of_some_environments_leave_those_of_others():
    batch = BatchSimulation(
        "iris@0,0,2.5",
        6,
        dtype="float32",
        threads=1,
        seed=1,
        scenes=TaskBatch("DepthNavigation-v0", 6, seed=1).batch.scenes,
    )
    camera = batch.add_camera(TASKS["DepthNavigation-v0"].camera)
    before = camera.capture().depth.copy()
    batch.state.pos[:, :, 0] += 2.0
    some = camera.capture(np.array([1, 4])).depth.copy()
    everyone = camera.capture().depth
    for e in range(6):
        assert (some[e] == (everyone if e in (1, 4) else before)[e]).all()
    assert (before != everyone).any(axis=(1, 2, 3)).all()


@pytest.mark.slow
def test_the_platforms_goal_moves_with_its_object():
    tasks = TaskBatch("Landing-v0", 20, seed=3)
    up = np.zeros_like(tasks.action)
    up[..., 3] = 0.65
    for _ in range(500):
        tasks.step(up)
        tops = tasks.batch.scenes.objects[:, landing.PLATFORM]
        assert tasks.goal[:, 0, :2] == pytest.approx(tops["pos"][:, :2], abs=1e-4)
        assert tasks.goal[:, 0, 3:] == pytest.approx(tops["vel"], abs=1e-6)
    assert tasks.goal[:, 0, 2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("aside", "velocity", "lean", "success"),
    [
        (0.6, (0.3, 0.3, -0.7), 0.2, True),
        (0.8, (0.0, 0.0, -0.3), 0.0, False),
        (0.0, (0.6, 0.0, -0.3), 0.0, False),
        (0.0, (0.0, 0.0, -0.9), 0.0, False),
        (0.0, (0.0, 0.0, -0.3), 0.3, False),
    ],
)
def test_the_approach_before_the_touch_decides(aside, velocity, lean, success):
    tasks = still("Landing-v0", seed=4)
    s, goal = tasks.batch.state, tasks.goal[0, 0]
    goal[:] = 1.0, 2.0, 1.0, 0.5, -0.5, 0.0
    s.pos[0, 0] = goal[:3] + goal[3:] * 2 * 0.02 + [0.0, aside, 0.2]  # two steps later
    s.vel[0, 0] = goal[3:] + velocity
    s.quat[0, 0] = np.sin(lean / 2), 0.0, 0.0, np.cos(lean / 2)
    advance(tasks)
    assert not judge(tasks)[1]
    s.vel[0, 0], s.contact[0, 0] = goal[3:], (0.0, 0.0, 30.0)  # after the touch
    advance(tasks)
    badly = aside + np.linalg.norm(velocity) + lean
    assert judge(tasks) == (
        pytest.approx(max(5.0 - 5.0 * badly, -10.0) + 15.0 * success, abs=1e-3),
        True,
        success,
    )
    s.pos[0, 0, 2] = goal[2] - 0.5  # its side, or the ground
    assert judge(tasks) == (-10.0, True, False)


@pytest.mark.slow
def test_four_goals_are_dealt_apart_and_the_nearest_others_come_first():
    tasks = TaskBatch("MultiHover-v0", 300, seed=5)
    apart = np.linalg.norm(tasks.goal[:, :, None] - tasks.goal[:, None], axis=-1)
    assert (apart + 9.0 * np.eye(4)).min() > 5.6
    angle = np.arctan2(tasks.goal[..., 1], tasks.goal[..., 0])
    steps = np.round((angle - angle[:, :1]) / (0.5 * np.pi)).astype(int) % 4
    assert len({tuple(row) for row in steps}) == 6  # every order occurs
    s, seen = tasks.batch.state, tasks.true.observation
    for e in range(3):
        for i in range(4):
            turn = Rotation.from_quat(s.quat[e, i]).inv()
            there = sorted(
                (s.pos[e, j] - s.pos[e, i] for j in range(4) if j != i), key=np.linalg.norm
            )
            assert seen[e, i, 12:21].reshape(3, 3) == pytest.approx(turn.apply(there), abs=1e-4)


def test_nearness_costs_and_ends_the_episode_of_all():
    tasks = still("MultiHover-v0", seed=6)
    s = tasks.batch.state
    s.pos[0] = tasks.goal[0]
    reward, ended, success = judge(tasks)
    assert reward == pytest.approx(2.0) and success and not ended
    s.pos[0, 1] = s.pos[0, 0] + [1.5, 0.0, 0.0]
    reward, ended, success = judge(tasks)
    assert reward[0] == pytest.approx(2.0 - 2.0 + 0.75) and reward[2:] == pytest.approx(2.0)
    assert not ended and not success
    s.pos[0, 1] = s.pos[0, 0] + [0.9, 0.0, 0.0]
    reward, ended, _ = judge(tasks)
    assert reward.tolist() == [-20.0, -20.0, 2.0, 2.0] and ended


def test_whom_another_ends_is_cut_off():
    """Their rows go on being worth something to a learner, unlike those of the two that met."""
    rows = Rows(TaskBatch("MultiHover-v0", 2, seed=6))
    s = rows.tasks.batch.state
    s.vel[:] = 0.0
    s.pos[1] = rows.tasks.goal[1]
    s.pos[1, 1] = s.pos[1, 0] + [0.0, 0.0, 0.9]
    rows.step(np.zeros((8, 4)))
    assert rows.done.tolist() == [False] * 4 + [True] * 4
    assert rows.truncated.tolist() == [False] * 6 + [True] * 2


@pytest.mark.slow
def test_slots_keep_their_places_about_the_leader_and_say_how_fast_they_are():
    tasks = TaskBatch("Formation-v0", 40, seed=7)
    which, goal = np.arange(40), tasks.goal
    before = goal.copy()
    tasks.task.advance(which, tasks.true, np.full(40, 20_000), 0.02)
    moved = (goal[..., :3] - before[..., :3]) / 0.02
    assert moved == pytest.approx(0.5 * (goal[..., 3:6] + before[..., 3:6]), abs=1e-2)
    gaps = goal[:, :, None, :3] - goal[:, None, :, :3]
    assert gaps == pytest.approx(before[:, :, None, :3] - before[:, None, :, :3], abs=1e-5)
    sizes = np.sort(np.linalg.norm(gaps, axis=-1)[:, (0, 0, 1), (1, 2, 2)], axis=1)
    assert sizes == pytest.approx(np.tile(sizes[0], (40, 1)), abs=1e-4) and sizes.min() > 4.0


@pytest.mark.slow
def test_the_evader_flees_within_its_bounds_and_is_caught_for_all():
    tasks = TaskBatch("Pursuit-v0", 50, seed=8)
    action = np.zeros_like(tasks.action)
    for _ in range(150):
        action[..., :3] = tasks.goal[..., :3] - tasks.batch.state.pos
        tasks.step(np.clip(action, tasks.task.low, tasks.task.high))
        goal = tasks.goal[:, 0]
        assert (tasks.goal == goal[:, None]).all()
        assert np.hypot(goal[:, 0], goal[:, 1]).max() <= pursuit.RADIUS + 1e-4
        assert np.hypot(goal[:, 3], goal[:, 4]).max() <= pursuit.SPEED + 1e-4
        caught = np.linalg.norm(tasks.batch.state.pos - goal[:, None, :3], axis=-1) < 1.0
        assert (tasks.success <= caught.any(axis=1)).all()
        assert (tasks.reward[tasks.success] == pursuit.REWARD).all()


def test_an_evader_between_a_pursuer_and_free_space_flies_straight_away():
    goal, pursuer = np.zeros(6, dtype=np.float32), np.array([[-2.0, 0.0, 12.0]], dtype=np.float32)
    goal[2] = 12.0
    for _ in range(20):
        pursuit.flee(goal, pursuer, 0.1)
    assert goal[3] == pytest.approx(pursuit.SPEED, abs=0.1) and abs(goal[4]) < 1e-3
    assert goal[0] > 5.0


def test_a_task_is_a_value_that_can_be_changed():
    longer = dataclasses.replace(TASKS["Landing-v0"], seconds=30.0)
    assert isinstance(longer, Task) and TaskBatch(longer, 2).limit_us == 30_000_000


def test_a_track_is_flown_by_its_gates_in_all_laps():
    track = dataclasses.replace(read_track("eight"), laps=2)
    tasks = TaskBatch(TASKS["Track-v0"].on_track(TASKS["Track-v0"], track), 1, threads=1)
    gates = tasks.goal[0, 0].reshape(-1, racing.GATE)
    assert len(gates) == 2 * len(track.gates) + 1
    wanted = [(*gate.pos, *gate.axes()[0], 0.9, 0.9) for gate in track.gates]
    assert gates == pytest.approx(np.array(wanted * 2 + wanted[:1]), abs=1e-6)
    tasks.memory[0, 0, racing.NEXT] = len(gates) - 1
    assert through(tasks, len(gates) - 1, 0.8, 0.0)[racing.NEXT] == len(gates)
    assert judge(tasks)[1:] == (True, True)


def test_tracks_that_a_policy_cannot_know_are_refused():
    with pytest.raises(LearningError, match="gate 1 of track 'split_s' is a way-point, a ball"):
        TASKS["Track-v0"].on_track(TASKS["Track-v0"], read_track("split_s"))


def test_drawn_gates_turn_sharply_and_can_be_missed():
    tasks = still("Track-v0", seed=3)
    gates = tasks.goal[0, 0].reshape(-1, racing.GATE)
    steps = np.linalg.norm(np.diff(gates[:, :3], axis=0), axis=1)
    assert (steps > 2.9).all() and (steps < 11.3).all()
    assert (gates[:, 6:] >= 0.5).all() and (gates[:, 6:] <= 1.5).all()
    assert through(tasks, 0, gates[0, 6] + 0.1, 0.0)[racing.MISSED] == 1.0
    assert judge(tasks)[:2] == (racing.LOSS, True)


def test_on_a_track_episodes_begin_before_any_of_its_gates():
    track, task = read_track("eight"), TASKS["Track-v0"]
    tasks = TaskBatch(task.learn_on(task, track), 64, threads=1, seed=2)
    gates = tasks.goal[:, 0].reshape(64, 2 * len(track.gates), racing.GATE)
    ahead = ((gates[:, 0, :3] - tasks.true.pos[:, 0]) * gates[:, 0, 3:6]).sum(axis=1)
    assert (ahead > 0.9).all() and (ahead < 6.1).all()
    # From 0.9 m less the vehicle's own room on.
    assert gates[..., 6].min() >= 0.5 and gates[..., 6].max() <= 1.5
    places = np.array([gate.pos for gate in track.gates] * 3)
    begun = set()
    for flown in gates[:, :, :3]:
        apart = [abs((flown - flown[0]) - (places[n : n + 12] - places[n])).max() for n in range(6)]
        assert min(apart) < 1e-5
        begun.add(int(np.argmin(apart)))
    assert begun == set(range(6))


@pytest.mark.parametrize("gate", [3, 2])  # the next one, and the last
@pytest.mark.parametrize(
    ("along", "left", "touches"),
    [(0.3, 0.0, False), (0.3, 1.2, True), (0.3, -1.2, True), (0.6, 1.2, False), (0.3, 2.5, False)],
)
def test_on_a_track_frames_are_solid(gate, along, left, touches):
    task = TASKS["Track-v0"]
    task = task.learn_on(task, read_track("eight"))
    tasks = TaskBatch(task, 1, randomisation=type(task.randomisation)(), threads=1)
    tasks.goal[0, 0, racing.GATE * gate + 6 : racing.GATE * (gate + 1)] = 0.6
    tasks.memory[0, 0, racing.NEXT] = 3
    side = -along if gate == 3 else along  # not through it
    memory = through(tasks, gate, left, 0.0, along=(side, side))
    assert memory[racing.MISSED] == float(touches)
    assert judge(tasks)[1] == touches
    assert not touches or judge(tasks)[0] == track_task.TRACK_LOSS
