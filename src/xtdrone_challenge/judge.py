"""Judges one flight in a process of its own: python -m xtdrone_challenge.judge REQUEST ANSWER."""

import contextlib
import hashlib
import inspect
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from xtdrone_core import XtdroneError, registry
from xtdrone_core.contracts import Attachable
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import arguments_of

from .blind import BlindFlight
from .challenge import Challenge, Referee
from .declarations import CHALLENGES
from .errors import ChallengeError

DONE, REFUSED, FAILED, CRASHED = "done", "refused", "failed", "crashed"
_SLICE_US = 1_000_000  # simulated time between two looks at the referee [us]


@dataclass(frozen=True)
class Judged:
    """The result of one flight."""

    seed: int
    points: float
    status: str  # DONE, or why it ended early
    reason: str = ""
    seconds: float = 0.0  # simulated
    collisions: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    truth: str = ""  # SHA-256 of the log of the true states


def judge(name: str, team: str, seed: int, folder: Path) -> Judged:
    """Flies a team's Agent once and judges it.

    Args:
        name: Of the challenge.
        team: An Agent's name, module:Class or FILE.py:Class.
        seed: Of the flight.
        folder: Run folder for its logs; it must be empty.
    """
    from xtdrone_sim.simulation import Simulation  # slow to import

    challenge: Challenge = CHALLENGES.load(name)()
    referee = challenge.referee(seed)
    folder.mkdir(parents=True, exist_ok=True)
    run_folder.prepare(folder)
    scenario = challenge.scenario(seed, folder)
    scenario.save(folder / "scenario.yaml")
    status, reason = DONE, ""
    with contextlib.closing(Simulation(scenario, folder, links=False)) as simulation:
        simulation.observers.append(referee)
        try:
            simulation.agent = entered(challenge, name, team, seed, scenario.n)
            _fly(simulation, challenge, referee)
        except ChallengeError as error:
            status, reason = REFUSED, str(error)
        except XtdroneError as error:
            status, reason = FAILED, str(error)
        except Exception as error:  # whatever a team's Agent raises
            status, reason = FAILED, f"{type(error).__name__}: {error}"
        if simulation.crashes and status == DONE:
            status, reason = CRASHED, str(simulation.crashes[0])
        collisions, seconds = len(simulation.collisions), simulation.t_us * 1e-6
    points = referee.points(collisions) if status == DONE else 0.0
    truth = hashlib.sha256((folder / run_folder.TRUTH).read_bytes()).hexdigest()
    figures = {key: round(float(value), 4) for key, value in referee.figures().items()}
    line = " ".join(reason.split())
    return Judged(seed, round(points, 3), status, line, seconds, collisions, figures, truth)


def entered(challenge: Challenge, name: str, team: str, seed: int, n: int) -> Any:  # an Agent
    """Makes a team's Agent, with what it is told; it sees no truth.

    Raises:
        XtdroneError: There is no such Agent, or it refuses what it is told.
    """
    kind = team_class(team)
    told = {"n": n, **challenge.told(seed)}
    if team == challenge.baseline:
        told |= challenge.options
    taken = {"n", *inspect.signature(kind.__init__).parameters, *arguments_of(kind, {})}
    agent = kind(**{key: value for key, value in told.items() if key in taken})
    if isinstance(agent, Attachable):
        attach: Any = agent.attach  # takes the part of a Flight that the rules allow
        agent.attach = lambda flight: attach(BlindFlight(flight))  # type: ignore[method-assign]
    return agent


def team_class(team: str) -> Any:  # a class of Agents
    """Loads a team's class.

    Raises:
        XtdroneError: There is none.
    """
    path, _, kind = team.rpartition(":")
    if path.endswith(".py"):
        return registry.load_from_file("team", Path(path), kind)
    return registry.AGENTS.load(team)


def _fly(simulation: Any, challenge: Challenge, referee: Referee) -> None:  # a Simulation
    """Flies until the Agent is done, nothing more can be won, or the time is over."""
    while (
        not simulation.agent.done
        and not referee.over
        and not simulation.crashes
        and simulation.t_us < challenge.longest_s * 1e6
    ):
        simulation.run(simulation.t_us + _SLICE_US)


def main() -> int:
    """Judges what the file of the first argument asks for; the answer goes into the second."""
    request, answer = map(Path, sys.argv[1:3])
    asked = json.loads(request.read_text())
    judged = judge(asked["challenge"], asked["team"], asked["seed"], Path(asked["folder"]))
    answer.write_text(json.dumps(asdict(judged)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
