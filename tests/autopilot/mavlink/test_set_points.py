"""Set-points of every level, from an Agent and by MAVLink: both end in the same place."""

import math

import numpy as np
import pytest

from stack_flights import Flight
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.navigation.offboard import Offboard
from xtdrone_autopilot.state.clock import StepClock
from xtdrone_autopilot.state.outbox import Outbox
from xtdrone_autopilot.state.vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    RATES,
    TRAJECTORY,
    new_status,
)
from xtdrone_core import Mode, SetPoints
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate

P_HEIGHT, D_HEIGHT, P_TILT, P_RATE = 2.0, 2.5, 6.0, 0.06


@pytest.fixture
def flight():
    made = []

    def make(**scenario):
        made.append(Flight(**scenario))
        return made[-1].take_off()

    yield make
    for one in made:
        one.simulation.close()


def test_sticks_come_in_thousandths_and_up_from_the_middle():
    f = Flight()
    try:
        f.run(0.004)
        f.send(mavlink.MAVLink_manual_control_message(1, 500, -250, 750, 125, 3))
        f.send(mavlink.MAVLink_manual_control_message(2, 0, 0, 0, 0, 0))  # somebody else's
        status = f.autopilot.status[0]
        sticks = [status[f"stick_{name}"] for name in ("forward", "right", "up", "clockwise")]
        assert sticks == pytest.approx([0.5, -0.25, 0.5, 0.125]) and status["stick_buttons"] == 3
        f.run(0.04)
        f.send(mavlink.MAVLink_manual_control_message(1, 0, -250, 750, 125, 0))
        rates = np.array([-0.5, 0.0, 0.0, 0.0]) / 0.04 * (0.04 / 0.14)  # filtered over 0.1 s
        assert f.autopilot.status[0]["stick_rates"] == pytest.approx(rates)
    finally:
        f.simulation.close()


class Holder:
    """Holds a vehicle at its height and level from its estimates; what an Agent would do."""

    def __init__(self, f):
        self.f = f
        self.height = f.autopilot.estimator.pos[0, 2]
        self.mass = f.autopilot.status["mass"][0]
        self.heading = f.autopilot.estimator.quat[0].copy()

    def force(self):
        """Along the body's z [N]."""
        e = self.f.autopilot.estimator
        up = P_HEIGHT * (self.height - e.pos[0, 2]) - D_HEIGHT * e.vel[0, 2]
        return self.mass * (GRAVITY + up)

    def rates(self):
        """Body rates back to level [rad/s]."""
        x, y, z, w = self.f.autopilot.estimator.quat[0]
        up = rotate(-x, -y, -z, w, 0.0, 0.0, 1.0)  # the world's up, seen by the body
        return np.array([P_TILT * -up[1], P_TILT * up[0], 0.0])

    def command(self):
        """The common rotor command of that force, 0..1."""
        v = self.f.autopilot.status[0]
        c, b, a = v["thrust_poly"]
        return (-b + math.sqrt(b * b - 4 * a * (c - self.force()))) / (2 * a)

    def actuators(self):
        """Four rotor commands that hold the attitude by the rates alone."""
        e, fleet = self.f.autopilot.estimator, self.f.simulation.fleet
        missing = self.rates() - e.ang_vel[0]
        pos = fleet.actuator["pos"][0]
        spin = fleet.actuator["direction"][0]
        return self.command() + P_RATE * (
            pos[:, 1] * missing[0] - pos[:, 0] * missing[1] - 0.1 * spin * missing[2]
        )


def by_agent(f, holder, level):
    """One set-point as an Agent gives it."""
    points = SetPoints.empty(1, f.autopilot.commands.shape[1])
    if level == "actuators":
        points.actuators[0] = holder.actuators()
    else:
        points.force[0, 2] = holder.force()
        if level == "attitude":
            points.quat[0] = level_heading(holder)
        else:
            points.rates[0] = holder.rates()
    f.autopilot.apply(points)


def level_heading(holder):
    x, y, z, w = holder.heading
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)


def by_mavlink(f, holder, level):
    """The same as a MAVLink client gives it."""
    if level == "actuators":
        f.send(
            mavlink.MAVLink_set_actuator_control_target_message(
                0, 0, 1, 1, [*holder.actuators(), 0.0, 0.0, 0.0, 0.0]
            )
        )
        return
    x, y, z, w = level_heading(holder)
    turn = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    ned = 0.5 * (math.pi / 2 - turn)
    p, q, r = holder.rates()
    mask = 0x07 if level == "attitude" else 0x80
    f.send(
        mavlink.MAVLink_set_attitude_target_message(
            0, 1, 1, mask, [math.cos(ned), 0.0, 0.0, math.sin(ned)], p, -q, -r, holder.command()
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("give", [by_agent, by_mavlink])
@pytest.mark.parametrize(
    "level, kind", [("attitude", ATTITUDE), ("rates", RATES), ("actuators", ACTUATORS)]
)
def test_a_vehicle_hovers_by_every_level(flight, level, kind, give):
    f = flight()
    holder = Holder(f)
    give(f, holder, level)
    f.offboard()
    heights, tilts = [], []

    def fly():
        give(f, holder, level)
        heights.append(f.pos[2])
        x, y, _, _ = f.simulation.state.quat[0]
        tilts.append(1 - 2 * (x * x + y * y))

    f.run(5, fly, 250)
    assert f.autopilot.status["sp_kind"][0] == kind and f.mode == Mode.OFFBOARD
    assert np.ptp(heights) < 0.5
    assert np.degrees(np.arccos(min(tilts))) < 6


def test_actuator_commands_do_not_arm_and_stop_with_the_failsafe(flight):
    f = flight()
    holder = Holder(f)
    by_agent(f, holder, "actuators")
    f.offboard()
    f.run(0.2, lambda: by_agent(f, holder, "actuators"), 250)
    f.run(1.5)  # nobody commands any more: COM_OF_LOSS_T is 1 s
    assert f.mode == Mode.LOITER
    f.autopilot.commander.disarm(0, force=True)
    by_agent(f, holder, "actuators")
    f.simulation.step()
    assert not f.autopilot.commands.any()


def test_what_cannot_be_flown_is_said_once(flight):
    f = flight()
    points = SetPoints.empty(1)
    points.quat[0] = 0.0, 0.0, 0.0, 1.0
    count = f.autopilot.status["offboard_count"][0]
    for _ in range(3):
        f.autopilot.apply(points)
    points.force[0] = 5.0, 0.0, 15.0
    f.autopilot.apply(points)
    said = [text for text in f.said if "Set-point ignored" in text]
    assert len(said) == 2 and "force along the body's z" in said[0] and "across" in said[1]
    assert f.autopilot.status["offboard_count"][0] == count
    with pytest.raises(AutopilotError, match="do not fit"):
        f.autopilot.apply(SetPoints.empty(1, 7))


def test_the_dispatch_stands_alone():
    """Offboard without a flight stack around it."""
    status, clock = new_status(2), StepClock(40_000)
    offboard = Offboard(
        status, lambda requests: None, np.zeros((2, 4), dtype=bool), clock, Outbox(2, clock)
    )
    points = SetPoints.empty(2)
    points.vel[1] = 1.0, 0.0, 0.0
    offboard.apply(points)
    assert status["offboard_kind"].tolist() == [0, TRAJECTORY]
    assert status["offboard_t"][1] == 40_000 and status["offboard_count"].tolist() == [0, 1]
