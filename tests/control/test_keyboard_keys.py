"""What each key asks for, and what the screen shows, without ROS and without a terminal."""

import pytest

from xtdrone_control.errors import ControlNodeError
from xtdrone_control.keyboard import (
    ALL,
    COMMANDS,
    FORMATIONS,
    LEADER,
    MAX_SPEED,
    MAX_TURN,
    MOTION,
    Teleop,
    VehicleState,
)
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_formation import formations
from xtdrone_mavros.vehicle_kind import Kind

FLEET = [f"iris_{i}" for i in range(9)]


class Log:
    """Keeps what was published for vehicles in these states."""

    def __init__(self, n=len(FLEET)):
        self.states = [VehicleState() for _ in range(n)]
        self.words, self.moves, self.positions = [], [], []

    def send(self, who, word):
        self.words.append((who, word))

    def move(self, who, kind, linear, yaw_rate):
        self.moves.append((who, kind, *linear, yaw_rate))

    def set_position(self, who, pos):
        self.positions.append((who, pos))

    def stopped(self, *names):
        """Whether the last messages stop these and nobody else."""
        stops = [move for move in self.moves if not any(move[2:])]
        return stops == self.moves[-len(names) :] and [move[0] for move in stops] == list(names)


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def teleop(log):
    return Teleop(FLEET, log)


def press(teleop, keys):
    for key in keys:
        teleop.key(key)


@pytest.mark.parametrize("key, word", COMMANDS.items())
def test_words_go_to_everybody(teleop, log, key, word):
    teleop.key(key)
    assert log.words == [(name, word) for name in FLEET]
    assert log.moves == []


@pytest.mark.parametrize("key", MOTION)
@pytest.mark.parametrize("kind", ["velocity", "acceleration"])
def test_motion_keys(teleop, log, key, kind):
    if kind == "acceleration":
        teleop.key("m")
        log.moves.clear()
    teleop.key(key)
    axis, direction = MOTION[key]
    expected = [0.0] * 4
    expected[axis] = pytest.approx(0.1 * direction)
    assert [move[0] for move in log.moves] == FLEET
    assert all(move[1] == kind and list(move[2:]) == expected for move in log.moves)


@pytest.mark.parametrize("key", MOTION)
def test_limits(teleop, log, key):
    press(teleop, key * 300)
    axis, direction = MOTION[key]
    limit = MAX_TURN if axis == 3 else MAX_SPEED["velocity"]
    assert teleop.axes[axis] == pytest.approx(direction * limit)


def test_back_to_zero_means_hover(teleop, log):
    press(teleop, "wwxx")
    assert log.stopped(*FLEET)
    assert not teleop.moving


def test_motion_is_repeated_only_while_there_is_one(teleop, log):
    teleop.repeat()
    assert log.moves == []
    teleop.key("w")
    teleop.repeat()
    assert len(log.moves) == 2 * len(FLEET)
    teleop.key("s")
    assert log.stopped(*FLEET)
    teleop.repeat()
    assert log.stopped(*FLEET), "after that a follower's own commands are not disturbed"


def test_tab_goes_through_the_vehicles(teleop, log):
    for name in [*FLEET, FLEET[0]]:
        teleop.key("\t")
        assert teleop.who == name
    teleop.key("t")
    assert log.words == [("iris_0", "ARM")]


def test_leader_and_back(teleop, log):
    teleop.key("g")
    assert teleop.who == LEADER
    press(teleop, "wt")
    assert log.moves == [(LEADER, "velocity", 0.1, 0.0, 0.0, 0.0)]
    assert log.words == [(LEADER, "ARM")]
    teleop.key("g")
    assert teleop.who == "all"


@pytest.mark.parametrize("key", "g\t")
def test_whoever_is_left_hovers(teleop, log, key):
    press(teleop, "w" + key)
    assert log.stopped(*FLEET)
    assert not teleop.moving


@pytest.mark.parametrize("n", [2, 6, 9, 18, 50])
def test_digits_are_formations_of_the_leader_and_missions_of_others(log, n):
    teleop = Teleop([f"iris_{i}" for i in range(n)], log)
    teleop.key("\t")
    press(teleop, "7g12")
    names = FORMATIONS.get(n, teleop.formations)
    assert log.words == [("iris_0", "mission7"), (LEADER, names[1]), (LEADER, names[2])]


