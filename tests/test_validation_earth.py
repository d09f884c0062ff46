"""The magnetic field against published values; the model of 2025 is in test_dynamics_earth.py."""

import math

import numpy as np
import pytest

from xtdrone_dynamics.magnetic_field import earth_field

# WMM2020's published test values: year, height [km], latitude, longitude [deg], X, Y, Z [nT].
WMM2020 = [
    (2020.0, 0, 80, 0, 6570.4, -146.3, 54606.0), (2020.0, 0, 0, 120, 39624.3, 109.9, -10932.5),
    (2020.0, 0, -80, 240, 5940.6, 15772.1, -52480.8),
    (2020.0, 100, 80, 0, 6261.8, -185.5, 52429.1), (2020.0, 100, 0, 120, 37636.7, 104.9, -10474.8),
    (2020.0, 100, -80, 240, 5744.9, 14799.5, -49969.4),
    (2022.5, 0, 80, 0, 6529.9, 1.1, 54713.4), (2022.5, 0, 0, 120, 39684.7, -42.2, -10809.5),
    (2022.5, 0, -80, 240, 6016.5, 15776.7, -52251.6),
    (2022.5, 100, 80, 0, 6224.0, -44.5, 52527.0), (2022.5, 100, 0, 120, 37694.0, -35.3, -10362.0),
    (2022.5, 100, -80, 240, 5815.0, 14803.0, -49755.3)]


@pytest.mark.parametrize("year, height, lat, lon, x, y, z", WMM2020)
def test_world_magnetic_model_of_2020(year, height, lat, lon, x, y, z):
    field = earth_field(math.radians(lat), math.radians(lon), 1000.0 * height, year)
    np.testing.assert_allclose(field * 1e9, (y, x, -z), atol=0.1)
