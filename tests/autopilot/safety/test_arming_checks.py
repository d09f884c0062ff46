"""Health and arming checks, and their reports. test_px4_texts.py holds these against real PX4's."""

import math
import struct

import numpy as np
import pytest

from stack_flights import Flight, Sent, from_client, item
from xtdrone_autopilot.mavlink.fields import fault
from xtdrone_autopilot.navigation.mission_items import MISSION, WAYPOINT
from xtdrone_autopilot.safety.arming_checks import CHECKS, report
from xtdrone_autopilot.safety.checks import ALL, modes_with
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode, Requirement

SUMMARY, HEALTH = 11047904, 1914663
# As in the metadata of PX4 v1.15.4, with one of our own.
NUMBERS = {
    "check_vehicle_cannot_fly": 5259092,
    "check_failure_detector_roll": 8538897,
    "check_failure_detector_pitch": 16745468,
    "check_failure_detector_motor": 666479,
    "check_modes_cannot_takeoff": 1871713,
    "check_modes_attitude": 10450063,
    "check_modes_local_pos": 13835193,
    "check_modes_global_pos": 10011251,
    "check_modes_local_alt": 12689900,
    "check_modes_mission": 377561,
    "check_modes_offboard_signal": 3087815,
    "check_modes_home_position": 79408,
    "check_modes_manual_control": 453929,
    "check_system_no_global_pos": 12276004,
    "check_battery_low": 5049764,
    "check_battery_preflight_low": 2071276,
    "check_wind_too_high": 11413600,
    "check_gf_violation_max_hor_dist": 4065583,
    "check_gf_violation_max_alt": 13923616,
    "check_gf_violation_custom_gf": 143019,
    "check_gf_no_home": 124285,
    "check_flight_time_limit": 14644618,
    "check_rc_dl_no_dllink": 6801787,
}
USUAL = {
    "check_modes_mission",
    "check_modes_offboard_signal",
    "check_modes_manual_control",
    "check_rc_dl_no_dllink",
}  # fail of a vehicle without clients


def reports(sent):
    """[(number, arguments), ...] of each report, and forgets them."""
    out = []
    for m in sent.messages:
        number = m.id & 0xFFFFFF
        if number == SUMMARY:
            out.append([])
        if out and (number == SUMMARY or out[-1][-1][0] != HEALTH):
            out[-1].append((number, bytes(m.arguments)))
    sent.messages.clear()
    return out


@pytest.fixture
def flight():
    flight = Flight()
    flight.wait(lambda: flight.autopilot.status["ready"][0], 5)
    flight.autopilot.outbox.links = flight.sent = Sent()
    return flight


def fails(flight):
    """Names of the checks that fail besides those of a vehicle without clients."""
    names = {
        check.name
        for check, failing in zip(CHECKS, flight.autopilot.arming_checks.failing[0])
        if failing
    }
    return names - USUAL


def test_events_have_px4s_numbers():
    assert {check.name: check.number for check in CHECKS} == NUMBERS


@pytest.mark.parametrize(
    "requirement, modes",
    [
        (Requirement.LOCAL_POSITION, 0x007E007C),
        (Requirement.GLOBAL_POSITION, 0x38),
        (Requirement.MISSION, 8),
        (Requirement.OFFBOARD_SIGNAL, 0x4000),
        (Requirement.ANOTHER_TO_ARM, 0x003C3020),
        (Requirement.REGISTRATION, 0x7F800000),
    ],
)
def test_modes_are_those_of_px4s_reports(requirement, modes):
    """In arguments that real PX4 v1.15.4 sent."""
    assert modes_with(requirement) == modes


def _set(**values):
    def change(autopilot):
        for name, value in values.items():
            autopilot.parameters.set(0, name, value)

    return change


def _level(level):
    def change(autopilot):
        autopilot.battery.level[0] = level
        autopilot.battery.step = lambda *args: None

    return change


def _far_home(autopilot):
    _set(GF_ACTION=1, GF_MAX_HOR_DIST=10.0)(autopilot)
    autopilot.status["home"][0, 0] += 50.0
    autopilot.commander.move_home = lambda due: None


def _mode(mode):
    def change(autopilot):
        autopilot.flight.enter(0, mode)

    return change


def _tilt(axis):
    def change(autopilot):
        check = autopilot.failsafes.conditions["attitude"].check
        turned = np.zeros(4)
        turned[axis], turned[3] = math.sin(0.6), math.cos(0.6)

        def tilted(flying, q):
            before = autopilot.estimator.quat[0].copy()
            autopilot.estimator.quat[0] = turned
            found = check(flying, q)
            autopilot.estimator.quat[0] = before
            return found

        autopilot.failsafes.conditions["attitude"].check = tilted

    return change


