"""Flies a mission of QGroundControl, a .plan file, and prints each waypoint as it is reached.

python examples/mission_from_plan.py [FILE.plan]
"""

import sys
from pathlib import Path

import xtdrone as xd
from xtdrone_control.agents import MissionAgent

plan = (
    sys.argv[1]
    if len(sys.argv) > 1
    else str(Path(__file__).resolve().parents[1] / "docs" / "missions" / "square.plan")
)


def tell(t_us, event, **values):
    """Prints the events of the flight: armed, mission_over, landed."""
    print(f"{t_us * 1e-6:6.2f} s  {event} {values or ''}")


scenario = xd.Scenario(vehicles="iris", mission=plan)
with xd.Simulation(scenario, agent=MissionAgent(1, on_event=tell)) as sim:
    while not sim.done:
        sim.run(5.0)
        x, y, z = sim.state.pos[0]
        print(f"{sim.time:6.2f} s  at {x:.1f} m east, {y:.1f} m north, {z:.1f} m up")
