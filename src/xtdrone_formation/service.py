"""Leaders that execute the commands of /xtdrone/leader/cmd, with or without followers."""

import math
from collections.abc import Callable

import numpy as np

from xtdrone_core import KEEP, Estimates, Mode, SetPoints

from . import formations
from .assignment import hold, plan
from .declarations import SURVEY_TIME, Radio, Shape
from .errors import FormationError
from .flight import GROUND_CLEARANCE, event_values
from .formation import Formation
from .network import topology
from .schemes import scheme
from .survey import Survey

RELEASE = "stop controlling"  # XTDrone's command to release the vehicles
_RETRY_US = 1_000_000  # time after which OFFBOARD is requested again [us]


class CommandQueue:
    """Checks commands for a leader and keeps the latest until it is executed."""

    def __init__(self, n: int, shape: Shape = Shape()) -> None:
        """Makes an empty queue for a formation of n vehicles."""
        self.n = n
        self._shape = shape
        self._pending: str | None = None

    def push(self, command: str) -> bool:
        """Takes a command; returns False if it is not a formation command.

        Raises:
            FormationError: A formation that n vehicles cannot fly.
        """
        if command not in (RELEASE, *formations.names()) and not formations.is_table(command):
            return False
        if command != RELEASE:
            self.slots(command)
        self._pending = command
        return True

    def pop(self) -> str | None:
        """Returns the latest command that was not returned yet, or None."""
        command, self._pending = self._pending, None
        return command

    def slots(self, name: str) -> np.ndarray:
        """Returns slots (N - 1, 3) of a formation [m]."""
        return formations.shaped(name, self.n, self._shape)


