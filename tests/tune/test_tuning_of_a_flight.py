"""A flight by scripted sticks in simulated time, and what its ULog gives to tune on."""

import json

import numpy as np
import pytest
from pyulog import ULog

import stick_flights
from xtdrone_control.teleoperation import record
from xtdrone_core import command

pytestmark = pytest.mark.slow
STICKS = ("throttle", "yaw", "pitch", "roll")  # as stick_flights.script


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Log of a flight by sticks, and when they began [s]."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XTDRONE_RUNS", str(tmp_path_factory.mktemp("runs")))
        yield stick_flights.flown()


@pytest.fixture(scope="module")
def setpoints(flown):
    log = ULog(str(flown[0]))
    assert not log.file_corruption
    return next(d.data for d in log.data_list if d.name == "manual_control_setpoint")


def test_sticks_are_logged_as_they_came_and_while_they_come(flown, setpoints):
    _, begin = flown
    t_s = setpoints["timestamp"] * 1e-6
    valid = setpoints["valid"] == 1
    assert t_s[0] == pytest.approx(begin, abs=0.02)
    assert (np.diff(setpoints["timestamp"].astype(int)) == 8000).all()
    # Lost after COM_RC_LOSS_T, 0.5 s; said so for a second, as PX4 says it once.
    assert valid[:-130].all() and not valid[-120:].any()
    assert t_s[valid][-1] == pytest.approx(begin + stick_flights.SECONDS + 0.5, abs=0.05)
    came = setpoints["timestamp_sample"] * 1e-6
    assert (came <= t_s).all() and (t_s - came)[valid].max() <= 0.501
    # They came between two steps, with the time stamp of the first one.
    wanted = np.array([stick_flights.script(round(t - begin + 0.004, 6)) for t in came[valid]])
    for column, name in enumerate(STICKS):
        assert setpoints[name][valid] == pytest.approx(wanted[:, column], abs=2e-3), name


def test_where_the_sticks_come_from_and_whether_they_move(setpoints):
    assert set(setpoints["data_source"]) == {2}  # MAVLink, the ground station's link
    assert set(setpoints["buttons"]) == {stick_flights.BUTTONS}
    assert 0.1 < setpoints["sticks_moving"].mean() < 0.6  # for a while after each step
    assert not setpoints["sticks_moving"][setpoints["valid"] == 0].any()
    for name in ("flaps", *(f"aux{k}" for k in range(1, 7))):
        assert not setpoints[name].any()


def test_the_record_is_the_stretch_with_sticks(flown):
    found = record.read(flown[0])
    assert found.t_s[-1] == pytest.approx(stick_flights.SECONDS + 0.5, abs=0.05)
    assert np.abs(found.sticks).max() == pytest.approx(0.5, abs=2e-3)
    assert found.sticks.std(axis=0).min() > 0.1


@pytest.mark.long
def test_the_flight_can_be_tuned_on(flown, tmp_path, capsys):
    assert (
        command.main(
            [
                "tune",
                str(flown[0]),
                "--axis",
                "yaw,pitch,roll",
                "--generations",
                "150",
                "--out",
                str(tmp_path),
            ]
        )
        == 0
    )
    axes = json.loads((tmp_path / "result.json").read_text())["axes"]
    assert list(axes) == ["yaw", "pitch", "roll"]
    for name, one in axes.items():
        assert one["moves"] and one["J"] < 0.03 * one["J_nothing"], name
        assert one["held_out_J"] < 0.05 * one["held_out_J_nothing"], name


def test_a_log_of_a_run_has_a_folder_of_results_of_its_own(flown, capsys):
    assert command.main(["tune", str(flown[0]), "--axis", "yaw", "--generations", "20"]) == 0
    assert "/tune_sticks_tello_0_log001/gains.yaml" in capsys.readouterr().out
