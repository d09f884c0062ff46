"""Drag, ground effect, inflow, downwash, gusts and turbulence against their definitions."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from xtdrone_dynamics.earth import wind
from xtdrone_dynamics.forces import aerodynamics


def test_linear_drag_is_pegasus_2():
    assert aerodynamics.linear_drag(0.5, 0.3, 0.1, 2.0, -1.0, 3.0) == pytest.approx(
        (-1.0, 0.3, -0.3)
    )


def test_quadratic_drag_opposes_and_grows_with_the_square():
    force = np.array(aerodynamics.quadratic_drag(0.02, 0.02, 0.02, 1.2, 3.0, 0.0, -4.0))
    np.testing.assert_allclose(force, -0.5 * 1.2 * 0.02 * 5.0 * np.array((3.0, 0.0, -4.0)))
    np.testing.assert_allclose(
        aerodynamics.quadratic_drag(0.02, 0.02, 0.02, 1.2, 6.0, 0.0, -8.0), 4.0 * force
    )


@pytest.mark.parametrize(
    "height, ratio",
    [
        (0.25, 1.0 / (1.0 - 1 / 16)),
        (1.0, 256.0 / 255.0),
        (0.0, 4.0 / 3.0),
        (-1.0, 4.0 / 3.0),
        (1e3, 1.0),
    ],
)
def test_ground_effect_is_cheeseman_and_bennetts(height, ratio):
    assert aerodynamics.ground_effect(0.25, height) == pytest.approx(ratio, abs=1e-7)


def test_inflow_lifts_forwards_and_damps_upwards():
    assert aerodynamics.inflow_thrust(0.01, 1e-4, 500.0, 25.0, 0.0) == pytest.approx(0.25)
    assert aerodynamics.inflow_thrust(0.01, 1e-4, 500.0, 0.0, 2.0) == pytest.approx(-0.1)


def test_downwash_begins_as_momentum_theorys_wake_and_fades():
    thrust, area, radius, rho = 15.0, 0.2, 0.3, 1.225
    wake = 2.0 * math.sqrt(thrust / (2.0 * rho * area))

    def speed(below, aside):
        return aerodynamics.downwash(thrust, area, radius, rho, below, aside)

    assert speed(0.5, 0.0) == pytest.approx(wake)
    assert speed(7.2, 0.0) == pytest.approx(0.5 * wake)
    assert speed(-0.1, 0.0) == 0.0 and speed(0.5, 3.0) < 1e-6 * wake


def test_a_gust_swells_and_dies():
    assert [wind.gust(t, 2.0, 4.0) for t in (1.0, 2.0, 3.0, 4.0, 6.0, 9.0)] == pytest.approx(
        [0.0, 0.0, 0.5, 1.0, 0.0, 0.0]
    )


def test_turbulence_scales_of_the_specification():
    """At 1000 ft lengths and intensities are equal in all directions: MIL-F-8785C, figure 10."""
    flat, upright, sigma, sigma_up = wind.dryden_scales(1000 * 0.3048, 10.0)
    assert flat == pytest.approx(1000 * 0.3048) == upright
    assert sigma == pytest.approx(1.0) == sigma_up
    flat, upright, sigma, sigma_up = wind.dryden_scales(20 * 0.3048, 10.0)
    assert upright == pytest.approx(20 * 0.3048) and sigma_up == pytest.approx(1.0)
    assert sigma == pytest.approx(1.0 / (0.177 + 0.000823 * 20) ** 0.4)
    assert wind.dryden_scales(0.0, 10.0) == wind.dryden_scales(3.048, 10.0)


@pytest.mark.parametrize("ratio", [1e-3, 0.02, 0.5, 3.0])
def test_a_step_of_turbulence_is_that_of_its_lags_and_of_white_noise(ratio):
    """Transition and, by Cholesky, covariance of the noise over a step, as of Van Loan (1978)."""
    lags = np.array([[-1.0, 0.0], [1.0, -1.0]])
    both = expm(ratio * np.block([[-lags, np.diag([1.0, 0.0])], [np.zeros((2, 2)), lags.T]]))
    transition = both[2:, 2:].T
    noise = np.linalg.cholesky(transition @ both[:2, 2:])
    steps = [wind.dryden_across(*state, ratio, 0.0, 0.0)[:2] for state in np.eye(2)]
    np.testing.assert_allclose(np.transpose(steps), transition, rtol=1e-9, atol=1e-12)
    steps = [wind.dryden_across(0.0, 0.0, ratio, *each)[:2] for each in np.eye(2)]
    np.testing.assert_allclose(np.transpose(steps), noise, rtol=1e-4, atol=1e-12)
    # Along the flight, the first of them with an output of variance 1.
    assert wind.dryden_along(1.0, ratio, 0.0) == pytest.approx(transition[0, 0])
    assert wind.dryden_along(0.0, ratio, 1.0) == pytest.approx(math.sqrt(2.0) * noise[0, 0])


@pytest.mark.parametrize("ratio", [0.02, 0.5])
def test_longitudinal_turbulence_has_its_correlation(ratio):
    """Autocorrelation exp(-r / L), whatever the step."""
    rng = np.random.default_rng(1)
    lag = round(1.0 / ratio)
    state, series = 0.0, np.empty(200_000)
    noise = rng.standard_normal(len(series))
    for i in range(len(series)):
        state = series[i] = wind.dryden_along(state, ratio, noise[i])
    assert series.std() == pytest.approx(1.0, abs=0.05)
    assert (series[lag:] * series[:-lag]).mean() == pytest.approx(math.exp(-1.0), abs=0.06)


@pytest.mark.parametrize("ratio", [0.02, 0.5])
def test_transverse_turbulence_has_its_correlation(ratio):
    """Autocorrelation exp(-r / L) (1 - r / 2 L), that of MIL-F-8785C's filter."""
    rng = np.random.default_rng(2)
    lag = round(1.0 / ratio)
    first = second = 0.0
    series = np.empty(200_000)
    noise = rng.standard_normal((len(series), 2))
    for i in range(len(series)):
        first, second, series[i] = wind.dryden_across(first, second, ratio, *noise[i])
    assert series.std() == pytest.approx(1.0, abs=0.05)
    expected = 0.5 * math.exp(-1.0)
    assert (series[lag:] * series[:-lag]).mean() == pytest.approx(expected, abs=0.06)
