"""QGroundControl's .plan and .params files, and the commands around them."""

import json
import math
from pathlib import Path

import pytest

from own_ports import LATEST
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.navigation.fleet_plans import of_fleet
from xtdrone_autopilot.navigation.mission_items import DO_JUMP, FENCE, MISSION, RALLY
from xtdrone_autopilot.navigation.preload import preload
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_autopilot.parameters.store import ParameterStore, listed
from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs.run_folder import runs_root

PLANS = Path(__file__).parents[3] / "docs" / "missions"
ORIGIN = math.radians(47.397742), math.radians(8.545594), 488.0  # the planned home of these plans
STARTS = (5.0, 0.0, 0.0), (10.0, 0.0, 0.0), (30.0, -40.0, 0.0)


@pytest.mark.parametrize("name", ["square", "twenty", "survey"])
def test_plans_survive_reading_and_writing(name, tmp_path):
    plan = plan_file.load(PLANS / f"{name}.plan")
    plan_file.save(tmp_path / "again.plan", plan)
    assert repr(plan_file.load(tmp_path / "again.plan")) == repr(plan)


def test_a_mission_has_a_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert plan_file.load("square") == plan_file.load(PLANS / "square.plan")
    assert main(["mission", "check", "squar"]) == 1
    assert "did you mean 'square'?" in capsys.readouterr().err
    (tmp_path / "square").write_text("{}")  # a file comes first
    with pytest.raises(AutopilotError, match="is not a plan"):
        plan_file.load("square")


@pytest.mark.parametrize(
    "text, names, moved",
    [
        ("square", ["square"] * 3, [(0, 0), (5, 0), (25, -40)]),  # by the starts from the first one
        ("square, square,course", ["square", "square", "course"], [(0, 0)] * 3),  # as they are
        ("square*2, course", ["square", "square", "course"], [(5, 0), (10, 0), (0, 0)]),
        ("course *1,square * 2", ["course", "square", "square"], [(5, 0), (10, 0), (30, -40)]),
    ],
)
def test_each_vehicle_of_a_fleet_has_its_plan(text, names, moved):
    def places(items):
        return [item.position(ORIGIN, (0.0, 0.0, 0.0)) for item in items if item.has_place]

    plans = of_fleet(text, STARTS, ORIGIN)
    for plan, name, (east, north) in zip(plans, names, moved, strict=True):
        given = places(plan_file.load(name).items[MISSION])
        found = places(plan.items[MISSION])
        # Degrees are kept to 1e-7, which is 11 mm.
        assert found == [pytest.approx((x + east, y + north, z), abs=0.03) for x, y, z in given]


@pytest.mark.parametrize(
    "text, said",
    [
        ("square*2", "2 plans for 3 vehicles: give one for all, or one for each, as in"),
        ("square*2,course*2", "4 plans for 3 vehicles"),
        ("square,square", "2 plans for 3 vehicles"),
        ("square*0,square*3", "count in 'square[*]0'.*from 1"),
        ("*3", "cannot read plan '[*]3'"),
        ("square*x", "cannot read plan 'square[*]x': write PLAN or PLAN[*]COUNT"),
        ("square*3,", "cannot read plan ''"),
        ("sqare*3", "did you mean 'square'"),
    ],
)
def test_plans_that_are_not_one_for_each_vehicle_are_refused_in_one_line(text, said):
    with pytest.raises(XtdroneError, match=said) as refused:
        of_fleet(text, STARTS, ORIGIN)
    assert "\n" not in str(refused.value)


def test_a_plan_without_a_home_cannot_be_repeated(tmp_path):
    path = write(tmp_path, [simple(16, [0, 0, 0, None, 47.0, 8.0, 5], 1)])
    with pytest.raises(XtdroneError, match="has no plannedHomePosition"):
        of_fleet(f"{path}*3", STARTS, ORIGIN)


def simple(command, params, jump_id, frame=3):
    return {
        "type": "SimpleItem",
        "command": command,
        "params": params,
        "frame": frame,
        "doJumpId": jump_id,
        "autoContinue": True,
    }


def write(tmp_path, items, **more):
    path = tmp_path / "test.plan"
    path.write_text(
        json.dumps({"fileType": "Plan", "version": 1, "mission": {"items": items}, **more})
    )
    return path


def test_jumps_count_from_one_in_the_file_and_surveys_are_unfolded(tmp_path):
    waypoint = simple(16, [0, 0, 0, None, 47.0, 8.0, 5], 2)
    survey = {
        "type": "ComplexItem",
        "complexItemType": "survey",
        "TransectStyleComplexItem": {"Items": [waypoint, dict(waypoint, doJumpId=3)]},
    }
    plan = plan_file.load(
        write(
            tmp_path,
            [
                simple(22, [0, 0, 0, None, None, None, 5], 1),
                survey,
                simple(177, [2, 3, 0, 0, 0, 0, 0], 4, frame=2),
            ],
        )
    )
    mission = plan.items[MISSION]
    assert [item.command for item in mission] == [22, 16, 16, DO_JUMP]
    assert mission[3].params[0] == 1.0  # the first waypoint
    assert not mission[0].has_place and math.isnan(mission[1].params[3])


