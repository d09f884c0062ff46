"""Curves of sticks against points that PX4 and Betaflight have."""

import pytest
from hypothesis import given, strategies as st

from xtdrone_dynamics.stick_curves import betaflight_rate, exponential, super_exponential

STICK, SHARE = st.floats(-1.0, 1.0), st.floats(0.0, 0.95)


@pytest.mark.parametrize(
    "stick, expo, super_expo, share",
    [
        (0.5, 0.0, 0.0, 0.5),
        (1.0, 0.69, 0.7, 1.0),
        (-1.0, 0.69, 0.7, -1.0),
        (2.0, 0.1, 0.1, 1.0),
        # PX4's former defaults: e = 0.69, g = 0.7; (1 - e) x + e x^3, times (1 - g) / (1 - |x| g).
        (0.5, 0.69, 0.7, 0.24125 * 0.3 / 0.65),
    ],
)
def test_points_of_px4(stick, expo, super_expo, share):
    assert super_exponential(stick, expo, super_expo) == pytest.approx(share)


@pytest.mark.parametrize(
    "stick, rc_rate, super_rate, expo, rate",
    [
        (1.0, 1.0, 0.7, 0.0, 200.0 / 0.3),  # Betaflight's defaults: 667 deg/s
        (1.0, 1.0, 0.0, 0.0, 200.0),
        (0.5, 1.0, 0.7, 0.0, 100.0 / 0.65),
        (0.5, 1.0, 0.7, 0.5, 200.0 * (0.5**4 * 0.5 + 0.25) / 0.65),
        (1.0, 1.0, 1.0, 0.0, 20_000.0),
        (1.0, 2.5, 0.0, 0.0, 200.0 * (2.5 + 14.54 * 0.5)),
        (-0.3, 1.2, 0.4, 0.0, -72.0 / 0.88),
        (-2.0, 1.0, 0.0, 0.0, -200.0),
    ],
)
def test_points_of_betaflight(stick, rc_rate, super_rate, expo, rate):
    assert betaflight_rate(stick, rc_rate, super_rate, expo) == pytest.approx(rate)


@given(STICK, SHARE, SHARE)
def test_curves_are_odd_and_stay_inside(stick, expo, super_expo):
    share = super_exponential(stick, expo, super_expo)
    assert share == -super_exponential(-stick, expo, super_expo)
    assert abs(share) <= abs(stick) + 1e-12
    assert exponential(stick, expo) * stick >= 0.0
    assert betaflight_rate(stick, 1.0, super_expo, expo) == -betaflight_rate(
        -stick, 1.0, super_expo, expo
    )
