"""Parameters: PX4's list, values, hash and answers, as recorded from PX4 v1.15.4."""

import math
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.mavlink.parameter_protocol import ParameterProtocol
from xtdrone_autopilot.parameters.constraints import Constraints
from xtdrone_autopilot.parameters.store import ParameterStore, dtype, listed, table
from xtdrone_autopilot.state.handlers import declared
from xtdrone_core.mavlink.client import param_value
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, STANDARD_VTOL

SRC = Path(__file__).resolve().parents[2] / "src" / "xtdrone_autopilot"
INT, REAL, UINT = (
    mavlink.MAV_PARAM_TYPE_INT32,
    mavlink.MAV_PARAM_TYPE_REAL32,
    mavlink.MAV_PARAM_TYPE_UINT32,
)


def test_table():
    assert len(listed()) == 876 and list(table()) == sorted(table())
    assert list(listed())[619] == "MPC_XY_CRUISE" and list(listed())[870] == "VTO_LOITER_ALT"
    unlisted = set(dtype().names) - set(listed(kind=(MULTICOPTER, STANDARD_VTOL)))
    assert all(name.startswith(("GND_", "RDD_", "LTEST_")) for name in unlisted)
    assert set(listed(True)) - set(listed()) == {"FW_LND_ANG", "MIS_TKO_LAND_REQ"}
    for p in table().values():
        assert len(p.name) <= 16 and p.active_min <= p.active_max
        assert not p.effect or p.active(p.default) == p.default, p.name


def test_what_has_an_effect_is_read_somewhere():
    sources = "".join(path.read_text() for path in SRC.rglob("*.py"))
    for name in dtype().names:
        assert name in sources or name.startswith("FD_FAIL_"), name  # these are put together


def test_hash_is_that_of_px4():
    store = ParameterStore(2)
    for name, value in (("EKF2_ASP_DELAY", 100.0), ("IMU_GYRO_CAL_EN", 1)):  # PX4's own defaults
        store.set(0, name, value)
    assert store.hash(0) == 1446691214
    store.set(0, "MPC_XY_CRUISE", 7.0)
    assert store.hash(0) == 3637418912
    store.set(0, "COM_FLIGHT_UUID", 5)  # volatile
    assert store.hash(0) == 3637418912


def test_any_finite_value_is_kept_and_limited_in_force():
    store = ParameterStore(2)
    assert store.set(0, "MPC_XY_VEL_MAX", 50.0) == 50.0 == store.get(0, "MPC_XY_VEL_MAX")
    assert store.set(0, "MPC_XY_VEL_P_ACC", -1.0) == -1.0
    assert store.get(0, "MPC_XY_VEL_P_ACC") == pytest.approx(0.1)  # what is divided by
    assert store.set(0, "COM_RCL_EXCEPT", 99999) == 99999 == store.reported(0, "COM_RCL_EXCEPT")
    assert store.get(0, "COM_RCL_EXCEPT") == 7  # its bits
    assert store.set(0, "SDLOG_MODE", -1) == -1 == store.get(0, "SDLOG_MODE")
    assert store.reported(1, "COM_RCL_EXCEPT") == 0
    for name, value in (
        ("MPC_XY_CRUISE", math.nan),
        ("MPC_XY_CRUISE", 1e39),
        ("MPC_XY_CRUISE", -math.inf),
        ("NAV_RCL_ACT", 2.0**31),
    ):
        with pytest.raises(AutopilotError, match=f"{name} = .* is not allowed"):
            store.set(0, name, value)
    with pytest.raises(AutopilotError, match="did you mean 'MPC_XY_P'"):
        store.get(0, "MPC_XYP")


def test_what_is_reported_of_all():
    store = ParameterStore(2)
    store.set(1, "MPC_XY_VEL_P_ACC", -1.0)
    store.set(1, "SDLOG_MODE", 3)
    store.values["MPC_XY_CRUISE"][1] = 6.5
    names = list(table())
    for i, row in enumerate(store.bits()):
        for k, (name, p) in enumerate(table().items()):
            number = row[k].view(np.int32 if p.type is int else np.float32)
            assert number == store.reported(i, name), name
    assert store.bits(slice(1, 2))[0, names.index("MPC_XY_CRUISE")].view(np.float32) == 6.5
    store.set_defaults(1)
    assert (store.bits()[1] != store.bits()[0]).nonzero()[0].tolist() == [names.index("MAV_SYS_ID")]