@pytest.mark.parametrize(
    "value, kept", [(12.9, 12), (2**31 - 1, 2**31 - 1), (1 - 2**31, 1 - 2**31), (2**31, 0)]
)
def test_numbers_in_the_place_of_a_place_are_whole_ones_of_32_bits_or_0(tmp_path, value, kept):
    plan = plan_file.load(
        write(tmp_path, [simple(177, [1, 3, 0, 0, value, -value, 0], 1, frame=2)])
    )
    (item,) = plan.items[MISSION]
    assert (item.x, item.y) == (kept, -kept)


def test_a_plan_is_laid_out_as_qgroundcontrol_s(tmp_path):
    plan_file.save(tmp_path / "a.plan", plan_file.load(PLANS / "square.plan"))
    text = (tmp_path / "a.plan").read_text()
    assert text.startswith('{\n    "fileType": "Plan",\n') and text.endswith("\n}\n")


def test_fence_and_rally_points_are_read():
    items = plan_file.load(PLANS / "survey.plan").items
    assert [item.command for item in items[FENCE]] == [5001] * 4 + [5004]
    assert len(items[RALLY]) == 2


@pytest.mark.parametrize(
    "text, word",
    [
        ("{", "is not JSON"),
        ("[]", "not a plan"),
        ('{"fileType": "Plan", "version": 1, "mission": {"items": [{}]}}', "cannot read plan"),
        ('{"fileType": "Plan", "version": 1, "mission": {"items": 5}}', "cannot read plan"),
    ],
)
def test_files_that_are_no_plans_are_refused_in_one_line(tmp_path, text, word, capsys):
    path = tmp_path / "bad.plan"
    path.write_text(text)
    assert main(["mission", "check", str(path)]) == 1
    message = capsys.readouterr().err
    assert word in message and message.count("\n") == 1


def shape(version):
    return {"version": 2, "polygons": [], "circles": [{"version": version}]}


@pytest.mark.parametrize(
    "change, said",
    [
        ({"version": 99}, "version 99 is not supported, 1 is: save the plan again"),
        ({"version": 0}, "version 0 is not supported, 1 is"),
        ({"version": "1"}, "version 1 is not supported"),
        ({"version": True}, "version True is not supported"),
        ({"version": None}, "version None is not supported"),
        ({"fileType": "Mission"}, "its fileType has to be 'Plan'"),
        ({"groundStation": 5}, "its groundStation is '5', give a text"),
        ({"mission": {"items": [], "version": 3}}, "mission: version 3 is not supported, 2 is"),
        ({"mission": []}, "its mission is .* has to be a mapping"),
        ({"geoFence": {"version": 3}}, "geoFence: version 3 is not supported, 2 is"),
        ({"geoFence": shape(2)}, "a shape of its geoFence: version 2 is not supported, 1 is"),
        ({"rallyPoints": {"version": 9, "points": []}}, "rallyPoints: version 9 is not supported"),
    ],
)
def test_other_versions_and_types_are_refused(tmp_path, change, said):
    path = tmp_path / "test.plan"
    path.write_text(json.dumps({"fileType": "Plan", "version": 1, "mission": {}, **change}))
    with pytest.raises(AutopilotError, match=said) as refused:
        plan_file.load(path)
    assert "\n" not in str(refused.value)


def test_a_file_without_a_version_is_refused(tmp_path):
    path = tmp_path / "test.plan"
    path.write_text('{"fileType": "Plan", "mission": {"items": []}}')
    with pytest.raises(AutopilotError, match="has no version: 1 is supported"):
        plan_file.load(path)


def test_a_fence_of_version_1_is_skipped_with_a_warning(tmp_path, caplog):
    path = write(tmp_path, [], geoFence={"version": 1, "polygon": []}, rallyPoints={"version": 1})
    plan = plan_file.load(path)
    assert plan.items[FENCE] == plan.items[RALLY] == []
    (warning,) = caplog.messages
    assert "its geoFence is of version 1 and is skipped, as by QGroundControl" in warning


def test_items_that_cannot_be_flown_are_refused(tmp_path):
    path = write(tmp_path, [simple(92, [0, 0, 0, 0, 47.0, 8.0, 5], 1)])
    with pytest.raises(AutopilotError, match="MAV_CMD_NAV_GUIDED_ENABLE.*not supported"):
        plan_file.load(path)


