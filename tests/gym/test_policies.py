"""Policies as files: ONNX equals PyTorch, damaged and unfit files are refused, flights."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="learning is not installed: scripts/setup.sh --learn")
onnx = pytest.importorskip("onnx")

import xtdrone as xd  # noqa: E402
from xtdrone_core.command import main  # noqa: E402
from xtdrone_gym.errors import LearningError  # noqa: E402
from xtdrone_gym.learning.training import Plan, Training  # noqa: E402
from xtdrone_gym.policy.agent import PolicyAgent  # noqa: E402
from xtdrone_gym.policy.pilot import Pilot  # noqa: E402
from xtdrone_gym.policy.policy_file import Policy  # noqa: E402
from xtdrone_gym.task_batch import TaskBatch  # noqa: E402


def trained(folder, **options):
    """A policy after one iteration; returns its Training."""
    settings = {"horizon": 4, "epochs": 1, "minibatches": 1, **options.pop("settings", {})}
    training = Training(
        Plan(
            task="Position-v0",
            environments=8,
            steps=1,
            episodes=16,
            threads=1,
            settings=settings,
            **options,
        ),
        folder,
    )
    training.run()
    return training


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    trained(folder)
    return folder / "policy.onnx"


@pytest.mark.parametrize("options", [{}, {"history": 2}, {"settings": {"recurrent": 16}}])
def test_the_file_acts_as_the_network_that_was_learned(tmp_path, options):
    training = trained(tmp_path, **options)
    learner, policy = training.learner, Policy(tmp_path / "policy.json")
    rng = np.random.default_rng(0)
    memory = policy.first_memory(5)
    theirs = torch.zeros(5, learner.actor.recurrent)
    for _ in range(3):
        seen = rng.normal(0.0, 2.0, (5, len(learner.scaling.scale))).astype(np.float32)
        action, memory = policy.act(seen, memory)
        with torch.no_grad():
            wanted, theirs = training.kept(
                torch.from_numpy(learner.scaling.observation(seen)), theirs
            )
        assert action == pytest.approx(wanted.numpy(), abs=1e-5)
        assert memory == pytest.approx(theirs.numpy(), abs=1e-5)


def test_a_pilot_does_what_the_policy_does_in_its_batch(path):
    policy = Policy(path)
    batch = TaskBatch("Position-v0", 3, seed=4, threads=1)
    pilot = Pilot(policy, (xd.load_vehicle("iris"),) * 3)
    pilot.begin()
    pilot.tasks.goal[:] = batch.goal
    s = batch.batch.state
    for k in range(30):
        action = pilot.act(k * 20_000, s.pos[:, 0], s.quat[:, 0], s.vel[:, 0], s.ang_vel[:, 0])
        assert pilot.tasks.observation == pytest.approx(batch.observation, abs=1e-5)
        batch.step(action[:, None])


def damaged(path, folder, change):
    """A copy of a policy whose ONNX model or JSON is changed; its sum is right again."""
    model = onnx.load(path)
    data = json.loads(path.with_suffix(".json").read_text())
    data = change(model, data) or data
    network = data.pop("bytes", None) or model.SerializeToString()
    data.setdefault("sha256", "")
    if data["sha256"] != "kept":
        data["sha256"] = hashlib.sha256(network).hexdigest()
    out = folder / "bad.onnx"
    out.write_bytes(network)
    out.with_suffix(".json").write_text(json.dumps(data))
    return out


def weights(model, data):
    array = onnx.numpy_helper.to_array(model.graph.initializer[1]).copy()
    array[0, 0] = np.nan
    model.graph.initializer[1].CopyFrom(
        onnx.numpy_helper.from_array(array, model.graph.initializer[1].name)
    )


def operator(model, data):
    model.graph.node[1].op_type = "Scan"


def external(model, data):
    weight = model.graph.initializer[0]
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="/etc/passwd")


def own_domain(model, data):
    model.opset_import.add(domain="evil", version=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (weights, "are not finite"),
        (operator, "operator 'Scan' is not allowed"),
        (external, "weights lie in another file"),
        (own_domain, "operators of its own"),
        (lambda m, d: {**d, "bytes": b"no network"}, "not an ONNX file"),
        (lambda m, d: {**d, "sha256": "kept"}, "not the network that its JSON describes"),
        (lambda m, d: {**d, "history": 3}, "inputs and outputs are"),
        (lambda m, d: {**d, "format": 99}, "its format is 99"),
        (lambda m, d: {**d, "centre": [float("inf")] * 4}, "inf|Infinity|not allowed"),
        (lambda m, d: {**d, "period_us": "soon"}, "not allowed"),
        (lambda m, d: {k: v for k, v in d.items() if k != "task"}, "has no 'task'"),
        (lambda m, d: {**d, "surprise": 1}, "surprise"),
    ],
)
def test_a_damaged_policy_is_refused_in_one_line(path, tmp_path, change, message):
    with pytest.raises(xd.XtdroneError, match=message) as error:
        Policy(damaged(path, tmp_path, change))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "vehicle", "message"),
    [
        ({}, "crazyflie", "is for 'iris', not for 'crazyflie'"),
        ({"task": "Hovering-v9"}, "iris", "unknown task 'Hovering-v9'"),
        ({"action": "velocity"}, "iris", "its action is velocity"),
        ({"period_us": 10_000}, "iris", "its period_us is 10000"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused(path, tmp_path, change, vehicle, message):
    bad = damaged(path, tmp_path, lambda m, d: {**d, **change})
    with pytest.raises(xd.XtdroneError, match=message):
        Pilot(Policy(bad), (xd.load_vehicle(vehicle),))


def test_a_policy_for_any_vehicle_flies_others(path, tmp_path):
    free = damaged(path, tmp_path, lambda m, d: {**d, "vehicle": "any"})
    pilot = Pilot(Policy(free), (xd.load_vehicle("crazyflie"),))
    assert (
        pilot.scaling.centre[3] != Pilot(Policy(path), (xd.load_vehicle("iris"),)).scaling.centre[3]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["fly", "policy"], "no policy is given"),
        (["fly", "policy", "--policy", "nowhere.onnx"], "cannot read"),
        (["learn", "Positon-v0"], "did you mean 'Position-v0'"),
        (["learn", "Position-v0", "--vehicle", "plane"], "plane"),
        (["learn", "Position-v0", "--set", "horizn=3"], "horizn"),
        (["learn", "Position-v0", "--set", "horizon=many"], "horizon = many is not allowed"),
    ],
)
def test_wrong_commands_get_one_line(capsys, tmp_path, monkeypatch, line, message):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    assert main(line) != 0
    err = capsys.readouterr().err.strip().splitlines()
    assert message in err[-1] and "Traceback" not in "".join(err)


def test_an_agent_flies_episodes_and_lands(path):
    events = []
    agent = PolicyAgent(
        2,
        str(path),
        episodes=2,
        pause=0.5,
        on_event=lambda t_us, name, **values: events.append(name),
    )
    scenario = xd.Scenario.from_dict({"vehicles": "iris@0,0,0; iris@8,0,0"})
    with xd.Simulation(scenario, agent=agent) as flight:
        flight.run(120.0)
        assert events.count("episode") == 2 and events[-1] == "landed" and flight.done
    assert agent.goals_reached()["episodes"][1] == 4


def test_a_written_description_is_read_again(path):
    d = Policy(path).description
    assert d.task == "Position-v0" and d.inputs == 16 and d.vehicle == "iris"
    assert d.training["steps"] == 32 and dataclasses.replace(d) == d


def test_no_other_file_is_replaced(tmp_path):
    (tmp_path / "policy.onnx").write_text("somebody's thesis")
    with pytest.raises(LearningError, match="left alone"):
        trained(tmp_path)
    assert (tmp_path / "policy.onnx").read_text() == "somebody's thesis"
