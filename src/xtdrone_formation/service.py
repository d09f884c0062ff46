"""Leaders that obey words, as /xtdrone/leader/cmd carries them, with or without followers."""

import numpy as np

from xtdrone_core import KEEP, Mode, SetPoints

from . import formations
from .agents import GROUND_CLEARANCE, description
from .assignment import hold, plan
from .errors import FormationError
from .network import Radio, topology
from .schemes import Formation, scheme

PERIOD_US = 40_000  # of set-points over topics [us]; XTDrone's communication sends 30 a second
RELEASE = "stop controlling"  # XTDrone's word for giving the vehicles up
_ASK_US = 1_000_000  # after which a vehicle that is not in OFFBOARD is asked again [us]


class Words:
    """What the words for a leader mean, and which one is waiting to be obeyed."""

    def __init__(self, n: int, shape: formations.Shape = formations.Shape()):
        """Words for n vehicles."""
        self.n = n
        self._shape = shape
        self._word = None

    def take(self, word: str) -> bool:
        """Takes a word; True where it is for the formation, not for the leader itself.

        Raises:
            FormationError: A formation that n vehicles cannot fly.
        """
        if word not in (RELEASE, *formations.names()) and not word.endswith(".csv"):
            return False
        if word != RELEASE:
            self.slots(word)
        self._word = word
        return True

    def next(self):
        """The word that came last and was not yet returned, or None."""
        word, self._word = self._word, None
        return word

    def slots(self, word: str) -> np.ndarray:
        """(N - 1, 3) slots of a formation [m]."""
        return self._shape.slots(word, self.n)


class PatternLeader:
    """A leader alone: turns words into a moving pattern for followers that run elsewhere."""

    def __init__(self, n: int, shape: formations.Shape = formations.Shape(), speed: float = 3.0,
                 on_event=None):
        """The pattern begins as XTDrone's 3 m grid.

        Args:
            n: Number of vehicles, the leader included.
            shape: Size and turn of the formations.
            speed: Largest speed of a transition [m/s].
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            FormationError: Fewer than two vehicles.
        """
        self.words = Words(n, shape)
        self._way = hold(formations.slots("origin", n))
        if n < 2:
            raise FormationError(f"n = {n} is not allowed: a leader has followers, give 2 or more "
                                 "vehicles")
        self._speed = speed
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self.pattern = self._way.goal  # (N - 1, 3) [m]; None after release
        self.edges = None  # (E, 2) who hears whom, from the first formation on

    def step(self, t_us: int) -> None:
        """Moves the pattern on."""
        word = self.words.next()
        if word == RELEASE:
            self.pattern = None
        elif word is not None:
            self.edges = topology("star", self._way.goal)
            self._way = plan(self._way.at(t_us)[0], self.words.slots(word), t_us, self._speed)
            self._on_event(t_us, "formation", **description(word, self._way))
        if self.pattern is not None or word not in (None, RELEASE):
            self.pattern = self._way.at(t_us)[0]


class FormationService:
    """Silent until the first formation is named; then it steers the followers.

    The leader is flown by others (keyboard, director, mission); its followers
    use its estimated position and velocity. Events: `formation`, as
    FormationAgent's, and `released` (messages_sent, messages_lost).
    """

    def __init__(self, n: int, scheme_name: str = "centralised", radio: Radio = Radio(),
                 shape: formations.Shape = formations.Shape(), speed: float = 3.0,
                 topology: str = "", on_event=None):
        """A service for n vehicles.

        Args:
            n: Number of vehicles, the leader included.
            scheme_name: As schemes.scheme() takes it.
            radio: What the links between vehicles do.
            shape: Size and turn of the formations.
            speed: Largest speed of a transition [m/s].
            topology: Who hears whom, as schemes.scheme() takes it.
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            FormationError: Something of it cannot be flown.
        """
        leader, follower = scheme(scheme_name, radio, topology=topology)
        self.n = n
        self.words = Words(n, shape)
        if n > 1:
            leader.edges(formations.slots("origin", n))  # an unknown topology is refused here
        self.formation = Formation(n, leader, follower, speed=speed)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self.pattern = None  # (N - 1, 3) slots at the last step [m]; None while it is silent
        self._steering = False
        self._start = None  # (N - 1, 3) offsets at the first command [m]
        self._ground = None  # height of the lowest vehicle when first seen [m]
        self._asked_us = -_ASK_US

    @property
    def edges(self) -> np.ndarray:
        """(E, 2) who hears whom; None before the first formation."""
        return self.formation.network.edges if self.formation.network else None

    def step(self, t_us: int, estimates) -> SetPoints:
        """Set-points of the followers at t_us, or None while nothing is commanded."""
        if self._ground is None:
            self._ground = float(estimates.pos[:, 2].min())
        word = self.words.next()
        if word == RELEASE:
            self._release(t_us)
        elif word is not None and (not self._steering or word != self.formation.name):
            self._begin(t_us, estimates.pos, word)
        if not self._steering:
            self.pattern = None
            return None
        self.pattern = self.formation.transition.at(t_us)[0]
        out = self.formation.step(t_us, estimates.pos, estimates.vel)
        for values in (out.pos, out.vel, out.acc):
            values[0] = np.nan  # the leader is flown by others
        out.mode.fill(KEEP)
        astray = estimates.armed & (estimates.mode != Mode.OFFBOARD)
        astray[0] = False
        if astray.any() and t_us - self._asked_us >= _ASK_US:
            out.mode[astray] = Mode.OFFBOARD
            self._asked_us = t_us
        return out

    def _release(self, t_us):
        if self._steering:
            network = self.formation.network
            self._on_event(t_us, "released", messages_sent=network.sent,
                           messages_lost=network.lost)
        self._steering = False

    def _begin(self, t_us, pos, word):
        if not self._steering:
            self.formation.start(t_us, pos)
            if self._start is None:
                self._start = self.formation.transition.goal
        slots = self._start if word == "waiting" else self.words.slots(word)
        floor = min(self._ground + GROUND_CLEARANCE - float(pos[0, 2]), 0.0)
        way = self.formation.command(t_us, word, slots, floor)
        self._steering = True
        self._on_event(t_us, "formation", **description(word, way))