def test_own_formations(log):
    teleop = Teleop(FLEET, log, ["line", "ring"])
    press(teleop, "g19")
    assert log.words == [(LEADER, "ring")]


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"])
@pytest.mark.parametrize("before, who", [("ww", FLEET), ("gww", [LEADER]), ("\tww", FLEET[:1])])
def test_quitting_leaves_nobody_moving(teleop, log, key, before, who):
    press(teleop, before + key)
    assert teleop.done
    assert log.stopped(*who)
    teleop.quit()
    assert log.stopped(*who)


@pytest.mark.parametrize("key", ["z", "\x1b", "", "é", " "])
def test_other_keys_do_nothing(teleop, log, key):
    teleop.key(key)
    assert log.words == log.moves == []


def test_no_vehicles(log):
    with pytest.raises(ControlNodeError, match="no vehicles"):
        Teleop([], log)


def test_screen_tells_the_state(teleop, log):
    log.states[:] = [
        *[VehicleState(True, True, "OFFBOARD", (1.0, 2.0, 3.0), "OFFBOARD: done")] * 8,
        VehicleState(info="lost"),
    ]
    press(teleop, "www")
    text = "\n".join(teleop.screen())
    assert "flying all by velocity: forward +0.3" in text
    assert "9 vehicles, 8 connected, 8 armed" in text
    assert "OFFBOARD          1.00    2.00    3.00 m   OFFBOARD: done" in text
    assert "not connected   lost" in text


@pytest.mark.parametrize(
    "n, width, height", [(1, 80, 24), (9, 80, 24), (100, 120, 30), (250, 20, 8), (9, 1, 1)]
)
def test_screen_fits_the_terminal(n, width, height):
    teleop = Teleop([f"iris_{i}" for i in range(n)], Log(n))
    teleop.who = teleop.names[-1]
    lines = teleop.screen(width, height)
    assert len(lines) < height or height == 1
    assert all(len(line) < width for line in lines)
    if height > 20:
        assert any(line.startswith(f">{teleop.names[-1]}") for line in lines)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9, 12, 18])
def test_the_leaders_digits_are_formations_that_fit(n):
    teleop = Teleop([f"iris_{i}" for i in range(n)], Log(n))
    assert set(teleop.formations) <= set(formations.names(n))


PLANE, VTOL, ROVER, BOAT = Kind.PLANE, Kind.VTOL, Kind.ROVER, Kind.BOAT
HOVERING, ON_WINGS = mavlink.MAV_VTOL_STATE_MC, mavlink.MAV_VTOL_STATE_FW


def teleop_of(*vehicles):
    """Teleop of a vehicle of each (Kind, MAV_VTOL_STATE), each 100 m further east, and its Log."""
    log = Log(len(vehicles))
    for i, (state, (kind, vtol_state)) in enumerate(zip(log.states, vehicles)):
        state.kind, state.vtol_state, state.pos = kind, vtol_state, (100.0 * i, 0.0, 50.0)
    return Teleop([f"v_{i}" for i in range(len(vehicles))], log), log


@pytest.mark.parametrize("vehicle", [(PLANE, 0), (VTOL, ON_WINGS)])
@pytest.mark.parametrize(
    "keys, offset",
    [
        ("w", (0, 5, 0)),
        ("x", (0, -5, 0)),
        ("a", (-5, 0, 0)),
        ("d", (5, 0, 0)),
        ("i", (0, 0, 5)),
        (",", (0, 0, -5)),
        ("wwd", (5, 10, 0)),
    ],
)
def test_keys_move_the_set_point_of_a_fixed_wing(vehicle, keys, offset):
    teleop, log = teleop_of(vehicle, vehicle)
    press(teleop, keys)
    x, y, z = offset
    assert log.positions[-2:] == [("v_0", (x, y, 50 + z)), ("v_1", (100 + x, y, 50 + z))]
    assert log.moves == []
    teleop.repeat()
    assert log.moves == [] and len(log.positions) == 2 * len(keys)
    teleop.key("s")
    assert log.stopped("v_0", "v_1"), "from here on it circles where it is"


