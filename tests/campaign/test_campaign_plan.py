"""What a campaign flies: values, plans, what is refused."""

import argparse
import re

import pytest

from campaign_plans import made
from xtdrone_campaign import commands, sweep
from xtdrone_campaign.errors import CampaignError
from xtdrone_core import command


@pytest.mark.parametrize(
    "spec, values",
    [
        ("0..12/2", "0 2 4 6 8 10 12"),
        ("1..4", "1 2 3 4"),
        ("0..0.3/0.1", "0 0.1 0.2 0.3"),
        ("-1..1/0.75", "-1 -0.25 0.5"),
        ("rtk, m8n", "rtk m8n"),
        ("5", "5"),
        ("[0, '3,0,0', true]", "0 3,0,0 true"),
    ],
)
def test_values(spec, values):
    assert sweep.parse("x", spec) == tuple(values.split())


@pytest.mark.parametrize(
    "spec, seeds", [("3", (7, 8, 9)), ("1,5,9", (1, 5, 9)), ("4..4", (4,)), ("2..4", (2, 3, 4))]
)
def test_seeds(spec, seeds):
    assert sweep.parse_seeds(spec, 7) == seeds


@pytest.mark.parametrize(
    "spec", ["0..1.5", "3..1", "0..1/0", "0..1/x", "", "1,,2", "1,1", "0..1/1e-9", "[[1]]"]
)
def test_values_that_cannot_be_read(spec):
    with pytest.raises(CampaignError):
        sweep.parse("x", spec)


def test_every_combination_with_every_seed():
    found = made(
        "square",
        "--vary",
        "wind=0,3",
        "--vary",
        "dryden=0,2",
        "--vary",
        "side=2..4",
        "--vary",
        "MPC_XY_P=0.9",
        "--seeds",
        "5,6",
    )
    assert len(found) == 24
    flight = found.flight(23)
    assert found.values(23) == ({"wind": "3", "dryden": "2", "side": "4", "MPC_XY_P": "0.9"}, 6)
    assert flight.scenario["wind"] == "3,0,0 dryden=2" and flight.scenario["seed"] == 6
    assert flight.settings == ("side=4",) and flight.parameters == {"MPC_XY_P": 0.9}
    assert found.flight(0).scenario["wind"] == "0,0,0"


def test_parameters_of_sensors():
    found = made("square", "--sensors", "imu.preset=bmi088", "--vary", "gps.latency=0.1,0.3")
    assert found.flight(1).scenario["sensors"] == "imu.preset=bmi088; gps.latency=0.3"


@pytest.mark.parametrize(
    "prefix, offered", [("wi", "wind="), ("hol", "hold="), ("gps=", "gps=rtk")]
)
def test_completion(prefix, offered):
    args = argparse.Namespace(subject="square", agent=None, set=None, scenario=None, mission=None)
    assert offered in commands.complete_names(prefix, args)


def test_another_plan_is_refused(tmp_path):
    made("square", "--vary", "side=2,3").keep(tmp_path, "it")
    made("square", "--vary", "side=2..3").keep(tmp_path, "it")
    with pytest.raises(CampaignError, match="another campaign, whose vary and seeds differ: "):
        made("square", "--vary", "side=2,4", "--seeds", "2").keep(tmp_path, "it")


@pytest.mark.parametrize(
    "words, says",
    [
        (["--vary", "wnd=1"], "unknown quantity 'wnd'.*did you mean 'wind'"),
        (["--vary", "MPC_XY_PP=1"], "unknown PX4 parameter 'MPC_XY_PP'.*did you mean 'MPC_XY_P'"),
        (["--vary", "seed=1,2"], "seed cannot vary: give --seeds"),
        (["--vary", "speed=1"], "speed cannot vary: flights run as fast as possible"),
        (["--speed", "2"], "--speed cannot be given"),
        (["--vary", "side=-1"], "side -1 is not allowed: give a number from 0.1"),
        (["--vary", "gps=rtkk"], "unknown gps preset 'rtkk'"),
        (["--vary", "vehicle=iriss"], "unknown vehicle 'iriss'"),
        (["--vary", "wind=1,x"], "wind"),
        (["--vary", "waves=0.1,x"], "waves"),
        (["--vary", "gust=-1"], "gust -1 is not allowed: give a number from 0 to 100 m/s"),
        (["--vary", "MPC_XY_P=x"], "MPC_XY_P x is not allowed: give a number"),
        (
            ["--vary", "MPC_XY_P=1", "--autopilot", "px4"],
            "MPC_XY_P cannot vary with autopilot 'px4'",
        ),
        (["--vary", "side=1", "--vary", "side=2"], "--vary gives side twice"),
        (["--vary", "side=1", "--set", "side=2"], "side is given by --set and by --vary"),
        (["--vary", "n=1", "--n", "2"], "n is given by --n and by --vary"),
        (["--vary", "side"], "cannot read --vary 'side': write NAME=VALUES"),
        (["--vary", "imu.presett=1"], "unknown parameter of sensor 'imu' 'presett'.*'preset'"),
        (["--vary", "gps.latency=x"], "gps.latency 'x' is not allowed: give a number"),
        (["--vary", "inu.rate=1"], "unknown kind of sensor 'inu'.*did you mean 'imu'"),
        (["--seeds", "x"], "cannot read --seeds 'x'"),
        (["--vary", "height=1..50000", "--seeds", "9"], "450000 flights"),
        (["--batch", "--vary", "gps=rtk"], "gps cannot be flown in a batch"),
        (["--batch", "--vary", "MPC_XY_P=1"], "MPC_XY_P cannot be flown in a batch"),
        (["--agent", "mission"], "two Agents are given"),
    ],
)
def test_what_is_refused_in_one_line(words, says, runs, tmp_path, capsys):
    status = command.main(["campaign", "square", *words])
    said = capsys.readouterr()
    assert status == 1 and said.out == "" and said.err.count("\n") == 1
    assert re.search(says, said.err), said.err
    assert list(tmp_path.iterdir()) == []  # and leaves no folder
