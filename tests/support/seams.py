"""Every implementation of a contract, for mypy: each is used as what it claims to be."""

from xtdrone_autopilot.autopilot import EmbeddedAutopilot
from xtdrone_control.agents import HoverAgent, MissionAgent, SquareAgent
from xtdrone_core.contracts import (
    Agent,
    Autopilot,
    Engine,
    ExternalPose,
    Observer,
    RangeCaster,
    Renderer,
    Stateful,
    Viewer,
)
from xtdrone_flight_controllers.px4.autopilot import Px4Autopilot
from xtdrone_formation.agents import FormationAgent
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.observers.crashes import CrashMonitor
from xtdrone_sim.observers.recording import TruthRecorder
from xtdrone_slam.agents.trajectory import TrajectoryAgent


def engines(embedded: EmbeddedEngine, gazebo: GazeboEngine) -> tuple[Engine, ...]:
    """Both engines."""
    return embedded, gazebo


def abilities(
    embedded: EmbeddedEngine, gazebo: GazeboEngine
) -> tuple[Viewer, Viewer, Renderer, RangeCaster]:
    """What an engine can do beside."""
    return embedded, gazebo, gazebo, gazebo


def autopilots(embedded: EmbeddedAutopilot, px4: Px4Autopilot) -> tuple[Autopilot, ...]:
    """Both autopilots."""
    return embedded, px4


def poses(embedded: EmbeddedAutopilot, px4: Px4Autopilot) -> tuple[ExternalPose, ...]:
    """Both take a pose from outside."""
    return embedded, px4


def agents(
    square: SquareAgent,
    mission: MissionAgent,
    hover: HoverAgent,
    formation: FormationAgent,
    trajectory: TrajectoryAgent,
) -> tuple[Agent, ...]:
    """Agents."""
    return square, mission, hover, formation, trajectory


def observers(truth: TruthRecorder, crashes: CrashMonitor) -> tuple[Observer, ...]:
    """Observers of each flight."""
    return truth, crashes


def stateful(
    engine: EmbeddedEngine, autopilot: EmbeddedAutopilot, agent: SquareAgent
) -> tuple[Stateful, ...]:
    """What is reset, saved and loaded."""
    return engine, autopilot, agent
