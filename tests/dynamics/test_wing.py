"""Lift, drag and moment of a wing against the definitions, written with vectors."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core.fleet_model import wing_dtype
from xtdrone_dynamics.forces import wing

_WING = {
    "forward": (1.0, 0.0, 0.0),
    "upward": (0.0, 0.0, 1.0),
    "radial_symmetry": False,
    "area": 0.6,
    "air_density": 1.2041,
    "alpha0": 0.06,
    "alpha_stall": 0.34,
    "cla": 4.75,
    "cda": 0.64,
    "cma": -0.2,
    "cla_stall": -3.85,
    "cda_stall": -0.92,
    "cma_stall": 0.1,
    "cd_alpha0": 0.02,
    "cm_alpha0": 0.01,
    "cl_delta": -0.5,
    "cd_delta": 0.2,
    "cm_delta": -0.3,
}


def made(**changes):
    """Parameters of a wing, and the record that the kernels take."""
    values = {**_WING, **changes}
    record = np.zeros(1, wing_dtype())
    for name, value in values.items():
        record[name] = value
    return SimpleNamespace(**values, record=record[0])


def expected(w, deflection, ratio, vel):
    """By projections and angles, as the plugin defines them."""
    vel, forward = np.array(vel, dtype=float), np.array(w.forward)
    upward = np.array(w.upward)
    if w.radial_symmetry:
        upward = np.cross(forward, np.cross(forward, vel))
        upward /= np.linalg.norm(upward)
    span = np.cross(forward, upward)
    plane = vel - (vel @ span) * span
    speed = np.linalg.norm(plane)
    lift, drag = np.cross(span, plane) / speed, -plane / speed
    alpha = w.alpha0 + math.copysign(math.acos(np.clip(lift @ upward, -1, 1)), lift @ forward)
    alpha = (alpha + math.pi) % math.tau - math.pi
    side, over = math.copysign(1.0, alpha), max(0.0, abs(alpha) - w.alpha_stall)
    inside = alpha - side * over
    cl = w.cla * inside + side * w.cla_stall * over
    cd = w.cd_alpha0 + w.cda * abs(inside) + w.cda_stall * over
    if over:
        plate = 1.4 * math.sin(alpha) * math.cos(alpha)
        cl = max(cl, plate) if alpha > 0 else min(cl, plate)
        cd = min(cd, w.cd_alpha0 + 2.0 * math.sin(alpha) ** 2)
    cl += w.cl_delta * deflection
    cd = abs(cd) + abs(w.cd_delta * deflection)
    cm = w.cm_alpha0 + w.cma * inside + side * w.cma_stall * over + w.cm_delta * deflection
    q = 0.5 * w.air_density * ratio * speed**2 * w.area
    return [*(q * (cl * lift + cd * drag)), *(q * cm * span)]


@pytest.mark.parametrize(
    "axes",
    [
        {},
        {"radial_symmetry": True},
        {"forward": (0.0, 0.0, 1.0), "upward": (1.0, 0.0, 0.0)},  # of a tail-sitter
        {"forward": (1.0, 0.0, 0.0), "upward": (0.0, 1.0, 0.0)},  # a fin
    ],
    ids=["wing", "fuselage", "tail-sitter", "fin"],
)
def test_forces_follow_the_definitions_at_every_angle(axes):
    w, rng = made(**axes), np.random.default_rng(3)
    for vel in rng.normal(0.0, 12.0, (500, 3)):
        deflection, ratio = rng.uniform(-0.5, 0.5), rng.uniform(0.7, 1.0)
        np.testing.assert_allclose(
            wing.forces(w.record, deflection, ratio, *vel),
            expected(w, deflection, ratio, vel),
            rtol=1e-9,
            atol=1e-9,
        )


def test_known_figures():
    """15 m/s, 0.1 rad nose up: lift, drag and moment coefficients by hand."""
    w, alpha, q = made(alpha0=0.0), 0.1, 0.5 * 1.2041 * 15.0**2 * 0.6
    fx, fy, fz, mx, my, mz = wing.forces(
        w.record, 0.0, 1.0, 15.0 * math.cos(alpha), 0.0, -15.0 * math.sin(alpha)
    )
    cl, cd, cm = 0.475, 0.084, -0.01
    assert fx == pytest.approx(q * (cl * math.sin(alpha) - cd * math.cos(alpha)))
    assert fz == pytest.approx(q * (cl * math.cos(alpha) + cd * math.sin(alpha)))
    assert my == pytest.approx(-q * cm)  # a negative coefficient turns the nose down, +y
    assert fy == mx == mz == 0.0


def test_lift_breaks_down_beyond_the_stall_and_stays_that_of_a_plate():
    w = made(alpha0=0.0)
    alphas = np.linspace(0.0, 0.5 * math.pi, 200)
    lift = np.array([wing.lift_coefficient(w.record, alpha) for alpha in alphas])
    assert alphas[lift.argmax()] == pytest.approx(w.alpha_stall, abs=0.01)
    late = alphas > 0.8
    np.testing.assert_allclose(lift[late], 1.4 * np.sin(alphas[late]) * np.cos(alphas[late]))
    odd = [wing.lift_coefficient(w.record, -alpha) for alpha in alphas]
    np.testing.assert_allclose(odd, -lift)


@pytest.mark.parametrize("w", [made(), made(radial_symmetry=True)], ids=["wing", "fuselage"])
def test_still_air_and_air_along_the_axis_give_finite_forces(w):
    assert wing.forces(w.record, 0.3, 1.0, 0.0, 0.0, 0.0) == (0.0,) * 6
    assert wing.forces(w.record, 0.3, 1.0, 1e-3, 0.0, 0.0) == (0.0,) * 6
    for vel in ((20.0, 0.0, 0.0), (-20.0, 0.0, 0.0), (0.0, 20.0, 0.0)):
        assert np.isfinite(wing.forces(w.record, 0.3, 1.0, *vel)).all()
