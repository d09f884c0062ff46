"""Models inserted into a running Gazebo, and vehicles moved and pushed there."""

import numpy as np
import pytest

from boxes import FREE, STATIC, state, step
from xtdrone_core import Scenario, resources
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_sim.errors import WorldError
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.pose import Pose

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="Gazebo 11 is not set up: scripts/setup_gazebo.sh",
    ),
]


@pytest.fixture(scope="module")
def gazebo():
    scenario = Scenario(vehicles=parse_vehicles("iris@0,0,0; iris@5,0,0,1.0"), engine="gazebo")
    made = Simulation(scenario, links=False)
    yield made
    made.close()


@pytest.fixture
def simulation(gazebo):
    """Everything at its start, and no model."""
    while gazebo.entities.inserted:
        gazebo.remove(gazebo.entities.inserted[0].name)
    gazebo.reset()
    return gazebo


def test_inserted_models_fall_stand_on_each_other_and_go(simulation):
    simulation.insert(STATIC, "wall", Pose((2.5, 2.0, 0.25)))
    simulation.insert(FREE, "box", Pose((2.5, 2.1, 1.5)))
    assert state(simulation, "box")[:3] == pytest.approx([2.5, 2.1, 1.5])
    step(simulation, 1.5)
    assert state(simulation, "box")[:3] == pytest.approx([2.5, 2.1, 0.75], abs=0.01)
    assert ("box", "wall") in simulation.engine.contacts().by_name()
    simulation.entities.place(
        simulation.entities.model("wall"), np.array([9.0, 9.0, 0.25, 0, 0, 0, 1] + [0] * 6), ""
    )
    step(simulation, 1.0)
    assert state(simulation, "wall")[:3] == pytest.approx([9.0, 9.0, 0.25])
    assert state(simulation, "box")[2] == pytest.approx(0.25, abs=0.01)
    simulation.remove("wall")
    assert list(simulation.entities.models)[-1] == "box"
    with pytest.raises(WorldError, match="there is a model 'box' already"):
        simulation.insert(FREE, "box")


def test_a_vehicle_is_moved_with_its_velocity(simulation):
    wanted = np.array([1.0, -2.0, 8.0, *from_euler(0.1, 0.2, 0.3), 3.0, 0.0, 1.0, 0.0, 0.0, 2.0])
    simulation.entities.place(simulation.entities.model("iris_0"), wanted, "iris_1::base_link")
    moved = state(simulation, "iris_0", "iris_1::base_link")
    assert moved[:7] == pytest.approx(wanted[:7])
    assert moved[10:] == pytest.approx(wanted[10:])
    first = simulation.state.pos[0].copy(), simulation.state.vel[0].copy()
    assert np.linalg.norm(first[1]) == pytest.approx(np.sqrt(10.0))
    step(simulation, 0.1)
    fallen = first[0] + 0.1 * first[1] - [0.0, 0.0, 0.5 * 9.8 * 0.1**2]
    assert simulation.state.pos[0] == pytest.approx(fallen, abs=0.01)
    assert simulation.state.pos[1] == pytest.approx([5.0, 0.0, 0.1], abs=0.01)


def test_a_push_accelerates_for_its_time(simulation):
    simulation.insert(FREE, "box", Pose((3.0, 3.0, 20.0)))
    begin = simulation.t_us + 100_000
    simulation.entities.push(
        simulation.entities.link("box::link"),
        [4.0, 0.0, 0.0],
        [0.0, 0.0, 0.016],
        begin,
        begin + 196_000,
    )
    step(simulation, 0.1)
    assert state(simulation, "box")[7] == pytest.approx(0.0, abs=1e-9)
    step(simulation, 0.4)
    assert state(simulation, "box")[7] == pytest.approx(4.0 / 2.0 * 0.2, rel=0.01)
    assert state(simulation, "box")[12] == pytest.approx(0.016 / 0.08 * 0.2, rel=0.01)
    simulation.reset()
    assert state(simulation, "box") == pytest.approx([3, 3, 20, 0, 0, 0, 1] + [0] * 6)
