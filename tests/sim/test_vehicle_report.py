"""What a vehicle's figures and its drawing say, for vehicles of which that is known."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from xtdrone_core import plot_style
from xtdrone_dynamics.battery import open_circuit_voltage
from xtdrone_sim.vehicles.report import draw_layout, vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle


@pytest.mark.parametrize(
    "name, forces",
    [
        ("iris", ((0.0, 0.0), (0.0, 0.0), (0.0, 28.2656))),  # all that its rotors give, upwards
        ("standard_vtol", ((0.0, 104.72), (0.0, 0.0), (0.0, 180.0))),  # its pusher; its four rotors
    ],
)
def test_the_largest_forces_are_those_of_the_rotors_that_point_there(name, forces):
    found = vehicle_figures(load_vehicle(name))["largest_force_n"]
    np.testing.assert_allclose(found, forces, rtol=0.005, atol=1e-6)


def test_tilting_arms_push_as_far_to_either_side_while_they_carry_the_weight():
    figures = vehicle_figures(load_vehicle("hexarotor_arms_tilt"))
    (back, front), (right, left), _ = figures["largest_force_n"]
    assert front == pytest.approx(-back) and left == pytest.approx(-right)
    assert min(front, left) > figures["mass_kg"] * 9.80665


def test_a_pack_without_resistance_gives_all_its_energy_to_the_hover():
    """At a constant power, until it is empty: rotors this fast would turn at 1 V."""
    model = load_vehicle("typhoon_h480")
    pack = dataclasses.replace(model.battery, internal_resistance=0.0, rated_voltage=1.0)
    figures = vehicle_figures(dataclasses.replace(model, battery=pack))
    charges = (np.arange(10_000) + 0.5) / 10_000
    voltage = pack.cells * np.mean([open_circuit_voltage(charge) for charge in charges])
    power = figures["hover_shaft_power_w"] / pack.efficiency + pack.avionics_power
    assert figures["hover_voltage_v"] == pytest.approx(pack.cells * open_circuit_voltage(1.0))
    assert figures["hover_current_a"] == pytest.approx(power / figures["hover_voltage_v"])
    minutes = 60.0 * pack.capacity * voltage / power
    assert figures["hover_time_min"] == pytest.approx(minutes, abs=2.0 / 60.0)


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """A function that draws a vehicle: its axes from above, and those of its forces."""
    figures = []
    monkeypatch.setattr(plot_style, "save", lambda figure, path: figures.append(figure))

    def draw(name):
        draw_layout(load_vehicle(name), tmp_path / f"{name}.png")
        return figures[-1].axes[:2]

    return draw


def ends(line):
    """Both ends (2, 2) of a drawn line."""
    return np.asarray(line.get_xydata())


def test_rotors_are_circles_about_their_hubs_nose_up(drawn):
    axes, _ = drawn("iris")
    found = {tuple(np.round(circle.center, 3)): circle for circle in axes.patches}
    places = {(0.245, 0.152), (-0.188, -0.152), (-0.245, 0.152), (0.188, -0.152)}
    assert set(found) == places
    nearest = min(math.dist(a, b) for a, b in itertools.combinations(places, 2))
    for circle in found.values():
        assert circle.radius == pytest.approx(0.4 * nearest, rel=0.01)
        assert not circle.get_fill()
    assert found[0.245, 0.152].get_edgecolor() == found[-0.188, -0.152].get_edgecolor()
    assert found[0.245, 0.152].get_edgecolor() != found[-0.245, 0.152].get_edgecolor()


def test_a_tilt_is_a_dotted_line_along_its_axis_over_the_rotor(drawn):
    """Both rotors of a bicopter tilt about the lateral axis; 0.4 m apart they have 0.16 m each."""
    axes, _ = drawn("bicopter")
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    found = sorted(sorted(ends(line).tolist()) for line in dotted)
    wanted = [[[x - 0.16, 0.0], [x + 0.16, 0.0]] for x in (-0.2, 0.2)]
    np.testing.assert_allclose(found, wanted, atol=0.001)


def test_wings_are_lines_as_long_as_the_roots_of_their_areas_and_a_fin_is_a_point(drawn):
    axes, _ = drawn("plane")
    lines = [ends(line) for line in axes.lines if line.get_linewidth() == 3]
    assert len(lines) == 6
    for line, area, (x, y) in zip(
        lines,
        (0.6, 0.6, 0.6, 0.6, 0.01, 0.0),
        ((-0.45, -0.051), (0.45, -0.051), (-0.15, -0.051), (0.15, -0.051), *[(0.0, -0.501)] * 2),
        strict=True,
    ):
        np.testing.assert_allclose(line.mean(axis=0), (x, y), atol=0.001)
        assert abs(np.diff(line, axis=0)[0]) == pytest.approx((math.sqrt(area), 0.0))


def test_the_forces_to_the_front_and_to_the_left_are_those_of_the_figures(drawn):
    """A pusher pushes to the front alone."""
    _, axes = drawn("standard_vtol")
    reach = {
        line.get_label(): (ends(line).min(axis=0), ends(line).max(axis=0)) for line in axes.lines
    }
    assert reach["to the front"][1][0] == pytest.approx(104.72, rel=0.01)
    assert reach["to the front"][0][0] == pytest.approx(0.0, abs=1e-6)
    for end in reach["to the left"]:
        assert end[0] == pytest.approx(0.0, abs=1e-6)
    assert reach["to the left"][1][1] == pytest.approx(180.0, rel=0.005)
    assert reach["weight"][1][1] == pytest.approx(49.67, abs=0.01)
