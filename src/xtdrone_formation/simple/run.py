"""A formation flight in the simple simulator, with a run folder like that of the full simulator."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.truth_log import TruthWriter
from xtdrone_core.scenario.vehicles import grid

from ..agents import FormationAgent
from ..declarations import DEFAULT_FORMATIONS, Radio, Shape
from ..evaluation import report
from ..schemes import scheme
from .simulator import PERIOD_US, PointMass, SimpleSimulator, fly

_RECORDS = 250  # vehicles up to which each step is recorded; for larger fleets every tenth


def run(
    n: int = 9,
    names: Sequence[str] = DEFAULT_FORMATIONS,
    scheme_name: str = "centralised",
    radio: Radio = Radio(),
    seed: int = 1,
    noise: float = 0.0,
    name: str = "simple",
    shape: Shape = Shape(),
    speed: float = 3.0,
    topology: str = "",
    clock: Callable[[], float] | None = None,
    progress: Callable[[int, str, dict[str, Any]], None] | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Flies a list of formations from take-off to landing, then writes report and plots.

    Args:
        n: Number of vehicles, the leader included.
        names: Formations in order.
        scheme_name: See schemes.scheme().
        radio: Properties of the links between vehicles.
        seed: Seed of the position errors.
        noise: Standard deviation of each vehicle's position error, per axis [m].
        name: Name of the run folder.
        shape: Size and rotation of the formations.
        speed: Largest speed of a transition [m/s].
        topology: Communication graph, see schemes.scheme().
        clock: Function that returns wall time in seconds, for the real-time factor; None: no
            factor, so that the summary is reproducible.
        progress: Called as progress(t_us, event, values).

    Returns:
        The run folder and its summary.

    Raises:
        FormationError: An invalid formation, scheme or value.
    """
    log: list[run_folder.EventLog] = []  # from its folder on

    def on_event(t_us: int, event: str, **values: object) -> None:
        log[0].add(t_us, event, **values)
        if progress:
            progress(t_us, event, values)

    agent = FormationAgent(
        n,
        names,
        scheme(scheme_name, radio, topology=topology),
        transition_speed=speed,
        on_event=on_event,
        **asdict(shape),
    )
    simulator = SimpleSimulator(grid(n), PointMass(), noise, seed)
    folder = run_folder.create(name)
    gaps = LogGaps(folder)
    log.append(run_folder.EventLog(folder, gaps))
    writer = TruthWriter(folder / run_folder.TRUTH, n, gaps)
    every = PERIOD_US * (1 if n <= _RECORDS else 10)

    def record(sim: SimpleSimulator) -> None:
        if sim.t_us % every == 0:
            writer.write(sim.state())

    began = clock() if clock else 0.0
    until = 240.0 + 240.0 * len(names)
    done = fly(simulator, agent, until, record)
    wall = clock() - began if clock else 0.0
    if simulator.t_us % every:
        writer.write(simulator.state())  # the final state
    writer.close()
    summary: dict[str, Any] = {
        "n": n,
        "engine": "simple",
        "autopilot": "simple",
        "transport": "none",
        "seed": seed,
        "scheme": scheme_name,
        "noise_m": noise,
        "radio": {
            "delay_s": radio.delay,
            "loss": radio.loss,
            "range_m": None if radio.range == float("inf") else radio.range,
        },
        "sim_time_s": simulator.t_us * 1e-6,
        "done": done,
        "messages_sent": agent.formation.network.sent,
        "messages_lost": agent.formation.network.lost,
        "log_gaps": gaps.table(),
    }
    if clock:
        summary["real_time_factor"] = round(simulator.t_us * 1e-6 / wall, 2)
    run_folder.update_summary(folder, **summary)
    return folder, {**summary, **report.report(folder)}
