"""Multirotors that land on rovers and boats that drive."""

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_control.deck_landing import DeckLandingAgent
from xtdrone_core import command
from xtdrone_core.errors import XtdroneError

CASES = {  # vehicles, world, wind, approach, most distance from the carrier's centre at the end [m]
    "rover": ("rover; iris@-4,3", "empty", "0,0,0", "velocity", 0.4),
    "rover in wind": ("rover; iris@-4,3", "empty", "4,3,0", "velocity", 0.4),
    "rover by futures": ("rover; iris@-4,3", "empty", "4,3,0", "mppi", 0.6),
    "boats": ("boat; boat@0,12; iris@0,0,1.31; iris@0,12,1.31", "lake", "0,0,0", "velocity", 0.4),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "vehicles, world, wind, approach, near",
    [  # the first is the easiest
        pytest.param(*case, id=name, marks=[pytest.mark.long] if name == "rover" else [])
        for name, case in CASES.items()
    ],
)
def test_it_lands_on_the_deck_and_is_carried_on(vehicles, world, wind, approach, near):
    events = []
    scenario = xd.Scenario(vehicles=vehicles, world=world, wind=wind)
    agent = DeckLandingAgent(
        scenario.n,
        speed=1.0,
        carry=4.0,
        approach=approach,
        on_event=lambda t_us, name, **values: events.append((t_us, name)),
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        simulation.run()
        pos, crashes = simulation.state.pos.copy(), simulation.crashes
        collisions, armed = simulation.collisions, simulation.estimates.armed
    count = scenario.n // 2
    assert agent.goals_reached() == {"deck landings": (count, count)}
    assert not crashes and not collisions and not armed.any()
    when = dict(reversed([(name, t_us) for t_us, name in events]))
    assert when["stop"] - when["on_deck"] >= 4e6
    carriers, flyers = ((0, 1), (2, 3)) if count == 2 else ((0,), (1,))
    for i, j in zip(flyers, carriers):
        assert pos[j, 0] > 5.0  # it drove, and its load with it
        assert np.hypot(*(pos[i, :2] - pos[j, :2])) < near
        assert pos[i, 2] - pos[j, 2] > 1.0


@pytest.mark.slow
@pytest.mark.long  # one lands on each kind of deck above
def test_there_are_as_many_multirotors_as_carriers(capsys):
    assert command.main(["fly", "deck_landing", "--vehicles", "rover; iris@4,0; iris@4,4"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "2 multirotors and 1 rovers or boats of 3 vehicles: give as many of each" in error


def test_it_says_so_where_the_time_is_up():
    scenario = xd.Scenario(vehicles="rover; iris@-4,3")
    agent = DeckLandingAgent(2, time_out=10.0)
    with (
        xd.Simulation(scenario, agent=agent) as simulation,
        pytest.raises(XtdroneError, match="not every vehicle is on its deck: give more"),
    ):
        simulation.run()


class Dropped(xd.Agent):
    """Nothing is commanded."""

    MEMORY = ()

    def step(self, t_us, estimates):
        out = xd.SetPoints.empty(2)
        out.clear()
        return out


@pytest.mark.parametrize("height, kinds", [(1.85, set()), (2.6, {"ground", "vehicle"})])
def test_a_fall_onto_a_deck_is_a_crash_of_both_where_it_is_hard(height, kinds):
    """The roof of the rover is at 1.75 m: the fall ends at 1.4 m/s, or at 4.1 m/s."""
    with xd.Simulation(
        xd.Scenario(vehicles=f"rover; iris@0,0,{height}"), agent=Dropped()
    ) as simulation:
        simulation.run(1.0)
        crashes = simulation.crashes
    assert {crash.kind for crash in crashes} == kinds
    assert {crash.vehicle for crash in crashes} == ({"rover_0", "iris_1"} if kinds else set())
