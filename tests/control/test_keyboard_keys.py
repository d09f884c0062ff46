"""What each key asks for, and what the screen shows, without ROS and without a terminal."""

import pytest

from xtdrone_control.errors import ControlNodeError
from xtdrone_control.keyboard import (
    COMMANDS,
    FORMATIONS,
    LEADER,
    MAX_SPEED,
    MAX_TURN,
    MOTION,
    Teleop,
    VehicleState,
)
from xtdrone_formation import formations

FLEET = [f"iris_{i}" for i in range(9)]


class Log:
    """Keeps what was published."""

    def __init__(self):
        self.words, self.moves = [], []

    def send(self, who, word):
        self.words.append((who, word))

    def move(self, who, kind, linear, yaw_rate):
        self.moves.append((who, kind, *linear, yaw_rate))

    def stopped(self, *names):
        """Whether the last messages stop these and nobody else."""
        stops = [move for move in self.moves if not any(move[2:])]
        return stops == self.moves[-len(names):] and [move[0] for move in stops] == list(names)


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def teleop(log):
    return Teleop(FLEET, log.send, log.move)


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
    teleop = Teleop([f"iris_{i}" for i in range(n)], log.send, log.move)
    teleop.key("\t")
    press(teleop, "7g12")
    names = FORMATIONS.get(n, teleop.formations)
    assert log.words == [("iris_0", "mission7"), (LEADER, names[1]), (LEADER, names[2])]


def test_own_formations(log):
    teleop = Teleop(FLEET, log.send, log.move, ["line", "ring"])
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


def test_no_vehicles():
    with pytest.raises(ControlNodeError, match="no vehicles"):
        Teleop([], None, None)


def test_screen_tells_the_state(teleop):
    states = [VehicleState(True, True, "OFFBOARD", (1.0, 2.0, 3.0), "OFFBOARD: done")] * 8
    states.append(VehicleState(info="lost"))
    press(teleop, "www")
    text = "\n".join(teleop.screen(states))
    assert "flying all by velocity: forward +0.3" in text
    assert "9 vehicles, 8 connected, 8 armed" in text
    assert "OFFBOARD          1.00    2.00    3.00 m   OFFBOARD: done" in text
    assert "not connected   lost" in text


@pytest.mark.parametrize("n, width, height", [(1, 80, 24), (9, 80, 24), (100, 120, 30),
                                              (250, 20, 8), (9, 1, 1)])
def test_screen_fits_the_terminal(log, n, width, height):
    teleop = Teleop([f"iris_{i}" for i in range(n)], log.send, log.move)
    teleop.who = teleop.names[-1]
    lines = teleop.screen([VehicleState(True)] * n, width, height)
    assert len(lines) < height or height == 1
    assert all(len(line) < width for line in lines)
    if height > 20:
        assert any(line.startswith(f">{teleop.names[-1]}") for line in lines)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9, 12, 18])
def test_the_leaders_digits_are_formations_that_fit(log, n):
    teleop = Teleop([f"iris_{i}" for i in range(n)], log.send, log.move)
    assert set(teleop.formations) <= set(formations.names(n))


def test_the_help_fits_80_columns(teleop):
    lines = teleop.screen([VehicleState()] * len(FLEET), 80, 40)
    assert max(map(len, lines)) < 79 and "next" in lines[1] and "acceleration" in lines[2]
