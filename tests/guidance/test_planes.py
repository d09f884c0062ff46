"""Vector fields for planes: set-points, refusals, and a flight in gusts."""

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_guidance.agents import GuidanceAgent
from xtdrone_guidance.paths import SplinePath
from xtdrone_guidance.planes import Steering, is_plane

TURN = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)


def circle(radius):
    """Points of a circle that begins at its zero (24, 3) [m]."""
    return np.column_stack((radius * np.sin(TURN), radius * (1.0 - np.cos(TURN)), 0.0 * TURN))


@pytest.fixture
def steering():
    return Steering(SplinePath(circle(100.0), True), 30.0)


def written(tmp_path, points):
    """A CSV file of points."""
    path = tmp_path / "path.csv"
    path.write_text("\n".join(",".join(map(str, point)) for point in points))
    return str(path)


def test_planes_are_those_that_fly_on_wings_alone():
    names = ("plane", "iris", "standard_vtol", "tailsitter", "rover")
    fleet = FleetModel.of([xd.load_vehicle(name) for name in names])
    assert is_plane(fleet).tolist() == [True, False, False, False, False]


def test_on_its_path_a_plane_turns_with_it(steering):
    steered = steering.at(np.zeros(3), np.array([15.0, 0.0, 0.0]), None)
    assert steered.vel == pytest.approx((15.0, 0.0, 0.0), abs=0.1)
    assert steered.acc == pytest.approx((0.0, 2.25, 0.0), abs=0.1)
    assert steered.pos == pytest.approx(np.zeros(3), abs=1e-6) and steered.joined


@pytest.mark.parametrize("side", [-20.0, 20.0])
def test_beside_and_below_its_path_it_turns_towards_it_and_climbs(steering, side):
    steered = steering.at(np.array([0.0, side, -2.0]), np.array([15.0, 0.0, 0.0]), None)
    assert (steered.acc[1] - 2.25) * side < 0.0
    assert steered.pos[2] > 0.0 and not steered.joined


@pytest.mark.parametrize(
    ("height", "radius", "words"),
    [
        (3.0, 100.0, "the path is 3.0 m above the start, a plane needs 20 m: give a height of 20"),
        (40.0, 10.0, "the path has a bend of .* m, a plane flies 45 m or more: give a wider path"),
    ],
)
def test_what_a_plane_cannot_fly_is_refused(tmp_path, height, radius, words):
    agent = GuidanceAgent(1, path=written(tmp_path, circle(radius)), closed=True, height=height)
    scenario = xd.Scenario(vehicles="plane", log="none")
    with pytest.raises(XtdroneError, match=words), xd.Simulation(scenario, agent=agent):
        pass


def test_planes_and_others_together_are_refused(tmp_path):
    agent = GuidanceAgent(2, path=written(tmp_path, circle(100.0)), closed=True, height=40.0)
    scenario = xd.Scenario(vehicles="plane,iris", log="none")
    with pytest.raises(XtdroneError, match="fly these apart"), xd.Simulation(scenario, agent=agent):
        pass


@pytest.mark.slow
def test_a_plane_follows_a_circle_in_gusts_and_lands(tmp_path):
    events = []
    agent = GuidanceAgent(
        1,
        path=written(tmp_path, circle(100.0)),
        closed=True,
        laps=1,
        height=40.0,
        on_event=lambda t_us, name, **values: events.append((name, values)),
    )
    scenario = xd.Scenario(
        vehicles="plane", gps="rtk", seed=1, log="none", wind="mean=0,4,0 dryden=5"
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        simulation.run_until(lambda: agent.done, "landed", 300.0)
    assert [name for name, _ in events] == "armed airborne path path_over land landed".split()
    assert dict(events)["path_over"]["rms_m"] < 1.2
