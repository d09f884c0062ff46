"""What a gamepad's sticks and buttons become, without ROS and without a pad."""

import os
import signal
import struct

import pytest

from ros_fixtures import NODES, needs_ros, ros  # noqa: F401
from xtdrone_control.errors import ControlNodeError
from xtdrone_control.joystick import NEUTRAL, Curve, Pad


@pytest.fixture
def words():
    return []


@pytest.fixture
def pad(words):
    return Pad(words.append)


def joy(**axes):
    """Axes of an Xbox pad as joy_node publishes them: left and up are positive."""
    numbers = {"left_x": 0, "left_y": 1, "right_x": 3, "right_y": 4}
    values = [0.0] * 8
    for name, value in axes.items():
        values[numbers[name]] = value
    return values


@pytest.mark.parametrize(
    "axes, manual",
    [
        (joy(), (0, 0, 500, 0)),
        (joy(right_y=1.0), (1000, 0, 500, 0)),
        (joy(right_x=1.0), (0, -1000, 500, 0)),
        (joy(left_y=-1.0), (0, 0, 0, 0)),
        (joy(left_y=0.5), (0, 0, 750, 0)),
        (joy(left_x=-1.5), (0, 0, 500, 1000)),
    ],
)
def test_sticks_become_manual_control(pad, axes, manual):
    assert pad.manual() is None
    pad.update(axes, [0] * 11)
    assert pad.manual() == pytest.approx(manual)


def test_a_button_is_one_word_each_time_it_goes_down(pad, words):
    for down in ([0] * 8, [1] + [0] * 7, [1] + [0] * 7, [0] * 8, [1, 1] + [0] * 6, [0] * 7 + [1]):
        pad.update(joy(), down)
    assert words == ["AUTO.TAKEOFF", "AUTO.TAKEOFF", "AUTO.LAND", "ARM"]


def test_events_of_a_device(pad, words):
    def event(value, kind, number):
        return struct.pack("<IhBB", 0, value, kind, number)

    pad.feed(event(1, 0x81, 7) + event(-32767, 0x82, 4) + event(32767, 2, 3) + event(1, 1, 3))
    assert pad.manual() == pytest.approx((1000, 1000, 500, 0))
    assert words == ["POSCTL"]  # the state of a button at the start is no press


def test_a_pad_without_enough_axes_is_named(pad):
    with pytest.raises(ControlNodeError, match="axis 4 is required, but the pad has 2"):
        pad.update([0.0, 0.0], [])


def test_a_dead_mans_button_that_is_released_makes_the_sticks_neutral(words):
    pad = Pad(words.append, dead_man=5)
    full = joy(right_y=1.0, left_y=-1.0)
    for buttons, manual in (
        ([0] * 8, NEUTRAL),
        ([0] * 5 + [1], (1000, 0, 0, 0)),
        ([0] * 8, NEUTRAL),
    ):
        pad.update(full, buttons)
        assert pad.manual() == pytest.approx(manual)
    assert words == []  # it is no command as well


@pytest.mark.parametrize(
    "on_loss, manual", [("stop", None), ("neutral", NEUTRAL), ("hold", (1000, 0, 500, 0))]
)
def test_a_pad_that_is_silent_is_lost_and_comes_back(on_loss, manual):
    pad = Pad(print, time_out=0.5, on_loss=on_loss)
    assert not pad.lost(100.0)  # which was never there
    pad.update(joy(right_y=1.0), [], 10.0)
    assert pad.manual(10.4) == pytest.approx((1000, 0, 500, 0)) and not pad.lost(10.4)
    assert pad.lost(10.6)
    assert pad.manual(10.6) == (manual if manual is None else pytest.approx(manual))
    pad.update(joy(), [], 11.0)
    assert pad.manual(11.1) == pytest.approx(NEUTRAL)


@pytest.mark.parametrize(
    "text, stick, share, full",
    [
        ("", 0.5, 0.5, None),
        ("px4:0.69,0.7", 0.5, 0.24125 * 0.3 / 0.65, None),
        ("betaflight:1,0.7,0", 0.5, 100 / 0.65 / (200 / 0.3), 200 / 0.3),
    ],
)
def test_curves_of_the_sticks_leave_the_throttle_alone(text, stick, share, full):
    curve = Curve(text)
    assert curve.full == (full if full is None else pytest.approx(full))
    pad = Pad(print, curve=curve)
    pad.update(joy(left_x=stick, left_y=stick, right_x=-stick, right_y=stick), [])
    assert pad.manual() == pytest.approx(
        (1000 * share, 1000 * share, 500 + 500 * stick, -1000 * share)
    )


@pytest.mark.parametrize(
    "text, said",
    [
        ("dji:1", "is not known"),
        ("px4:0.1", "EXPO up to 1, SUPER_EXPO up to 0.95"),
        ("px4:0,0.96", "is not allowed"),
        ("betaflight:1,x,0", "RC_RATE up to 2.55"),
        ("betaflight:0,0,0", "is not allowed"),
        ("px4:nan,0", "is not allowed"),
    ],
)
def test_curves_that_do_not_exist_are_refused(text, said):
    with pytest.raises(ControlNodeError, match=said):
        Curve(text)


def test_a_reaction_to_a_lost_pad_that_does_not_exist_is_refused():
    with pytest.raises(ControlNodeError, match="did you mean 'hold'"):
        Pad(print, on_loss="holt")


@pytest.mark.slow
@needs_ros
@pytest.mark.parametrize(
    "options, said",
    [
        (["--curve", "px4:2,0"], "curve 'px4:2,0' is not allowed"),
        (["--time_out", "-1"], "is not a number from 0 to 3600 s"),
        (["--vehicle", "irish_0"], "did you mean 'iris_0'?"),
        (["--device", "/nowhere"], "cannot open '/nowhere': No such file or directory"),
    ],
)
def test_what_cannot_be_steered_is_one_line(ros, options, said):  # noqa: F811
    ros.ask("setParam", "/xtdrone/vehicles", ["iris_0"])
    done = ros.run(NODES / "joystick", *options)
    assert done.returncode in (1, 2)
    assert said in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


@pytest.mark.slow
@needs_ros
def test_a_second_node_of_a_name_leaves_the_first_alone(ros):  # noqa: F811
    ros.ask("setParam", "/xtdrone/vehicles", ["iris_0"])
    first = ros.start(NODES / "joystick")
    while "controlling iris_0" not in first.stdout.readline():
        assert first.poll() is None
    second = ros.run(NODES / "joystick")
    assert second.returncode == 1
    assert "a node /joystick is running already" in second.stderr.splitlines()[-1]
    assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    third = ros.run(NODES / "joystick", "--vehicle", "irish_0")  # a dead one is no obstacle
    assert "did you mean 'iris_0'?" in third.stderr
