"""The rotor monitor: no alarm on landing in wind and on a slope, an alarm for each lost rotor."""

import math

import numpy as np
import pytest

from xtdrone_core import Scenario
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.resources import world_sdf
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

LANDINGS = 6  # at each wind speed
FLIGHT_S, LOST_S = 44.0, 18.0  # a landing's flight; when rotors begin to fail
SLOPE = """<model name="slope"><static>true</static><pose>0 0 -1.8 0.12 0.12 0</pose>
<link name="link"><collision name="collision"><geometry><box><size>80 80 2</size></box></geometry>
</collision></link></model>"""


class UpAndDown(FlightAgent):
    """Take-off to 3 m, 2 s there, landing."""

    def begin(self, t_us, estimates):
        """Starts the clock."""
        self._until_us = t_us + 2_000_000

    def fly(self, t_us, estimates, out):
        """Holds the place."""
        out.pos[:] = self.home + [0.0, 0.0, self.height]
        return t_us >= self._until_us


class Weave(FlightAgent):
    """Take-off, then sideways to and fro without end, up to 3.6 m/s."""

    def fly(self, t_us, estimates, out):
        """A set-point on a sine."""
        out.pos[:] = self.home + [6.0 * math.sin(0.6e-6 * t_us), 0.0, self.height]
        return False


@pytest.fixture
def fly(tmp_path, monkeypatch):
    """Flies an Agent; gives the simulation and {vehicle: (time [s], rotor)} of the alarms."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))

    def flight(agent, height, seconds, vehicles, **values):
        scenario = Scenario(
            vehicles=parse_vehicles(vehicles), speed=0.0, name="rotors", log="none", **values
        )
        alarms = {}
        simulation = Simulation(scenario, run_folder.create("rotors"), links=False)
        simulation.agent = agent(scenario.n, height)
        try:
            while simulation.t_us < seconds * 1e6:
                simulation.run(until_us=simulation.t_us + 20_000)
                failed = simulation.autopilot.failsafes.failed_rotor
                for i in np.flatnonzero(failed >= 0):
                    alarms.setdefault(int(i), (simulation.t_us * 1e-6, int(failed[i])))
        finally:
            simulation.close()
        return simulation, alarms

    return flight


@pytest.mark.slow
@pytest.mark.parametrize("ground", [pytest.param("level", marks=pytest.mark.long), "slope"])
@pytest.mark.parametrize(
    "wind", [pytest.param(wind, marks=pytest.mark.long if wind % 8 else ()) for wind in range(9)]
)
def test_no_rotor_is_called_failed_on_landing(fly, tmp_path, wind, ground):
    world = "empty"
    if ground == "slope":
        world = tmp_path / "slope.world"
        text = world_sdf("empty").read_text()
        world.write_text(
            text.replace(
                '<model name="ground_plane">',
                SLOPE + '<model name="ground_plane"><pose>0 0 -60 0 0 0</pose>',
            )
        )
    simulation, alarms = fly(
        UpAndDown,
        3.0,
        FLIGHT_S,
        f"iris*{LANDINGS}",
        world=str(world),
        wind=f"mean={wind},0,0 dryden=5",
        seed=wind + 1,
    )
    assert alarms == {}
    assert simulation.autopilot.status["landed"].all()
    x, y = simulation.state.quat[:, :2].T
    tilt = np.degrees(np.arccos(1 - 2 * (x * x + y * y)))
    assert tilt == pytest.approx(9.7 if ground == "slope" else 0.0, abs=0.3)


@pytest.mark.long
def test_each_lost_rotor_is_found_within_a_second(fly):
    """Of each kind of vehicle there are as many as it has rotors, and each loses another."""
    kinds = {"iris": 4, "typhoon_h480": 6, "octorotor": 8, "heavy_lifter": 4, "crazyflie": 4}
    rotors = [(kind, rotor) for kind, count in kinds.items() for rotor in range(count)]
    when = [LOST_S + 0.4 * rotor for _, rotor in rotors]
    _, alarms = fly(
        Weave,
        8.0,
        max(when) + 1.4,
        ", ".join(f"{kind}*{count}" for kind, count in kinds.items()),
        wind="mean=6,0,0 dryden=5",
        disturbances="; ".join(
            f"{t:.2f}: rotor {kind}_{i} {rotor} 0"
            for i, ((kind, rotor), t) in enumerate(zip(rotors, when))
        ),
    )
    found = [(rotors[i][0], rotor) for i, (_, rotor) in sorted(alarms.items())]
    assert found == rotors
    late = [alarms[i][0] - t for i, t in enumerate(when)]
    assert 0.0 < min(late) and max(late) < 1.0
