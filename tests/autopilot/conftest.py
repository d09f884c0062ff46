"""Fixtures of the flight stack's tests."""

import pytest

from stack_flights import MissionFlight


@pytest.fixture
def flight():
    made = []

    def make(**scenario):
        made.append(MissionFlight(**scenario))
        return made[-1].ready()

    yield make
    for one in made:
        one.simulation.close()