class PatternLeader:
    """A leader only: turns commands into a moving pattern for followers in other processes."""

    def __init__(
        self,
        n: int,
        shape: Shape = Shape(),
        speed: float = 3.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Starts with XTDrone's 3 m grid as the pattern.

        Args:
            n: Number of vehicles, the leader included.
            shape: Size and rotation of the formations.
            speed: Largest speed of a transition [m/s].
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            FormationError: Fewer than two vehicles.
        """
        self.commands = CommandQueue(n, shape)
        self._transition = hold(formations.slots("origin", n))
        if n < 2:
            raise FormationError(
                f"n = {n} is not allowed: a leader has followers, give 2 or more vehicles"
            )
        self._speed = speed
        self._ground: float | None = None  # height of the ground [m]
        self._on_event = on_event or (lambda t_us, name, **values: None)
        # (N - 1, 3) [m]; None after release.
        self.pattern: np.ndarray | None = self._transition.goal
        self.edges: np.ndarray | None = (
            None  # (E, 2) communication graph, from the first formation on
        )

    def step(self, t_us: int, z: float = math.inf) -> None:
        """Updates the pattern.

        Args:
            t_us: Simulated time [us].
            z: Height of the leader; the first one is that of the ground [m].

        Raises:
            FormationError: A formation does not fit above the ground, or cannot be reached.
        """
        self._ground = z if self._ground is None else self._ground
        height = z - self._ground if math.isfinite(z) else math.inf
        command = self.commands.pop()
        if command == RELEASE:
            self.pattern = None
        elif command is not None:
            slots = self.commands.slots(command)
            formations.require_height(command, slots, height)
            self.edges = topology("star", self._transition.goal)
            self._transition = plan(self._transition.at(t_us)[0], slots, t_us, self._speed)
            self._on_event(t_us, "formation", **event_values(command, self._transition))
        if self.pattern is not None or command not in (None, RELEASE):
            self.pattern = formations.lifted(self._transition.at(t_us)[0], height)


class FormationService:
    """Controls the followers from the first formation command on.

    The leader is controlled by others (keyboard, director, mission); the followers use its
    estimated position and velocity. A follower that is sent into another mode, such as AUTO.LAND,
    stays there until the next formation is commanded. Events: `formation`, as of FormationAgent,
    and `released` (messages_sent, messages_lost).
    """

    def __init__(
        self,
        n: int,
        scheme_name: str = "centralised",
        radio: Radio = Radio(),
        shape: Shape = Shape(),
        speed: float = 3.0,
        topology: str = "",
        on_event: Callable[..., None] | None = None,
        require_followers: Callable[[], None] = lambda: None,
        survey_time: float = SURVEY_TIME.default,
    ) -> None:
        """Makes a service for n vehicles.

        Args:
            n: Number of vehicles, the leader included.
            scheme_name: See schemes.scheme().
            radio: Properties of the links between vehicles.
            shape: Size and rotation of the formations.
            speed: Largest speed of a transition [m/s].
            topology: Communication graph, see schemes.scheme().
            on_event: Called as on_event(t_us, name, **values).
            require_followers: Called before the first formation; raises FormationError if a
                follower cannot hold a slot.
            survey_time: Time constant of the receivers' errors [s], see Survey; `survey.grid`
                has the places of the start grid, where somebody measured them.

        Raises:
            FormationError: An invalid scheme, topology or value.
        """
        leader, follower = scheme(scheme_name, radio, topology=topology)
        self.n = n
        self.commands = CommandQueue(n, shape)
        if n > 1:
            leader.edges(formations.slots("origin", n))  # raises an error on an unknown topology
        self.formation = Formation(n, leader, follower, speed=speed)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._require_followers = require_followers
        # (N - 1, 3) slots at the last step [m]; None while inactive.
        self.pattern: np.ndarray | None = None
        self._active = False
        self._accepted = np.zeros(n, bool)  # vehicles in OFFBOARD since the last command
        self._start: np.ndarray | None = None  # (N - 1, 3) offsets at the first command [m]
        self._ground = math.nan  # height of the lowest vehicle when first seen [m]
        self._requested_us = -_RETRY_US
        self.survey = Survey(n, survey_time)

    @property
    def edges(self) -> np.ndarray | None:
        """Communication graph (E, 2); None before the first formation."""
        return self.formation.network.edges if self.formation.started else None

    def step(self, t_us: int, estimates: Estimates) -> SetPoints | None:
        """Returns set-points of the followers at t_us, or None while inactive."""
        if self.survey.due and estimates.ready.all() and not estimates.armed.any():
            self.survey.find(t_us, estimates.pos)
        out = self._step(t_us, self.survey.corrected(t_us, estimates))
        if out is not None:
            self.survey.restore(t_us, out)
        return out

    def _step(self, t_us: int, estimates: Estimates) -> SetPoints | None:
        if math.isnan(self._ground):
            self._ground = self.formation.ground = float(estimates.pos[:, 2].min())
        command = self.commands.pop()
        if command == RELEASE:
            self._release(t_us)
        elif command is not None:
            self._accepted[:] = False
            if not self._active or command != self.formation.name:
                self._begin(t_us, estimates.pos, command)
        if not self._active:
            self.pattern = None
            return None
        self.pattern = self.formation.pattern(t_us)
        out = self.formation.step(t_us, estimates.pos, estimates.vel)
        for values in (out.pos, out.vel, out.acc):
            values[0] = np.nan  # the leader is controlled by others
        out.mode.fill(KEEP)
        offboard = estimates.armed & (estimates.mode == Mode.OFFBOARD)
        self._accepted |= offboard
        # A vehicle that has left OFFBOARD since is flown by a pilot, or by a failsafe.
        waits = estimates.armed & ~offboard & ~self._accepted
        waits[0] = False
        if waits.any() and t_us - self._requested_us >= _RETRY_US:
            out.mode[waits] = Mode.OFFBOARD
            self._requested_us = t_us
        return out

    def _release(self, t_us: int) -> None:
        if self._active:
            network = self.formation.network
            self._on_event(t_us, "released", messages_sent=network.sent, messages_lost=network.lost)
        self._active = False

    def _begin(self, t_us: int, pos: np.ndarray, name: str) -> None:
        if not self._active:
            self._require_followers()
            self.formation.start(t_us, pos)
            if self._start is None:
                self._start = self.formation.transition.goal
        assert self._start is not None  # set by the first command
        slots = self._start if name == "waiting" else self.commands.slots(name)
        floor = min(self._ground + GROUND_CLEARANCE - float(pos[0, 2]), 0.0)
        transition = self.formation.command(t_us, name, slots, floor)
        self._active = True
        self._on_event(t_us, "formation", **event_values(name, transition))
