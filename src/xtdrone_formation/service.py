"""A leader and its followers that obey words, as /xtdrone/leader/cmd carries them. No ROS here."""

import numpy as np

from xtdrone_core import KEEP, Mode, SetPoints

from . import formations
from .agents import GROUND_CLEARANCE, description
from .network import Radio
from .schemes import Formation, scheme

PERIOD_US = 40_000  # of set-points over topics [us]; XTDrone's communication sends 30 a second
RELEASE = "stop controlling"  # XTDrone's word for giving the vehicles up
_ASK_US = 1_000_000  # after which a vehicle that is not in OFFBOARD is asked again [us]


class FormationService:
    """Silent until the first formation is named; then it steers the followers.

    The leader is flown by others (keyboard, director, mission); its followers
    use its estimated position and velocity.
    """

    def __init__(self, n: int, scheme_name: str = "centralised", radio: Radio = Radio(),
                 spacing: float = None, speed: float = 3.0, on_event=None):
        """A service for n vehicles.

        Args:
            n: Number of vehicles, the leader included.
            scheme_name: As schemes.scheme() takes it.
            radio: What the links between vehicles do.
            spacing: Of the formations [m]; None: their own.
            speed: Largest speed of a transition [m/s].
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            FormationError: Something of it cannot be flown.
        """
        leader, follower = scheme(scheme_name, radio)
        self.n = n
        self.formation = Formation(n, leader, follower, speed=speed)
        self._spacing = spacing
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._pattern = None
        self._word = None  # not yet obeyed
        self._steering = False
        self._start = None  # (N - 1, 3) offsets at the first command [m]
        self._ground = None  # height of the lowest vehicle when first seen [m]
        self._asked_us = -_ASK_US

    def obey(self, word: str) -> bool:
        """Takes a word; True where it is for the formation, not for the leader itself.

        Raises:
            FormationError: A formation that n vehicles cannot fly.
        """
        if word == RELEASE:
            self._steering, self._word = False, None
            return True
        if word not in formations.names() and not word.endswith(".csv"):
            return False
        if word != "waiting":
            formations.slots(word, self.n, spacing=self._spacing)
        self._word = word
        return True

    @property
    def pattern(self) -> np.ndarray:
        """(N - 1, 3) slots of the followers as they are at the last step; None before any."""
        return self._pattern if self._steering else None

    @property
    def topology(self) -> np.ndarray:
        """(N, N) integers: 1 where the row's vehicle hears the column's."""
        matrix = np.zeros((self.n, self.n), dtype=np.int32)
        edges = self.formation.network.edges
        matrix[edges[:, 0], edges[:, 1]] = 1
        return matrix

    def step(self, t_us: int, estimates) -> SetPoints:
        """Set-points of the followers at t_us, or None while nothing is commanded."""
        if self._ground is None:
            self._ground = float(estimates.pos[:, 2].min())
        word, self._word = self._word, None
        if word is not None and (not self._steering or word != self.formation.name):
            self._begin(t_us, estimates.pos, word)
        if not self._steering:
            return None
        self._pattern = self.formation.transition.at(t_us)[0]
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

    def _begin(self, t_us, pos, word):
        if not self._steering:
            self.formation.start(t_us, pos)
            if self._start is None:
                self._start = self.formation.transition.goal
        slots = self._start if word == "waiting" else formations.slots(word, self.n,
                                                                       spacing=self._spacing)
        floor = min(self._ground + GROUND_CLEARANCE - float(pos[0, 2]), 0.0)
        way = self.formation.command(t_us, word, slots, floor)
        self._steering = True
        self._on_event(t_us, "formation", **description(word, way))
