"""Each part of the flight stack, built from what it needs and nothing else; what is declared."""

import numpy as np
import pytest

from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.mavlink.commands import Commands
from xtdrone_autopilot.mavlink.files.ftp import FileServer
from xtdrone_autopilot.mavlink.files.log_download import LogDownload
from xtdrone_autopilot.mavlink.messages import Messages, Presence
from xtdrone_autopilot.mavlink.mission_protocol import MissionProtocol
from xtdrone_autopilot.mavlink.parameter_protocol import ParameterProtocol
from xtdrone_autopilot.mavlink.set_points import SetPointMessages
from xtdrone_autopilot.mavlink.streams import stream_declarations
from xtdrone_autopilot.modes.flight_mode import ModeParts, flight_modes
from xtdrone_autopilot.navigation.mission import Missions
from xtdrone_autopilot.navigation.navigator import Navigator
from xtdrone_autopilot.navigation.orbit import Orbits
from xtdrone_autopilot.navigation.precision_landing import PrecisionLandings
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.safety.arming_checks import ArmingChecks
from xtdrone_autopilot.safety.battery import Battery
from xtdrone_autopilot.safety.commander import Commander
from xtdrone_autopilot.safety.conditions import CONDITIONS, Action, Watched
from xtdrone_autopilot.safety.failsafes import Failsafes
from xtdrone_autopilot.state.clock import StepClock
from xtdrone_autopilot.state.flight_state import FlightState, ModeTask
from xtdrone_autopilot.state.handlers import declarations
from xtdrone_autopilot.state.outbox import WARNING, WARNINGS_PER_SECOND, Outbox
from xtdrone_autopilot.state.vehicle_status import new_status
from xtdrone_core import FleetModel
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import MODES, Mode, Need
from xtdrone_sim.vehicles.sdf import load_vehicle

ORIGIN = 0.8272, 0.1491, 488.0
N = 2


class Stack:
    """The parts that modes need, one by one."""

    def __init__(self):
        self.said = []
        self.clock = StepClock(n=N)
        self.outbox = Outbox(N, self.clock, lambda i, severity, text: self.said.append((i, text)))
        self.parameters = ParameterStore(N)
        self.estimator = Estimator(N, ORIGIN, (0.0, 2e-5, -4e-5))
        self.status = new_status(N)
        fleet = FleetModel.of((load_vehicle("iris"),) * N)
        self.battery = Battery(fleet, self.parameters)
        self.navigator = Navigator(self.status, self.parameters, self.estimator)
        self.flight = FlightState(self.status, self.clock, self.outbox)
        self.missions = Missions(
            self.status,
            self.parameters,
            self.estimator,
            self.navigator,
            self.flight,
            self.clock,
            ORIGIN,
            self.outbox,
            lambda i, position: None,
            {},
        )
        self.orbits = Orbits(
            self.status, self.parameters, self.estimator, self.navigator, self.outbox
        )
        self.landings = PrecisionLandings(
            self.status, self.parameters, self.estimator, self.navigator, self.clock, self.outbox
        )
        parts = ModeParts(
            self.status,
            self.parameters,
            self.estimator,
            self.navigator,
            self.orbits,
            self.landings,
            self.missions,
            self.flight,
            self.clock,
            ORIGIN,
            self.outbox,
            lambda i, state: None,
        )
        for mode in flight_modes():
            self.flight.tasks[mode.mode] = mode.task(parts)
        self.checks = ArmingChecks(
            self.status,
            self.parameters,
            self.estimator,
            self.battery,
            self.missions,
            self.clock,
            self.outbox,
        )
        self.watched = Watched(
            self.status,
            self.parameters,
            self.estimator,
            self.battery,
            self.missions,
            self.clock,
            self.checks,
        )
        self.without = []
        self.failsafes = Failsafes(
            self.watched, self.flight, self.outbox, lambda i, rotor: self.without.append((i, rotor))
        )
        self.commander = Commander(
            self.status,
            self.parameters,
            self.estimator,
            self.checks,
            self.failsafes,
            self.missions,
            self.navigator,
            self.orbits,
            self.flight,
            self.clock,
            ORIGIN,
            self.outbox,
        )


@pytest.fixture
def stack():
    return Stack()


def test_warnings_of_one_vehicle_do_not_flood(stack):
    for k in range(3 * WARNINGS_PER_SECOND):
        stack.outbox.say(1, WARNING, str(k))
    stack.outbox.say(0, WARNING, "another")
    assert len(stack.said) == WARNINGS_PER_SECOND + 1


def test_a_mode_is_entered_by_whoever_owns_it(stack):
    entered = []

    class Task(ModeTask):
        def begin(self, i):
            entered.append(i)

    stack.flight.tasks[Mode.ACRO] = Task()
    stack.flight.enter(1, Mode.ACRO)
    assert entered == [1] and stack.status["mode"].tolist() == [Mode.LOITER, Mode.ACRO]


@pytest.mark.parametrize("mode", Mode)
def test_a_mode_is_refused_without_what_it_needs(stack, mode):
    assert stack.commander.set_mode(0, mode, 0).accepted  # before arming, as in PX4
    assert any("cannot be armed" in text for _, text in stack.said)
    assert not stack.commander.arm(0, 0).accepted
    stack.status["armed"][0] = True
    answer = stack.commander.set_mode(0, mode, 0)
    assert answer.accepted == (MODES[mode].needs == Need.NOTHING)
    assert answer.reason
    stack.estimator.ready[:] = True
    needs = MODES[mode].needs
    alone = not needs & (Need.STICKS | Need.SET_POINTS | Need.MISSION)
    assert stack.commander.set_mode(0, mode, 0).accepted == (alone and mode != Mode.FOLLOW_TARGET)


@pytest.mark.parametrize("kind", CONDITIONS)
def test_a_condition_stands_alone(stack, kind):
    condition = kind(stack.watched)
    flying = np.ones(N, dtype=bool)
    stack.estimator.flags[:] = 1
    holds = condition.check(flying, stack.parameters.values)
    assert holds.shape == (N,) and isinstance(condition.action(0), Action)
    assert condition.why(0) and condition.text and condition.advice


def test_a_failsafe_acts_once_when_its_condition_begins(stack):
    stack.status["armed"][:], stack.status["landed"][:] = True, False
    stack.estimator.flags[:] = 0b111  # aligned, position valid, GPS used
    stack.estimator.ready[:] = True
    stack.status["gcs_t"][:] = 0
    stack.battery.level[1] = 0.02
    for _ in range(3):
        stack.failsafes.step()
    assert [i for i, text in stack.said if "emergency" in text] == [1]
    assert set(stack.failsafes.failing(1)) == {
        "battery_low",
        "battery_critical",
        "battery_emergency",
    }
    assert stack.failsafes.failing(0) == {}


def test_every_message_has_one_handler():
    kinds = (
        Commands,
        SetPointMessages,
        ParameterProtocol,
        MissionProtocol,
        FileServer,
        LogDownload,
        Presence,
    )
    names = [name for kind in kinds for name in declarations(kind, "receives")]
    assert len(names) == len(set(names)) and Messages(None).names == []
    for name in names:
        assert hasattr(mavlink, f"MAVLINK_MSG_ID_{name}")
    numbers = [number for kind in kinds for number in declarations(kind, "handles")]
    assert len(numbers) == len(set(numbers))
    streams = [stream.name for stream in stream_declarations()]
    assert len(streams) == len(set(streams))
