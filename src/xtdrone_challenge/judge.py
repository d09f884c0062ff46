"""Judges one flight in a process of its own: python -m xtdrone_challenge.judge REQUEST ANSWER."""

import contextlib
import dataclasses
import hashlib
import inspect
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from xtdrone_core import XtdroneError, registry
from xtdrone_core.contracts import Attachable
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.ports import INSTANCES, Ports, require_free
from xtdrone_core.scenario.arguments import arguments_of

from .blind import BlindFlight
from .challenge import Challenge, Referee
from .declarations import CHALLENGES
from .doors import door_of
from .entry import ProgramEntry
from .errors import RefusedError
from .programs import program_of

DONE, REFUSED, FAILED, CRASHED = "done", "refused", "failed", "crashed"
_SLICE_US = 1_000_000  # simulated time between two looks at the referee [us]
_START_S = 15.0  # simulated time that programs have in addition, to start [s]


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
    """Flies a team once and judges it.

    Args:
        name: Of the challenge.
        team: An Agent's name, module:Class or FILE.py:Class; of a program, DOOR:COMMAND.
        seed: Of the flight.
        folder: Run folder for its logs; it must be empty.
    """
    from xtdrone_sim.simulation import Simulation  # slow to import

    challenge: Challenge = CHALLENGES.load(name)()
    referee = challenge.referee(seed)
    folder.mkdir(parents=True, exist_ok=True)
    run_folder.prepare(folder)
    scenario = challenge.scenario(seed, folder)
    program, control, door = program_of(team), None, None
    if program is not None:
        door = door_of(program.door)
        scenario = door.scenario(dataclasses.replace(scenario, instance=_free_instance()))
        control = ControlServer(scenario.ports.control) if door.control else None
    scenario.save(folder / "scenario.yaml")
    status, reason, pace = DONE, "", {}
    with contextlib.closing(
        Simulation(scenario, folder, control=control, links=program is not None)
    ) as simulation:
        simulation.observers.append(referee)
        try:
            if program is not None and door is not None:
                told = {"challenge": name, "seed": seed, "told": challenge.told(seed)}
                with contextlib.closing(ProgramEntry(program, door, simulation, told)) as entry:
                    _fly(simulation, challenge.longest_s + _START_S, referee, entry.goes_on)
                pace = {"real_time": simulation.real_time_factor()}
            else:
                simulation.agent = agent = entered(challenge, name, team, seed, scenario.n)
                _fly(simulation, challenge.longest_s, referee, lambda: not agent.done)
        except RefusedError as error:
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
    figures = {key: round(float(value), 4) for key, value in (referee.figures() | pace).items()}
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


def check_team(team: str) -> None:
    """Refuses a team that is not there, or cannot fly on this machine.

    Raises:
        XtdroneError: Such a team.
    """
    program = program_of(team)
    if program is None:
        team_class(team)
    else:
        door_of(program.door).check()


def team_class(team: str) -> Any:  # a class of Agents
    """Loads a team's class.

    Raises:
        XtdroneError: There is none.
    """
    return registry.AGENTS.load(team)


def _free_instance() -> int:
    """The environment's instance, or another one if its ports are taken.

    Raises:
        ControlError: There is none.
    """
    own = Ports()
    for instance in (own.instance, *range(INSTANCES)):
        if Ports(instance).free():
            return instance
    require_free(own)
    return own.instance


def _fly(
    simulation: Any,  # a Simulation
    longest_s: float,
    referee: Referee,
    goes_on: Callable[[], bool],
) -> None:
    """Flies until the team is done, nothing more can be won, or the time is over."""
    while (
        goes_on()
        and not referee.over
        and not simulation.crashes
        and simulation.t_us < longest_s * 1e6
    ):
        simulation.run(simulation.t_us + _SLICE_US)


def main() -> int:
    """Judges what the file of the first argument asks for; the answer goes into the second."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what a program has started ends as well
    request, answer = map(Path, sys.argv[1:3])
    asked = json.loads(request.read_text())
    judged = judge(asked["challenge"], asked["team"], asked["seed"], Path(asked["folder"]))
    answer.write_text(json.dumps(asdict(judged)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
