"""Models of propellers against closed forms, published results and each other."""

import math

import numpy as np
import pytest

from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_dynamics.propellers import layout, wrench
from xtdrone_propellers import catalogue
from xtdrone_propellers.geometry import generic
from xtdrone_propellers.polar import AIR_VISCOSITY, angles, default_polar
from xtdrone_propellers.propeller import Propeller, from_geometry, surrogate

SPEED = 500.0  # [rad/s]

# A propeller of CCBlade's tests, without losses at tip and root: thrust [N] and torque [N m]
# at 2100 rpm and 1, 6, 11, ..., 36 m/s.
CCBLADE = (
    (1045.3612, 80.3639),
    (939.9602, 81.3447),
    (817.1548, 80.0124),
    (676.6440, 75.2779),
    (518.9521, 65.9592),
    (345.2479, 50.8892),
    (157.0552, 29.0020),
    (-44.0262, -0.6191),
)


def two_blades():
    """The propeller of CCBLADE: pitch 1 m, chord 0.1 m, radius 0.8 m, eleven stations."""
    far = 100.0  # where the tip counts to be
    radii = np.linspace(0.08, 0.8, 11)
    stations = [
        (r / far, 0.072 / far, 0.1 / far, math.atan(1.0 / (2.0 * math.pi * r))) for r in radii
    ]
    lift = 6.2 * angles()
    drag = 0.008 - 0.003 * lift + 0.01 * lift**2
    own = [len(stations), 361, 1e5, 0.0, AIR_VISCOSITY]
    own += [x for row in stations for x in row]
    own += [x for pair in zip(lift, drag, strict=True) for x in pair]
    return Propeller("two", "hbem", (layout.BLADE_ELEMENT, far, 2.0, *map(float, own)))


def test_blade_elements_agree_with_ccblade():
    found = two_blades().loads(2100.0 * math.pi / 30.0, np.arange(1.0, 40.0, 5.0))
    thrust, torque = np.array(CCBLADE).T
    assert np.abs(found.thrust - thrust).max() < 0.002 * thrust.max()
    assert np.abs(found.torque - torque).max() < 0.002 * torque.max()


@pytest.mark.parametrize("name", ["apcsf-10x4.7", "ma3b-10x5", "apce-9x6"])
@pytest.mark.parametrize("climb", [-0.03, 0.0, 0.1])
def test_first_model_keeps_the_balance_of_momentum(name, climb):
    made = catalogue.propeller(name, "gill_dandrea_1")
    tip = SPEED * made.radius
    found = made.loads(SPEED, climb * tip, 0.0, 1.0)
    coefficient = float(found.thrust) / (0.5 * math.pi * made.radius**2 * tip**2)
    # (27) in hover gives the inflow back, and 4 l_i (l_i + l_c) = C_T.
    lift, slope, _, _, _, _, cut, pitch, chord = made.numbers[layout.OWN :]
    sigma = made.blades * chord / (math.pi * made.radius)
    inflow = (
        lift * (1.0 + cut) / (2.0 * slope) + pitch - coefficient / (sigma * (1.0 - cut) * slope)
    )
    assert 4.0 * (inflow - climb) * inflow == pytest.approx(coefficient, rel=1e-9)


def test_second_model_is_its_polynomials():
    made = catalogue.propeller("apcsf-10x4.7", "gill_dandrea_2")
    own = made.numbers[layout.OWN :]
    tip, climb, mu = SPEED * made.radius, 0.05, 0.1
    found = made.loads(SPEED, climb * tip, mu * tip)
    scale = 0.5 * SEA_LEVEL_DENSITY * math.pi * made.radius**2 * tip**2
    assert float(found.thrust) == pytest.approx(
        scale * (own[0] + own[1] * climb + own[2] * mu**2 + own[3] * climb**2)
    )
    assert float(found.pitching) == pytest.approx(
        scale * made.radius * (own[12] * mu + own[13] * mu * climb)
    )


def test_both_published_models_agree_in_still_air():
    for name in ("apcsf-10x4.7", "ance-12x6", "ef4b-10x6", "ma3b-10x5", "apce-8x4"):
        first, second = (catalogue.propeller(name, f"gill_dandrea_{n}").constants() for n in (1, 2))
        assert first[0] == pytest.approx(second[0], rel=0.15), name


@pytest.mark.parametrize("model", ["gill_dandrea_1", "gill_dandrea_2", "hbem", "surrogate"])
def test_oblique_flow_acts_as_on_every_rotor(model):
    name = "apcsf-10x4.7" if model.startswith("gill") else "generic-10x4.7"
    numbers = np.array(catalogue.propeller(name, model).numbers)
    force = {
        direction: wrench.wrench(numbers, 0, SPEED, direction, 1.2, 0.0, 0.0, 1.0, 6.0, 0.0, 0.0)
        for direction in (1.0, -1.0)
    }
    for direction, (fx, fy, fz, mx, my, mz, thrust, torque) in force.items():
        assert fx < 0.0 and fz == pytest.approx(thrust) and torque > 0.0
        assert abs(fy) < 1e-12
        assert mz == pytest.approx(-direction * torque)
        assert mx * direction < 0.0  # the side that moves forwards lifts more
        assert my < 0.0  # the nose goes up
    assert force[1.0][2] == pytest.approx(force[-1.0][2])


@pytest.mark.parametrize("model", ["gill_dandrea_1", "gill_dandrea_2", "hbem", "surrogate"])
def test_all_flows_have_finite_loads(model):
    made = catalogue.propeller(
        "apcsf-10x4.7" if model.startswith("gill") else "generic-10x4.7", model
    )
    grid = np.meshgrid([0.0, 1e-3, 10.0, 900.0], [-40.0, -1.0, 0.0, 1.0, 40.0], [0.0, 1e-9, 30.0])
    found = made.loads(*grid)
    assert np.isfinite(found).all()
    assert np.abs(found.thrust).max() < 100.0


def test_a_wing_of_air_is_not_better_than_momentum_theory():
    for size in ((5.0, 3.0), (10.0, 4.7), (15.0, 5.0)):
        made = from_geometry(generic(*size), default_polar())
        found = made.loads(60.0 / made.radius)
        ideal = float(found.thrust) ** 1.5 / math.sqrt(
            2.0 * SEA_LEVEL_DENSITY * math.pi * made.radius**2
        )
        merit = ideal / (float(found.torque) * 60.0 / made.radius)
        assert 0.4 < merit < 0.8


def test_a_surrogate_is_within_two_percent():
    whole = from_geometry(generic(10.0, 4.7), default_polar())
    table = surrogate(whole)
    draw = np.random.default_rng(1)
    tip, ratio, angle = (
        draw.uniform(low, high, 200)
        for low, high in ((30.0, 150.0), (0.0, 0.25), (0.0, 0.5 * math.pi))
    )
    flow = tip / whole.radius, tip * ratio * np.cos(angle), tip * ratio * np.sin(angle)
    true, found, still = whole.loads(*flow), table.loads(*flow), whole.loads(flow[0])
    assert np.abs((found.thrust - true.thrust) / still.thrust).max() < 0.02
    assert np.abs((found.torque - true.torque) / still.torque).max() < 0.02


def test_speed_for_gives_the_thrust():
    made = catalogue.propeller("generic-10x4.7", "hbem")
    assert float(made.loads(made.speed_for(4.0)).thrust) == pytest.approx(4.0, rel=1e-4)
