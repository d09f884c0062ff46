"""Runs an Agent over topics: the same class that `xtdrone fly` runs in process."""

import argparse
from collections.abc import Callable, Iterator

from xtdrone_core import registry
from xtdrone_core.contracts import GroundVehicleAware, HealthAware
from xtdrone_mavros.vehicle_kind import GROUND

from .fleet import EventLog, Health, RosFleet, run_agent
from .ros import Ros


def run(ros: Ros, args: argparse.Namespace, log: EventLog) -> tuple[int, bool]:
    """Flies until the Agent is done, or the node ends.

    Args:
        ros: The node.
        args: Those of options.add_agent(), and `wait`: time-out for the fleet to appear [s, wall].
        log: Gets the events.

    Returns:
        The exit status, and whether the Agent is done.

    Raises:
        XtdroneError: There is no fleet, or no such Agent.
    """
    fleet = RosFleet(ros, ros.fleet(args.wait))
    agent = registry.AGENTS.load(args.agent)(fleet.n, on_event=log)
    tell = [*_kinds_for(agent, fleet), *_health_for(agent, log)]

    def before_step(t_us: int) -> None:
        for each in tell:
            each(t_us)

    return run_agent(fleet, agent, before_step), agent.done


def _health_for(agent: object, log: EventLog) -> Iterator[Callable[[int], None]]:
    """Yields a function that asks, for an Agent, how far the missions are."""
    if isinstance(agent, HealthAware):
        agent.health = health = Health(log)
        yield health.update


def _kinds_for(agent: object, fleet: RosFleet) -> Iterator[Callable[[int], None]]:
    """Yields a function that tells an Agent, before its first step, which vehicles drive."""
    if not isinstance(agent, GroundVehicleAware):
        return
    unknown = set(range(fleet.n))

    def ask(t_us: int) -> None:
        for i in sorted(unknown):
            kind = fleet.ros.kind(fleet.names[i])
            if kind is not None:
                agent.drives[i] = kind in GROUND
                unknown.remove(i)

    yield ask