@pytest.mark.slow
def test_a_flight_shifts_one_plan_to_each_start(runs):
    assert (
        main(
            [
                "fly",
                "mission",
                "--mission",
                str(PLANS / "square.plan"),
                "--n",
                "2",
                "--gps",
                "rtk",
                "--log",
                "none",
            ]
        )
        == 0
    )
    events = [
        json.loads(line)
        for line in (runs_root() / LATEST / "events.jsonl").read_text().splitlines()
    ]
    reached = [event for event in events if event["event"] == "waypoint"]
    for i in range(2):
        assert [(e["reached"], e["of"]) for e in reached if e["index"] == i] == [
            (k, 5) for k in range(1, 6)
        ]
    assert [event["event"] for event in events if event not in reached] == [
        "armed",
        "mission_over",
        "mission_over",
        "landed",
    ]
    summary = json.loads((runs_root() / LATEST / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0


def test_parameter_files(tmp_path):
    store = ParameterStore(2)
    store.set(0, "MPC_XY_CRUISE", 7.5)
    store.set(0, "SDLOG_MODE", 2)
    path = tmp_path / "iris.params"
    parameter_file.write(path, 1, {name: store.reported(0, name) for name in listed()})
    values = parameter_file.read(path)
    assert list(values) == list(listed())
    values.update(MPC_XY_CRUSE=1.0, MPC_Z_P=math.inf)
    refused = parameter_file.load_into(store, 1, values)
    assert store.get(1, "MPC_XY_CRUISE") == 7.5 and store.get(1, "MAV_SYS_ID") == 2
    assert store.get(1, "SDLOG_MODE") == 2
    assert len(refused) == 2 and "MPC_Z_P = inf" in refused[0]
    assert "'MPC_XY_CRUSE'" in refused[1] and "did you mean 'MPC_XY_CRUISE'?" in refused[1]
    path.write_text("1\t1\tMPC_Z_P\n")
    with pytest.raises(AutopilotError, match="line 1"):
        parameter_file.read(path)


def test_parameters_of_a_scenario_that_px4_does_not_have(tmp_path, caplog):
    path = tmp_path / "own.params"
    path.write_text("1\t1\tMPC_XY_CRUSE\t3\t9\n1\t1\tMPC_XY_CRUISE\t3\t9\n")
    with pytest.raises(AutopilotError) as refused:
        preload(ParameterStore(2), None, Scenario("iris*2", params=str(path)), ORIGIN)
    said = str(refused.value)
    assert "own.params': unknown parameter 'MPC_XY_CRUSE': choose one of the 1" in said
    assert "did you mean 'MPC_XY_CRUISE'?; 1 of 2 parameters unknown to PX4 v1.15" in said
    assert "--unknown_params skip" in said
    assert len(said) < 400
    scenario, store = Scenario("iris*2", params=str(path), unknown_params="skip"), ParameterStore(2)
    preload(store, None, scenario, ORIGIN)
    assert store.get(0, "MPC_XY_CRUISE") == store.get(1, "MPC_XY_CRUISE") == 3.0
    (warning,) = caplog.messages
    assert "own.params': 1 of 2 parameters unknown to PX4 v1.15, skipped: MPC_" in warning
    # A PX4 of the user's own may have them.
    values, unknown = parameter_file.of_scenario(scenario, "iris_0")
    assert values == {"MPC_XY_CRUSE": 3.0, "MPC_XY_CRUISE": 3.0} and unknown == ["MPC_XY_CRUSE"]


def test_vehicles_save_and_load_their_own_parameters(tmp_path):
    from stack_flights import Flight
    from xtdrone_core.mavlink.dialect import mavlink

    path = tmp_path / "first.params"
    parameter_file.write(path, 1, {"MPC_XY_CRUISE": 6.0})
    f = Flight(params=str(path), mission=str(PLANS / "square.plan"))
    try:
        store = f.autopilot.parameters

        def storage(action):
            f.send(
                mavlink.MAVLink_command_long_message(
                    1, 1, mavlink.MAV_CMD_PREFLIGHT_STORAGE, 0, action, *[0] * 6
                )
            )
            return f.links.replies[-1].result

        assert store.get(0, "MPC_XY_CRUISE") == 6.0
        assert len(f.autopilot.missions.items(0, MISSION)) == 5
        assert storage(1) == mavlink.MAV_RESULT_DENIED and "no folder" in f.said[-1]
        f.autopilot.parameter_files = [tmp_path / "params" / "iris_0.params"]
        f.messages = f.autopilot.messages(f.links)
        assert storage(1) == mavlink.MAV_RESULT_ACCEPTED
        assert storage(2) == mavlink.MAV_RESULT_ACCEPTED
        assert store.get(0, "MPC_XY_CRUISE") == 5.0
        assert storage(0) == mavlink.MAV_RESULT_ACCEPTED
        assert store.get(0, "MPC_XY_CRUISE") == 6.0
        assert storage(7) == mavlink.MAV_RESULT_DENIED
    finally:
        f.simulation.close()
