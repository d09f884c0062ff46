"""Rovers and the boat drive the same course in both engines, under the embedded flight stack."""

import numpy as np
import pytest

from stack_flights import MissionFlight
from xtdrone_autopilot.navigation import plan_file
from xtdrone_core import resources

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
    ),
]
COURSE = plan_file.load(resources.root() / "docs/missions/course.plan").items


@pytest.mark.long
@pytest.mark.parametrize(
    "vehicle, world, within",
    [
        ("rover", "empty", 0.25),
        pytest.param("r1_rover", "empty", 0.01, marks=pytest.mark.long),
        pytest.param("boat", "lake", 0.02, marks=pytest.mark.long),
    ],
)
def test_a_course_is_driven_as_in_the_embedded_engine(vehicle, world, within):
    """20 s in 3 m/s of wind: in 30 s 0.11 m, 0.001 m and 0.004 m were found."""
    ways = []
    for engine in "embedded", "gazebo":
        f, rows = MissionFlight(vehicle, world=world, engine=engine, wind="mean=0,3,0"), []
        try:
            f.autopilot.missions.load_items(0, COURSE)
            f.run(8)
            f.start()
            f.run(20, lambda: rows.append(f.pos), rate=5)
        finally:
            f.simulation.close()
        ways.append(np.array(rows))
    assert np.linalg.norm(ways[0][-1] - ways[0][0]) > 10.0
    assert np.linalg.norm(ways[0] - ways[1], axis=1).max() < within