def test_one_parameter_limits_another_as_in_px4():
    store, said = ParameterStore(2), []
    outbox = SimpleNamespace(say=lambda i, severity, text: said.append((i, severity, text)))
    constraints = Constraints(store, outbox)
    constraints.step()
    for name, value in (("MPC_XY_CRUISE", 15.0), ("MPC_XY_VEL_MAX", 20.0)):  # as a file has them
        store.set(1, name, value)
    constraints.step()
    assert store.get(1, "MPC_XY_CRUISE") == 15.0 and not said
    for name, value in (
        ("MPC_XY_VEL_MAX", 8.0),
        ("MPC_TILTMAX_AIR", 95.0),
        ("MPC_THR_HOVER", 0.01),
        ("MPC_VEL_MAN_SIDE", 9.0),
    ):
        store.set(0, name, value)
    constraints.step()
    assert [text for _, _, text in said] == [
        "Tilt constrained to safe value\t",
        "Manual speed has been constrained by max speed\t",
        "Manual sideways speed has been constrained by forward speed\t",
        "Hover thrust has been constrained by min/max\t",
    ]
    assert {(i, severity) for i, severity, _ in said} == {(0, mavlink.MAV_SEVERITY_CRITICAL)}
    assert store.reported(0, "MPC_VEL_MANUAL") == 8.0 == store.reported(0, "MPC_VEL_MAN_SIDE")
    assert store.reported(0, "MPC_TILTMAX_AIR") == 89.0
    assert store.reported(0, "MPC_THR_HOVER") == pytest.approx(0.12)


class Links:
    """Keeps what is sent: (link or vehicle, message), of which `count` parameters are listed."""

    def __init__(self):
        self.sent, self.count = [], 876

    def reply(self, link, message):
        self.sent.append((link, message))

    def broadcast(self, i, message):
        self.sent.append((i, message))

    def taken(self):
        """name, value, type, index of each PARAM_VALUE since the last call, as on the wire."""
        found = []
        for to, message in self.sent:
            (decoded,) = mavlink.MAVLink(None).parse_buffer(
                message.pack(mavlink.MAVLink(None, 1, 1))
            )
            assert decoded.param_count == self.count
            found.append(
                (
                    to,
                    decoded.param_id,
                    param_value(decoded),
                    decoded.param_type,
                    decoded.param_index,
                )
            )
        self.sent.clear()
        return found


class Vehicle:
    """A fleet's protocol and a link of its first vehicle, which ticks once a second."""

    def __init__(self):
        self.store, self.links, self.said = ParameterStore(2), Links(), []
        self.store.set(0, "EKF2_ASP_DELAY", 100.0)  # as PX4 has it
        outbox = SimpleNamespace(say=lambda i, severity, text: self.said.append(text))
        self.status = {"armed": np.zeros(2, dtype=bool)}
        self.clock = SimpleNamespace(t_us=0)
        self.protocol = ParameterProtocol(
            self.store, None, outbox, self.links, self.status, self.clock
        )
        self.link = SimpleNamespace(vehicle=0, system=1, kind=0)
        self.receives = dict(declared(self.protocol, "receives"))

    def set(self, name, value, kind):
        """PARAM_SET, and what it is answered."""
        if kind != REAL:
            (value,) = struct.unpack("<f", struct.pack("<i", value))
        self.receives["PARAM_SET"](
            self.link, mavlink.MAVLink_param_set_message(1, 1, name.encode(), value, kind)
        )
        return [answer[1:4] for answer in self.links.taken()]

    def read(self, name="", index=-1):
        """PARAM_REQUEST_READ, and what it is answered."""
        self.receives["PARAM_REQUEST_READ"](
            self.link, mavlink.MAVLink_param_request_read_message(1, 1, name.encode(), index)
        )
        return [answer[1:] for answer in self.links.taken()]

    def ask_for_list(self):
        self.receives["PARAM_REQUEST_LIST"](self.link, None)

    def tick(self, seconds=1.0):
        self.clock.t_us += round(seconds * 1e6)
        self.protocol.step()
        return self.links.taken()


@pytest.fixture
def vehicle():
    return Vehicle()


def test_list_comes_behind_its_hash_twenty_at_a_time(vehicle):
    vehicle.ask_for_list()
    ticks = []
    while came := vehicle.tick():
        ticks.append(came)
    assert {len(came) for came in ticks[:-1]} == {20}
    (_, *first), *rest = [each for came in ticks for each in came]
    assert first == ["_HASH_CHECK", vehicle.store.hash(0), UINT, 65535]
    assert [each[1] for each in rest] == list(listed())
    assert [each[4] for each in rest] == list(range(876))


def test_list_has_two_more_once_there_was_a_mission(vehicle):
    """PX4 v1.15.4 reads FW_LND_ANG and MIS_TKO_LAND_REQ where it checks a mission."""
    before = vehicle.store.hash(0)
    vehicle.store.mission_checked[0] = True
    vehicle.links.count = 878
    vehicle.ask_for_list()
    came = [each for _ in range(50) for each in vehicle.tick()]
    assert [each[1] for each in came[1:]] == list(listed(True))
    assert came[0][2] == vehicle.store.hash(0) != before
    assert vehicle.read("FW_LND_ANG")[0][3] == list(listed(True)).index("FW_LND_ANG")