@pytest.mark.parametrize(
    "change, names, reason",
    [
        (_level(0.12), {"check_battery_low"}, ""),
        (_level(0.05), {"check_battery_low"}, "below BAT_CRIT_THR"),
        (_set(COM_ARM_BAT_MIN=1.1), {"check_battery_preflight_low"}, "COM_ARM_BAT_MIN"),
        (_set(NAV_DLL_ACT=2), set(), "NAV_DLL_ACT requires one"),
        (_far_home, {"check_gf_violation_max_hor_dist"}, "it is outside the geofence"),
        (_mode(Mode.RTL), {"check_modes_cannot_takeoff"}, ""),
        (_mode(Mode.FOLLOW_TARGET), {"check_modes_cannot_takeoff"}, ""),
        (_tilt(0), {"check_failure_detector_roll"}, "put it upright"),
        (_tilt(1), {"check_failure_detector_pitch"}, "put it upright"),
    ],
)
@pytest.mark.slow
def test_what_fails_on_the_ground(flight, change, names, reason):
    autopilot = flight.autopilot
    change(autopilot)
    flight.run(0.6)
    assert fails(flight) == names
    assert reason in autopilot.commander.checks(0) and bool(reason) == bool(
        autopilot.commander.checks(0)
    )
    assert autopilot.status["ready"][0] == (not reason)
    autopilot.commander.report_checks(0)
    *_, last = reports(flight.sent)
    numbers = [number for number, _ in last]
    assert (numbers[0], numbers[-1]) == (SUMMARY, HEALTH)
    assert {NUMBERS[name] for name in names} <= set(numbers)
    _, _, _, can_arm, _ = struct.unpack("<BIIII", last[0][1][:17])
    assert (can_arm == 0) == bool(reason)


def test_what_fails_in_flight():
    flight = Flight().take_off()
    autopilot = flight.autopilot
    autopilot.estimator.wind[0] = 3.0, 4.0
    _set(
        COM_WIND_MAX=4.0, COM_WIND_MAX_ACT=2, COM_FLT_TIME_MAX=1, GF_ACTION=1, GF_MAX_VER_DIST=1.0
    )(autopilot)
    flight.autopilot.outbox.links = sent = Sent()
    for _ in range(25):
        autopilot.failsafes.failed_rotor[0] = 1
        flight.run(0.02)
    assert fails(flight) == {
        "check_wind_too_high",
        "check_flight_time_limit",
        "check_gf_violation_max_alt",
        "check_failure_detector_motor",
    }
    (first, *_), *_ = [found[1:] for found in reports(sent)]
    assert first[0] == NUMBERS["check_failure_detector_motor"]  # PX4's order
    autopilot.commander.report_checks(0)
    found = dict(reports(sent)[0])
    modes, component, speed = struct.unpack("<IBf", found[NUMBERS["check_wind_too_high"]][:9])
    assert (modes, component, speed) == (ALL, 20, 5.0)
    _, present, error, warning = struct.unpack("<BIII", found[HEALTH][:13])
    assert present & 1 << 8 and error == 1 << 8 and warning == 0  # motors, which are health
    _, error, warning, can_arm, can_run = struct.unpack("<BIIII", found[SUMMARY][:17])
    assert error == 1 << 20 and can_arm == 0
    assert not can_run & modes_with(Requirement.LIMITS) and can_run & 1 << 17
    assert "Maximum flight time reached\t" in sent.texts


def test_reports_come_with_changes_two_seconds_apart_and_when_asked_for(flight):
    flight.run(2.5)
    assert len(reports(flight.sent)) == 1  # of the start
    flight.run(3.0)
    assert reports(flight.sent) == []
    for mode in (Mode.RTL, Mode.LOITER, Mode.RTL, Mode.LOITER):
        flight.autopilot.flight.enter(0, mode)
        flight.run(0.2)
    assert len(reports(flight.sent)) == 1
    flight.run(2.0)
    (last,) = reports(flight.sent)
    assert NUMBERS["check_modes_cannot_takeoff"] not in dict(last)
    message = mavlink.MAVLink_command_long_message(
        1, 1, mavlink.MAV_CMD_RUN_PREARM_CHECKS, 0, *[0.0] * 7
    )
    assert not fault(message)
    flight.send(from_client(message))
    assert reports(flight.sent) == [last]


def test_a_vehicle_that_is_reset_reports_anew(flight):
    flight.run(2.5)
    reports(flight.sent)
    flight.autopilot.flight.enter(0, Mode.RTL)
    flight.run(0.2)
    flight.simulation.reset()
    reports(flight.sent)
    flight.run(1.9)
    assert reports(flight.sent) == [] and fails(flight) == set()
    flight.run(0.2)
    assert len(reports(flight.sent)) == 1


def test_a_vehicle_that_cannot_be_flown_says_so():
    summary, event, _ = report(CHECKS[:1], 0, {})
    assert event[0] == NUMBERS["check_vehicle_cannot_fly"]
    assert struct.unpack("<BIIII", summary[2])[3] == 0


def test_missions_that_cannot_be_flown_count_as_none(flight):
    """As PX4's; one is checked anew from another home."""
    autopilot = flight.autopilot
    assert not autopilot.missions.valid[0]
    autopilot.missions.replace(0, MISSION, [item(autopilot.origin, WAYPOINT, 30.0, 0.0, 5.0)])
    assert autopilot.missions.valid[0]
    autopilot.parameters.set(0, "MIS_DIST_1WP", 20.0)
    autopilot.commander.set_home(0)
    assert not autopilot.missions.valid[0]