def test_a_set_point_begins_where_the_plane_is_after_each_hold():
    teleop, log = teleop_of((PLANE, 0))
    press(teleop, "ws")
    log.states[0].pos = (0.0, 300.0, 60.0)
    press(teleop, "w")
    assert log.positions == [("v_0", (0, 5, 50)), ("v_0", (0, 305, 60))]


def test_no_set_point_before_the_first_position():
    teleop, log = teleop_of((PLANE, 0))
    log.states[0].pos = VehicleState().pos
    press(teleop, "wo")
    assert log.positions == []


@pytest.mark.parametrize("state, command", [(HOVERING, "plane"), (ON_WINGS, "multirotor")])
def test_o_is_the_transition_of_a_vtol_and_the_set_point_of_a_plane(state, command):
    teleop, log = teleop_of((VTOL, state), (PLANE, 0), (Kind.MULTIROTOR, 0), (ROVER, 0))
    teleop.key("o")
    assert log.words == [("v_0", command)]
    assert log.positions == [("v_1", (100, 0, 50))]
    assert log.moves == []


def test_a_hovering_vtol_moves_as_a_multirotor():
    teleop, log = teleop_of((VTOL, HOVERING))
    press(teleop, "ml")
    assert log.moves[-1] == ("v_0", "acceleration", 0, 0, 0, -0.1)


@pytest.mark.parametrize("kind", [ROVER, BOAT])
@pytest.mark.parametrize(
    "keys, speed, steering",
    [
        ("www", 0.3, 0),
        ("wxx", -0.1, 0),
        ("wa", 0.1, 0.1),
        ("wd", 0.1, -0.1),
        ("wjj", 0.1, 0.2),
        ("w" + 30 * "a", 0.1, 1.0),
        ("wmw", 0.1, 0),
    ],
)
def test_speed_and_steering_of_rovers_and_boats(kind, keys, speed, steering):
    teleop, log = teleop_of((kind, 0))
    press(teleop, keys)
    assert log.moves[-1] == ("v_0", "velocity", speed, 0, 0, steering)
    teleop.key("s")
    assert not any(log.moves[-1][2:])


def test_each_vehicle_of_a_mixed_fleet_gets_its_own_kind_of_set_point():
    teleop, log = teleop_of((Kind.MULTIROTOR, 0), (PLANE, 0), (ROVER, 0))
    press(teleop, "a")
    assert log.moves == [("v_0", "velocity", 0, 0.1, 0, 0), ("v_2", "velocity", 0, 0, 0, 0.1)]
    assert log.positions == [("v_1", (95, 0, 50))]
    text = "\n".join(teleop.screen())
    assert "flying all by velocity" in text
    assert "set-point of all: east -5 north +0 up +0 m" in text
    assert "driving all: speed +0.0 m/s, steering +0.1" in text


@pytest.mark.parametrize(
    "vehicle, shown, hidden",
    [
        ((PLANE, 0), ["w/x north, south", "o   send"], "yaw"),
        ((VTOL, HOVERING), ["j/l yaw", "o   transition"], "north"),
        ((VTOL, ON_WINGS), ["w/x north, south", "o   transition"], "yaw"),
        ((BOAT, 0), ["a/d steer"], "i/,"),
    ],
)
@pytest.mark.parametrize("who", [ALL, LEADER])
def test_the_help_is_that_of_the_vehicle(vehicle, shown, hidden, who):
    teleop, _ = teleop_of(vehicle)
    teleop.who = who
    text = "\n".join(teleop.screen(80, 40))
    assert all(line in text for line in shown) and hidden not in text
    assert max(map(len, text.splitlines())) < 80


def test_the_help_fits_80_columns(teleop):
    lines = teleop.screen(80, 40)
    assert max(map(len, lines)) < 79 and "next" in lines[1] and "acceleration" in lines[2]


def test_what_the_leader_answers_is_shown_in_full(teleop):
    said = "formation 'pyramid' reaches 4.0 m below the leader: climb to 5.0 m or more first"
    lines = teleop.screen(40, 40, said)
    assert said in " ".join(line.strip() for line in lines)
    assert all(len(line) < 40 for line in lines)