def test_changes_are_told_once_a_second(vehicle):
    """As PX4 does: the first at once, those that follow together and as they are by then."""

    def change(value):
        vehicle.set("MPC_XY_CRUISE", value, REAL)

    change(6.0)
    assert [each[2] for each in vehicle.tick(0.02)] == [6.0]
    change(7.0)
    assert vehicle.tick(0.5) == []
    change(8.0)
    assert vehicle.tick(0.46) == []
    assert [each[2] for each in vehicle.tick(0.04)] == [8.0]
    assert vehicle.tick(2.0) == []


def test_list_asked_for_twice_begins_anew_without_the_hash_and_is_stopped_by_it(vehicle):
    vehicle.ask_for_list()
    vehicle.tick()
    vehicle.ask_for_list()
    assert [each[4] for each in vehicle.tick()] == list(range(20))
    assert vehicle.set("_HASH_CHECK", 0.0, REAL) == []
    assert vehicle.tick() == []


@pytest.mark.parametrize(
    "name, index, answer",
    [
        ("_HASH_CHECK", -1, [("_HASH_CHECK", 254548182, UINT, 65535)]),
        ("", 5, [("BAT1_SOURCE", 0, INT, 5)]),
        ("", 870, [("VTO_LOITER_ALT", 80.0, REAL, 870)]),
        ("FW_AIRSPD_TRIM", -1, [("FW_AIRSPD_TRIM", 15.0, REAL, 472)]),
        (
            "ADSB_EMIT_TYPE",
            -1,
            [("ADSB_EMIT_TYPE", 14, INT, 65535)],
        ),  # not in use in the simulation
        ("", 2000, []),
        ("NO_SUCH", -1, []),
    ],
)
def test_requests(vehicle, name, index, answer):
    assert vehicle.read(name, index) == answer


@pytest.mark.parametrize(
    "name, value, kind, answer",
    [
        ("MPC_XY_VEL_MAX", 50.0, REAL, [("MPC_XY_VEL_MAX", 50.0, REAL)]),  # beyond its range
        ("MPC_XY_VEL_MAX", 9, INT, []),  # of another type
        ("COM_RCL_EXCEPT", 2.0, REAL, []),
        ("COM_RCL_EXCEPT", 3, INT, [("COM_RCL_EXCEPT", 3, INT)]),
        ("COM_RCL_EXCEPT", 2, UINT, []),
        ("COM_RCL_EXCEPT", 99999, INT, [("COM_RCL_EXCEPT", 99999, INT)]),
        ("FW_AIRSPD_TRIM", 14.0, REAL, [("FW_AIRSPD_TRIM", 14.0, REAL)]),
        ("NO_SUCH", 14.0, REAL, []),
    ],
)
def test_what_is_set_is_answered_and_told_on_every_link(vehicle, name, value, kind, answer):
    assert vehicle.set(name, value, kind) == answer
    told = [each[:4] for each in vehicle.tick()]
    assert told == [(0, *each) for each in answer]
    if answer:
        assert vehicle.store.reported(0, name) == value
        assert vehicle.set(name, value, kind) == answer and not vehicle.tick()  # is no change


def test_no_number_is_answered_by_the_old_value(vehicle):
    assert vehicle.set("MPC_XY_CRUISE", math.inf, REAL) == [("MPC_XY_CRUISE", 5.0, REAL)]
    assert "MPC_XY_CRUISE = inf is not allowed" in vehicle.said[0] and not vehicle.tick()


def test_a_parameter_without_effect_is_said_to_be_so_once(vehicle):
    vehicle.set("MPC_XY_CRUISE", 6.0, REAL)
    assert not vehicle.said
    vehicle.set("SDLOG_MODE", 1, INT)
    vehicle.set("SDLOG_PROFILE", 1, INT)
    assert vehicle.said == ["SDLOG_MODE is kept, but does nothing in this flight stack"]


def test_storage_is_for_the_ground(vehicle):
    def storage(action):
        handlers = dict(declared(vehicle.protocol, "handles"))
        command = handlers[mavlink.MAV_CMD_PREFLIGHT_STORAGE]
        return command(vehicle.link, [float(action)] + [0.0] * 6).result

    vehicle.store.set(0, "MPC_XY_CRUISE", 6.0)
    vehicle.status["armed"][0] = True
    assert storage(2) == mavlink.MAV_RESULT_TEMPORARILY_REJECTED
    vehicle.status["armed"][0] = False
    assert storage(4) == mavlink.MAV_RESULT_ACCEPTED
    assert vehicle.store.get(0, "MPC_XY_CRUISE") == 5.0
