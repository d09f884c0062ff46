"""Agents from take-off to landing in the simple simulator, the truth log, and the report."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_control.agents import SquareAgent
from xtdrone_core import ARM, FleetModel, FleetState, Mode, Scenario, SetPoints, XtdroneError
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import TruthWriter, read_truth
from xtdrone_core.scenario.vehicles import fleet, grid
from xtdrone_formation import FormationError, Radio, slots
from xtdrone_formation.agents import FormationAgent, PathFormation
from xtdrone_formation.declarations import Shape
from xtdrone_formation.director import Director
from xtdrone_formation.evaluation import analysis, recordings, report
from xtdrone_formation.hovering import require_hovering
from xtdrone_formation.service import FormationService, PatternLeader
from xtdrone_formation.settling import in_place
from xtdrone_formation.simple import run as simple_run
from xtdrone_formation.simple.node import CommandTable, Requests
from xtdrone_formation.simple.simulator import SimpleSimulator, fly
from xtdrone_formation.topics import start_grid
from xtdrone_sim.vehicles.sdf import load_vehicle


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.slow
def test_nine_fly_three_formations_and_land(runs):
    folder, summary = simple_run.run(9, noise=0.05)
    assert [row["name"] for row in summary["formations"]] == ["cube", "pyramid", "triangle"]
    for row in summary["formations"]:
        assert row["settle_time_s"] < 8.0
        assert row["rms_slot_error_m"] < 0.25
    assert summary["done"] and summary["landed"]
    assert summary["min_separation_m"] >= 1.3
    for name in ("trajectories.png", "formation_error.png"):
        assert (folder / name).stat().st_size > 10_000
    assert json.loads((folder / "summary.json").read_text()) == summary
    names = [event["event"] for event in analysis.events(folder)]
    assert names == ["armed", "airborne", *["formation", "settled"] * 3, "return", "land", "landed"]


@pytest.mark.long
def test_two_runs_with_one_seed_leave_the_same_log(runs):
    first, _ = simple_run.run(6, ("T",), "consensus", Radio(0.1, 0.2), 7, 0.05)
    second, _ = simple_run.run(6, ("T",), "consensus", Radio(0.1, 0.2), 7, 0.05)
    assert first != second
    assert (first / "truth.bin").read_bytes() == (second / "truth.bin").read_bytes()
    assert (first / "events.jsonl").read_bytes() == (second / "events.jsonl").read_bytes()


def test_a_fixed_time_for_each_formation():
    times = []
    agent = FormationAgent(
        6, ("T", "triangle"), interval=20.0, on_event=lambda t, event, **v: times.append((event, t))
    )
    assert fly(SimpleSimulator(grid(6)), agent, 200.0)
    commands = [t for event, t in times if event in ("formation", "return")]
    assert np.diff(commands).tolist() == [20_000_000, 20_000_000]


def test_a_leader_flies_its_path_in_formation():
    events, places = [], []
    agent = PathFormation(
        9,
        [[20.0, 0.0, 6.0], [20.0, 15.0, 8.0]],
        "V",
        hold=1.0,
        on_event=lambda t, name, **v: events.append((name, t)),
    )
    simulator = SimpleSimulator(grid(9))
    assert fly(simulator, agent, 120.0, lambda s: places.append((s.t_us, s.pos.copy())))
    times = dict(events)
    under_way = [pos for t, pos in places if times["mission"] <= t <= times["mission_end"]]
    np.testing.assert_allclose(under_way[-1][0], [20.0, 15.0, 8.0], atol=0.2)
    assert min(np.linalg.norm(pos[0] - [20.0, 0.0, 6.0]) for pos in under_way) < 0.2
    offsets = np.array([pos[1:] - pos[0] for pos in under_way])
    assert np.linalg.norm(offsets - offsets[0], axis=2).max() < 0.3
    np.testing.assert_allclose(sorted(offsets[0, :, 0]), sorted(slots("V", 9)[:, 0]), atol=0.1)


def test_a_square_is_flown_corner_by_corner():
    corners, track = [], []
    agent = SquareAgent(2, on_event=lambda t, event, **v: corners.append((event, v)))
    simulator = SimpleSimulator(grid(2))
    assert fly(simulator, agent, 100.0, lambda s: track.append(s.pos.copy()))
    reached = [v for event, v in corners if event == "corner"]
    assert [v["index"] for v in reached] == [1, 2, 3, 4]
    assert all(v["reached"] for v in reached)
    track = np.array(track)
    for corner in ((4, 0, 3), (4, 4, 3), (0, 4, 3), (0, 0, 3)):
        away = np.linalg.norm(track - grid(2) - corner, axis=2)
        assert (away.min(axis=0) < 0.3).all()
    assert track[:, :, 2].max() < 3.3
    assert simulator.landed.all() and not simulator.armed.any()


def test_a_stream_of_set_points_that_stalls_is_late_until_it_goes_on_or_is_given_up():
    simulator = SimpleSimulator(grid(2))
    simulator.armed[:], simulator.mode[1] = True, Mode.OFFBOARD
    table = CommandTable(simulator)
    for i in range(2):
        table.velocity(i, (1.0, 0.0, 0.0), 0.0, False)
    simulator.t_us += 500_000
    assert table.late.tolist() == []
    simulator.t_us += 100_000
    assert table.late.tolist() == [1]  # the other one does not fly by it
    table.velocity(1, (1.0, 0.0, 0.0), 0.0, False)
    assert table.late.tolist() == []
    simulator.t_us += 600_000
    table.end_streams()
    assert table.late.tolist() == []
    table.acceleration(1, (1.0, 0.0, 0.0), True)
    table.velocity(1, (0.0, 0.0, 0.0), 0.0, False)  # HOVER
    simulator.t_us += 600_000
    assert table.late.tolist() == []


def test_the_agent_streams_half_a_second_before_it_asks_for_offboard():
    agent = SquareAgent(1)
    simulator = SimpleSimulator(grid(1))
    first_stream = first_mode = None
    while first_mode is None:
        out = agent.step(simulator.t_us, simulator.estimates())
        if first_stream is None and np.isfinite(out.pos).all():
            first_stream = simulator.t_us
        if out.mode[0] == Mode.OFFBOARD:
            first_mode = simulator.t_us
        simulator.step()
    assert first_mode - first_stream >= 480_000


def test_a_vehicle_that_never_gets_ready_ends_the_flight_in_one_line():
    agent = SquareAgent(2)
    simulator = SimpleSimulator(grid(2))
    simulator.ready[1] = False
    with pytest.raises(XtdroneError, match="vehicle 1 is not ready to arm after 60 s"):
        fly(simulator, agent, 100.0)


def test_wrong_formations_are_refused_before_the_flight():
    with pytest.raises(FormationError, match="'cube' does not fit 4"):
        FormationAgent(4)
    with pytest.raises(FormationError, match="no formation is given"):
        FormationAgent(9, ())


def state(t_us, pos):
    out = FleetState.zeros(len(pos), 4)
    out.t_us, out.pos = t_us, np.asarray(pos, dtype=float)
    out.vel[1:, 0] = 0.5
    return out


def test_truth_log_round_trip_with_a_torn_tail(tmp_path):
    path = tmp_path / "truth.bin"
    writer = TruthWriter(path, 2)
    for k in range(5):
        writer.write(state(20_000 * k, [[k, 0, 0], [0, k, 1]]))
    writer.close()
    path.write_bytes(path.read_bytes()[:-50])
    t_us, table = read_truth(path, 2)
    assert t_us.tolist() == [0, 20_000, 40_000, 60_000]
    assert table.shape == (4, 2, 13)
    np.testing.assert_array_equal(table[3, :, :3], [[3, 0, 0], [0, 3, 1]])
    np.testing.assert_array_equal(table[3, :, 3:7], [[0, 0, 0, 1]] * 2)


def test_truth_log_is_readable_a_second_behind(tmp_path):
    writer = TruthWriter(tmp_path / "truth.bin", 1)
    for k in range(76):
        writer.write(state(20_000 * k, [[0, 0, k]]))
    t_us, _ = read_truth(tmp_path / "truth.bin", 1)
    assert t_us[-1] >= 1_000_000
    writer.close()


def test_truth_log_errors(tmp_path):
    with pytest.raises(XtdroneError, match="cannot read"):
        read_truth(tmp_path / "none.bin", 1)
    with pytest.raises(XtdroneError, match="cannot write"):
        TruthWriter(tmp_path / "no" / "folder.bin", 1)
    writer = TruthWriter(tmp_path / "truth.bin", 2)
    for k in range(5):
        writer.write(state(20_000 * k, np.zeros((2, 3))))
    writer.close()
    with pytest.raises(XtdroneError, match="no truth log of 9 vehicles"):
        read_truth(tmp_path / "truth.bin", 9)


def made_up_run(folder, error_of):
    """A run of two vehicles whose slot error is error_of(t) from a command at 1 s to 11 s."""
    folder.mkdir()
    (folder / "summary.json").write_text('{"n": 2}')
    (folder / "events.jsonl").write_text(
        '{"t_us": 1000000, "event": "formation", "formation": "line", "slots": [[-2, 0, 0]]}\n'
        '{"t_us": 11000000, "event": "return"}\n{"t_us": 12'
    )
    writer = TruthWriter(folder / "truth.bin", 2)
    for k in range(600):
        t = 0.02 * k
        writer.write(state(20_000 * k, [[t, 0, 5], [t - 2, error_of(t), 5]]))
    writer.close()
    return folder


def test_settling_is_counted_from_the_last_time_outside(tmp_path):
    """Outside until 2 s, and again for a moment at 4 s: only after that are 3 s undisturbed."""

    def error(t):
        return 1.0 if t < 2.0 or 4.0 <= t < 4.02 else 0.2

    row = analysis.load(made_up_run(tmp_path / "run", error)).summary()["formations"]
    assert row == [
        {
            "name": "line",
            "settle_time_s": pytest.approx(3.02),
            "rms_slot_error_m": pytest.approx(0.2),
            "max_slot_error_m": 0.2,
            "rms_velocity_error_m_s": 0.5,
        }
    ]


def test_errors_count_from_the_end_of_the_seconds_that_settle(tmp_path):
    """Settled at once; of the 7 s from the end of the first three on, two have 0.4 m."""

    def error(t):
        return 0.4 if t >= 9.0 else 0.3 if t >= 4.0 else 0.34

    row = analysis.load(made_up_run(tmp_path / "run", error)).summary()["formations"][0]
    assert row["settle_time_s"] == 0.0
    assert row["max_slot_error_m"] == 0.4
    assert row["rms_slot_error_m"] == pytest.approx(np.sqrt((5 * 0.09 + 2 * 0.16) / 7), abs=1e-3)


def test_one_follower_astray_keeps_the_others_from_being_settled():
    errors = np.full((2, 99), 0.1)
    errors[0, 5] = 0.71
    assert in_place(errors).tolist() == [False, True]
    assert in_place(np.full(8, 0.35)) and not in_place(np.full(8, 0.351))


@pytest.mark.parametrize(
    "accuracy, minimum, words",
    [
        ((0.05, 0.08), 2.0, ()),
        (
            (1.0, 1.5),
            2.0,
            ("1.5 m in height", "about 2.9 m", "2.0 m apart may collide", "rtk", "spacing of 8 m"),
        ),
        ((1.0, 1.5), 20.0, ("about 2.9 m", "rtk")),
    ],
)
def test_inaccurate_receivers_are_warned_of_before_the_flight(capsys, accuracy, minimum, words):
    agent = FormationAgent(2, "line", spacing=minimum)
    sensors = SimpleNamespace(gps_eph=np.full(2, accuracy[0]), gps_epv=np.full(2, accuracy[1]))
    model = FleetModel.of([load_vehicle("iris")] * 2)
    for pose_source, expected in (("sensors", words), ("truth", ())):
        scenario = Scenario(fleet("iris", 2), pose_source=pose_source)
        scenario = replace(
            scenario,
            vehicles=tuple(
                replace(vehicle, pos=(minimum * i, 0.0, 0.0))
                for i, vehicle in enumerate(scenario.vehicles)
            ),
        )
        flight = SimpleNamespace(
            sensors=sensors, scenario=scenario, fleet=model, state=FleetState.zeros(2, 4)
        )
        agent.attach(flight)
        told = capsys.readouterr().err
        assert told.count("\n") == bool(expected)
        assert all(word in told for word in expected)
        assert minimum == 2.0 or "touch" not in told


def test_what_never_settles_has_no_figures(tmp_path):
    row = analysis.load(made_up_run(tmp_path / "run", lambda t: 0.36)).summary()["formations"][0]
    assert row == {
        "name": "line",
        "settle_time_s": None,
        "rms_slot_error_m": None,
        "max_slot_error_m": None,
        "rms_velocity_error_m_s": None,
    }


def test_a_recording_that_begins_late_tells_when_the_followers_come_into_place(tmp_path):
    """The log begins 5 s after the command: in place 1 s later, or already at its beginning."""
    for name, late, time in (("moving", 1.0, 6.0), ("in place", 0.2, None)):
        folder = made_up_run(tmp_path / name, lambda t: late if t < 7.0 else 0.2)
        lines = (folder / "truth.bin").read_bytes()
        (folder / "truth.bin").write_bytes(lines[len(lines) // 600 * 300 :])
        summary = analysis.load(folder).summary()
        assert [row["settle_time_s"] for row in summary["formations"]] == (
            [pytest.approx(time, abs=0.021)] if time else []
        )
        assert summary.get("recorded_late") == (None if time else ["line"])


def test_a_leaders_mission_is_reported_from_its_start_to_its_end(tmp_path):
    folder = made_up_run(tmp_path / "run", lambda t: 0.3 if 5.0 <= t < 9.0 else 2.0)
    with open(folder / "events.jsonl", "a") as file:
        file.write(
            '\n{"t_us": 5000000, "event": "mission"}\n{"t_us": 9000000, "event": "mission_end"}\n'
        )
    summary = analysis.load(folder).summary()
    assert summary["mission"] == {
        "path_m": pytest.approx(4.0, abs=0.05),
        "rms_slot_error_m": pytest.approx(0.3),
        "max_slot_error_m": pytest.approx(0.3),
    }
    assert summary["formations"][0]["settle_time_s"] is None  # the mission ends the formation


def test_recordings_of_each_vehicle_meet_at_the_leaders_times():
    """Vehicle 1 moves at 2 m/s and is sampled at other times, one of them twice."""
    leader = np.array([[t, 0.0, 0.0, 5.0, 0.1 * t] for t in (0, 10, 20, 30)], dtype=float)
    other = np.array([[t, 2.0 * t, 0.0, 5.0, 0.0] for t in (5, 15, 15, 25)], dtype=float)
    t_us, pos, vel, yaw = recordings.interpolate([(rows, rows[:, :4]) for rows in (leader, other)])
    assert t_us.tolist() == [10, 20]
    assert pos[:, 1].tolist() == [[20.0, 0.0, 5.0], [40.0, 0.0, 5.0]]
    assert pos.shape == vel.shape == (2, 2, 3)
    assert yaw.tolist() == [[1.0, 0.0], [2.0, 0.0]]


@pytest.mark.parametrize(
    "files, source, words",
    [
        (None, None, "no run folder"),
        ((), None, "has no recording of a flight"),
        (("truth.bin",), "rosbag", "has no rosbag .* with record:=true"),
        (("truth.bin",), "ulog", "has no ulog .* with --log none"),
        (("bags/cut.bag",), None, "cannot read .*rosbag reindex"),
        (("ulog/iris_0/log001.ulg",), None, "is not a ULog"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, files, source, words):
    folder = tmp_path / "run"
    for name in files or ():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"rubbish")
    if files == ():
        folder.mkdir()
    with pytest.raises(XtdroneError, match=words) as caught:
        analysis.load(folder, source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "command, words",
    [
        (["compare", "run", "--from", "truht"], "did you mean 'truth'"),
        (["report", "run", "--from", "bag"], "choose one of rosbag, truth, ulog"),
        (["compare", "run", "--out", "no/folder.png"], "cannot write picture 'no/folder.png'"),
    ],
)
def test_commands_refuse_in_one_line(runs, monkeypatch, capsys, command, words):
    made_up_run(runs.parent / "run", lambda t: 0.2)
    monkeypatch.chdir(runs.parent)
    try:
        assert main(["formation", *command]) == 1
    except SystemExit as end:
        assert end.code == 2  # noqa: PT017  (or main returns 1)
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_a_report_says_that_no_formation_was_flown(runs, capsys):
    folder = made_up_run(runs.parent / "run", lambda t: 0.2)
    (folder / "events.jsonl").write_text('{"t_us": 1000000, "event": "armed"}\n')
    assert main(["formation", "report", str(folder)]) == 1
    assert "no formation was flown" in capsys.readouterr().out


def fly_by_words(n, names, noise=0.03, places=None, **options):
    """A Director and a FormationService that know of each other by words and pattern only.

    Returns the simulator, the director, events, and the largest slot errors of each period.
    """
    log = []

    def on_event(t_us, event, **values):
        log.append((event, values.get("formation")))

    simulator = SimpleSimulator(grid(n), noise=noise)
    service = FormationService(n, on_event=on_event, **options)
    director = Director(n, names, service.commands.push, on_event=on_event, **options)
    service.survey.grid = director.survey.grid = places
    errors = []
    while not director.done and simulator.t_us < 300e6:
        estimates = simulator.estimates()
        if service.pattern is not None:
            director.on_pattern(simulator.t_us, service.pattern.astype(np.float32))
        out = director.step(simulator.t_us, estimates)
        wish = service.step(simulator.t_us, estimates)
        if wish is not None:
            errors.append(service.formation.errors(simulator.t_us, simulator.pos).max())
            for values, wished in ((out.pos, wish.pos), (out.vel, wish.vel), (out.acc, wish.acc)):
                values[1:] = wished[1:]
            if np.isnan(out.pos[0]).all():  # the leader's communication holds its last place
                out.pos[0] = director.home[0] + [0.0, 0.0, director.height]
        simulator.apply(out)
        for _ in range(2):
            simulator.step()
    return simulator, director, log, errors


def test_a_director_commands_by_words():
    simulator, director, log, _ = fly_by_words(9, ("cube", "triangle"))
    assert director.done
    assert log == [
        ("armed", None),
        ("airborne", None),
        ("formation", "cube"),
        ("settled", "cube"),
        ("formation", "triangle"),
        ("settled", "triangle"),
        ("return", None),
        ("formation", "waiting"),
        ("released", None),
        ("land", None),
        ("landed", None),
    ]
    away = np.linalg.norm((simulator.pos[:, None] - grid(9))[:, :, :2], axis=2)
    assert (away.min(axis=1) < 0.3).all()


def test_words_that_are_no_formation_are_for_the_leader():
    service = FormationService(9)
    assert service.commands.push("cube")
    assert not service.commands.push("AUTO.LAND")
    with pytest.raises(FormationError, match="does not fit 9"):
        service.commands.push("cuboid")
    assert service.commands.pop() == "cube"
    assert service.commands.pop() is None


def test_a_service_is_silent_until_a_formation_is_named_and_after_release():
    simulator = SimpleSimulator(grid(6))
    service = FormationService(6)
    assert service.step(0, simulator.estimates()) is None
    service.commands.push("circle")
    out = service.step(40_000, simulator.estimates())
    assert np.isfinite(out.vel[1:]).all()
    assert np.isnan(out.vel[0]).all() and np.isnan(out.pos).all()
    service.commands.push("stop controlling")
    assert service.step(80_000, simulator.estimates()) is None
    assert service.pattern is None


def test_a_follower_that_is_sent_elsewhere_stays_there_until_the_next_command():
    service = FormationService(6)

    def asked(t_s, command="", **modes):
        """Who is sent into OFFBOARD, with these modes of some vehicles."""
        mode = np.full(6, int(Mode.OFFBOARD))
        for name, value in modes.items():
            mode[int(name[1:])] = value
        if command:
            service.commands.push(command)
        out = service.step(
            round(t_s * 1e6),
            replace(SimpleSimulator(grid(6)).estimates(), armed=np.ones(6, bool), mode=mode),
        )
        return np.flatnonzero(out.mode == Mode.OFFBOARD).tolist()

    assert asked(0, "circle", v1=Mode.LOITER, v2=Mode.LOITER) == [1, 2]
    assert asked(2, v1=Mode.LOITER) == [1], "not there yet"
    assert asked(4) == []
    assert asked(6, v3=Mode.LAND, v0=Mode.LAND) == []
    assert asked(8, "circle", v3=Mode.LOITER) == [3]


@pytest.mark.parametrize("kind", ["plane", "rover", "boat"])
def test_a_follower_that_cannot_hover_is_refused(kind):
    kinds = [("iris_1", "multirotor"), ("vtol_2", "VTOL"), (f"{kind}_3", kind)]
    service = FormationService(4, require_followers=lambda: require_hovering(kinds))
    simulator = SimpleSimulator(grid(4))
    service.commands.push("line")
    with pytest.raises(FormationError, match=f"{kind}_3 is a {kind}, which cannot hold a slot"):
        service.step(0, simulator.estimates())
    assert service.step(40_000, simulator.estimates()) is None
    kinds.pop()
    service.commands.push("line")
    assert service.step(80_000, simulator.estimates()) is not None


def test_followers_keep_their_slots_above_a_leader_on_the_ground():
    """It drives a circle of 20 m at 2 m/s, as a rover does."""
    n, radius, speed = 4, 20.0, 2.0
    simulator = SimpleSimulator(grid(n) + [0.0, 0.0, 4.0] * (np.arange(n) > 0)[:, None])
    service = FormationService(n, shape=Shape(rise=4.0))
    service.commands.push("V")
    out, errors = SetPoints.empty(n), []
    while simulator.t_us < 40e6:
        found = service.step(simulator.t_us, simulator.estimates())
        angle = simulator.t_us * 1e-6 * speed / radius
        out.clear()
        out.arm[:], out.mode[:] = ARM, Mode.OFFBOARD
        out.pos[1:], out.vel[1:], out.acc[1:] = found.pos[1:], found.vel[1:], found.acc[1:]
        out.vel[0] = speed * np.array([math.cos(angle), math.sin(angle), 0.0])
        simulator.apply(out)
        for _ in range(2):
            simulator.step()
        errors.append(service.formation.errors(simulator.t_us, simulator.pos).max())
    assert abs(simulator.pos[0, 2]) < 0.5
    assert max(errors[-250:]) < 0.5
    np.testing.assert_allclose(simulator.pos[1:, 2], 4.0, atol=0.5)


def test_a_leader_alone_moves_its_pattern_smoothly():
    leader = PatternLeader(9)
    np.testing.assert_array_equal(leader.pattern, grid(9)[1:])
    leader.commands.push("pyramid")
    before = leader.pattern
    for t_us in range(40_000, 12_000_000, 40_000):
        leader.step(t_us)
        assert np.linalg.norm(leader.pattern - before, axis=1).max() <= 3.0 * 0.04 * 1.01
        before = leader.pattern
    assert {tuple(row) for row in leader.pattern.tolist()} == {
        tuple(row) for row in slots("pyramid", 9).tolist()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme",
    ["centralised", pytest.param("consensus", marks=pytest.mark.long), "consensus_acceleration"],
)
def test_a_formation_stays_above_the_ground(scheme):
    simulator, service = SimpleSimulator(grid(9)), FormationService(9, scheme)
    assert service.step(0, simulator.estimates()) is None
    out = SetPoints.empty(9)
    heights = []

    def fly(seconds, z):
        for _ in range(round(seconds * 25)):
            found = service.step(simulator.t_us, simulator.estimates())
            out.clear()
            out.arm[:], out.mode[:] = ARM, Mode.OFFBOARD
            out.pos[:] = simulator.pos  # until the service controls the followers
            out.pos[:, 2] = z
            out.pos[0, :2] = 0.0
            if found is not None:
                for values, wished in (
                    (out.pos, found.pos),
                    (out.vel, found.vel),
                    (out.acc, found.acc),
                ):
                    values[1:] = wished[1:]
                heights.append(simulator.pos[1:, 2].min())
            simulator.apply(out)
            for _ in range(2):
                simulator.step()

    fly(8.0, 2.5)
    service.commands.push("pyramid")
    with pytest.raises(
        FormationError,
        match="'pyramid' reaches 4.0 m below the leader, who is "
        "2.5 m above the ground: climb to 5.0 m or more",
    ):
        fly(0.1, 2.5)
    assert service.step(simulator.t_us, simulator.estimates()) is None
    fly(8.0, 5.2)
    service.commands.push("pyramid")
    fly(15.0, 5.2)
    assert service.formation.errors(simulator.t_us, simulator.pos).max() < 0.3
    assert min(heights) > 0.9
    fly(8.0, 2.0)  # the leader descends, the formation stays up
    assert min(heights) > 0.8


def test_a_leader_alone_refuses_what_does_not_fit():
    leader = PatternLeader(9)
    leader.step(0, 0.1)
    leader.commands.push("pyramid")
    with pytest.raises(FormationError, match="climb to 5.0 m"):
        leader.step(40_000, 2.6)
    np.testing.assert_array_equal(leader.pattern, grid(9)[1:])
    leader.commands.push("pyramid")
    for t_us in range(80_000, 12_000_000, 40_000):
        leader.step(t_us, 6.1)
    assert leader.pattern[:, 2].min() == -4.0
    leader.step(12_000_000, 3.1)
    assert leader.pattern[:, 2].min() == pytest.approx(-2.0)


@pytest.mark.parametrize(("survey_time", "least", "most"), [(0.0, 0.1, 0.5), (36e3, 0.0, 0.02)])
def test_what_the_receivers_err_on_the_start_grid_is_taken_off(survey_time, least, most):
    simulator = SimpleSimulator(grid(4), noise=0.1)
    agent = FormationAgent(4, ("line",), hold=1.0, survey_time=survey_time)
    agent.attach(
        SimpleNamespace(
            scenario=Scenario(vehicles="iris*4"),
            state=simulator,
            sensors=SimpleNamespace(gps_eph=np.full(4, 0.05), gps_epv=np.full(4, 0.08)),
        )
    )
    errors = []

    def measure(simulator):
        if agent.goals_reached()["formations"][0]:
            places = agent.slot_positions(simulator.t_us, simulator.pos)[1:]
            errors.append(np.linalg.norm(simulator.pos[1:] - places, axis=1).max())

    assert fly(simulator, agent, 100.0, measure)
    assert least <= errors[0] <= most


def test_a_director_and_a_service_know_the_start_grid():
    """Over topics as in process: what the receivers err on the ground is taken off."""
    unknown, known = (
        min(fly_by_words(4, ("line",), 0.1, places, survey_time=36e3)[3])
        for places in (None, grid(4))
    )
    assert known < 0.01 and unknown > 0.05


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x,y,z\n0,0,0\n3,0,0\n", None),
        ("0,0,0\n", "has 1 rows and does not fit 2 vehicles"),
        ("0,0,0\n3,a,0\n", "row 2"),
        (None, "cannot read file of the start grid .*No such file"),
    ],
)
def test_places_of_a_start_grid_are_read(tmp_path, text, why):
    path = tmp_path / "places.csv"
    if text is not None:
        path.write_text(text)
    args = SimpleNamespace(places=str(path), survey_time=60.0)
    if why is None:
        assert start_grid.places(args, None, ["a", "b"]).tolist() == [[0, 0, 0], [3, 0, 0]]
    else:
        with pytest.raises(FormationError, match=why):
            start_grid.places(args, None, ["a", "b"])


def test_places_are_those_of_the_simulation_unless_it_has_another_fleet():
    args = SimpleNamespace(places="", survey_time=60.0)
    log = SimpleNamespace(request=lambda op: {"places": [[1, 2, 3]]})
    assert start_grid.places(args, log, ["a"]).tolist() == [[1, 2, 3]]
    assert start_grid.places(args, log, ["a", "b"]) is None
    args.survey_time = 0.0
    assert start_grid.places(args, log, ["a"]) is None


def test_a_flight_that_was_stopped_on_the_ground_has_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "report", lambda folder: {})
    (tmp_path / "summary.json").write_text("{}")
    assert FormationAgent(4, ("line",)).report(tmp_path) == {}
    assert json.loads((tmp_path / "summary.json").read_text())["messages_sent"] == 0


def test_the_simple_simulator_tells_its_start_grid(tmp_path):
    simulator = SimpleSimulator(grid(2))
    asked = Requests(simulator, ["a", "b"], tmp_path, lambda *event: None)
    simulator.pos[:] += 1.0
    assert asked.handle("places", {})["places"] == grid(2).tolist()
