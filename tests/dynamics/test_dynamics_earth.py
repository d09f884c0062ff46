"""Atmosphere, geodesy and magnetic field against tables and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from physics import ISA, WMM, hover
from xtdrone_core import resources
from xtdrone_dynamics import DynamicsError
from xtdrone_dynamics.constants import EARTH_RADIUS
from xtdrone_dynamics.earth import atmosphere, geodesy
from xtdrone_dynamics.earth.geoid import geoid_height
from xtdrone_dynamics.earth.magnetic_field import earth_field


@pytest.mark.parametrize("height, temperature, pressure, density", ISA)
def test_standard_atmosphere(height, temperature, pressure, density):
    assert atmosphere.temperature(float(height)) == pytest.approx(temperature, abs=1e-9)
    assert atmosphere.pressure(float(height)) == pytest.approx(pressure, rel=3e-6)
    assert atmosphere.density(float(height)) == pytest.approx(density, rel=5e-6)
    assert atmosphere.height_of_pressure(pressure) == pytest.approx(height, abs=0.05)


LATITUDES = st.one_of(st.floats(-90, 90), st.sampled_from([90.0, -90.0, 89.99999, -89.99999]))
LONGITUDES = st.one_of(st.floats(-180, 180), st.sampled_from([180.0, -180.0, 179.99999]))


@given(LATITUDES, LONGITUDES, st.floats(0, 2e6), st.floats(0, 2 * math.pi))
@example(0.0, 179.99999999999997, 0.0, 0.0)  # rounds past the date line
def test_projection_comes_back_and_keeps_the_distance(lat0, lon0, distance, bearing):
    lat0, lon0 = math.radians(lat0), math.radians(lon0)
    east, north = distance * math.sin(bearing), distance * math.cos(bearing)
    lat, lon = geodesy.to_geodetic(east, north, lat0, lon0)
    assert -math.pi / 2 <= lat <= math.pi / 2 and -math.pi <= lon <= math.pi
    np.testing.assert_allclose(geodesy.to_local(lat, lon, lat0, lon0), (east, north), atol=1e-6)
    dot = unit(lat, lon) @ unit(lat0, lon0)
    angle = math.atan2(np.linalg.norm(np.cross(unit(lat, lon), unit(lat0, lon0))), dot)
    assert angle * EARTH_RADIUS == pytest.approx(distance, abs=1e-6)


def unit(lat, lon):
    return np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])


def test_directions_of_the_projection():
    lat0, lon0 = math.radians(47.397742), math.radians(8.545594)
    lat, lon = geodesy.to_geodetic(0.0, 1000.0, lat0, lon0)
    assert (lat - lat0) * EARTH_RADIUS == pytest.approx(1000.0) and lon == pytest.approx(lon0)
    lat, lon = geodesy.to_geodetic(1000.0, 0.0, lat0, lon0)
    assert (lon - lon0) * EARTH_RADIUS * math.cos(lat0) == pytest.approx(1000.0, rel=1e-6)


def test_projection_is_the_textbooks_far_from_the_origin():
    """Snyder, Map Projections (USGS 1395), equations (22-4), (22-5), (25-2) and (5-3)."""
    lat, lon, lat0, lon0 = map(math.radians, (10.0, 0.0, 40.0, -100.0))
    cosine = math.sin(lat0) * math.sin(lat) + math.cos(lat0) * math.cos(lat) * math.cos(lon - lon0)
    k = math.acos(cosine) / math.sin(math.acos(cosine))
    x = k * math.cos(lat) * math.sin(lon - lon0)
    y = k * (math.cos(lat0) * math.sin(lat) - math.sin(lat0) * math.cos(lat) * math.cos(lon - lon0))
    np.testing.assert_allclose(
        np.array(geodesy.to_local(lat, lon, lat0, lon0)) / EARTH_RADIUS, (x, y), rtol=1e-12
    )


@pytest.mark.parametrize(
    "lat0, lon0",
    [
        (47.397742, 8.545594),
        (0.0, 0.0),
        (-33.9, 179.9995),
        (51.5, -179.999),
        (89.9999, 30.0),
        (-90.0, 0.0),
    ],
)
def test_projection_is_pyprojs_on_the_same_sphere(lat0, lon0):
    pyproj = pytest.importorskip("pyproj")
    projection = pyproj.Proj(f"+proj=aeqd +lat_0={lat0} +lon_0={lon0} +R=6371000")
    rng = np.random.default_rng(5)
    pos = np.zeros((200, 3))
    pos[:, :2] = rng.normal(size=(200, 2)) * np.geomspace(0.1, 1e6, 200)[:, None]
    places = geodesy.to_geodetic_array(pos, math.radians(lat0), math.radians(lon0), 0.0)
    east, north = projection(*np.degrees(places[:, 1::-1].T))
    np.testing.assert_allclose(east, pos[:, 0], atol=1e-6)
    np.testing.assert_allclose(north, pos[:, 1], atol=1e-6)


def test_arrays_go_through_the_date_line():
    origin = math.radians(-17.0), math.radians(179.999), 12.0
    pos = np.array([[500.0, 10.0, 3.0], [-500.0, 0.0, 0.0]])
    places = geodesy.to_geodetic_array(pos, *origin)
    assert places[0, 1] < 0.0 < places[1, 1]
    np.testing.assert_allclose(places[:, 2], [15.0, 12.0])
    np.testing.assert_allclose(geodesy.to_local_array(places, *origin), pos, atol=1e-6)


@pytest.mark.parametrize("year, height, lat, lon, x, y, z", WMM)
def test_world_magnetic_model(year, height, lat, lon, x, y, z):
    field = earth_field(math.radians(lat), math.radians(lon), 1000.0 * height, year)
    np.testing.assert_allclose(field * 1e9, (y, x, -z), atol=0.051)


@pytest.mark.parametrize("lat, year, text", [(2.0, 2026.0, "latitude"), (0.5, 1990.0, "year")])
def test_no_field_for_nowhere(lat, year, text):
    with pytest.raises(DynamicsError, match=text):
        earth_field(lat, 0.0, 0.0, year)


@pytest.mark.slow
@pytest.mark.parametrize("lat, lon", [(-17.0, 179.99999), (-90.0, 0.0)])
def test_a_vehicle_hovers_over_the_date_line_and_over_the_south_pole(tmp_path, lat, lon):
    """Over the north pole the field has no horizontal part to speak of: no heading, no arming."""
    world = tmp_path / "place.world"
    world.write_text(
        resources.world_sdf("empty")
        .read_text()
        .replace("<latitude_deg>47.397742", f"<latitude_deg>{lat}")
        .replace("<longitude_deg>8.545594", f"<longitude_deg>{lon}")
    )
    simulation, rows = hover("iris", 13.0, world=str(world))
    assert math.degrees(simulation.world.latitude) == pytest.approx(lat)
    held = rows[rows.t > 11.0]
    assert abs(held.height - 5.0).max() < 0.6 and held.away.max() < 0.6


@pytest.mark.parametrize(
    "lat, lon, height",
    [
        (16.7758333, -3.0094444, 28.7068),  # Timbuktu, from the manual of GeographicLib's GeoidEval
        (47.397742, 8.545594, 47.234),  # PX4's default origin, as MAVROS has it
        (38.6281550, 269.7791550, -31.628),
        (-14.6212170, 305.0211140, -2.969),  # NGA's OUTINTPT.DAT
        (46.8743190, 102.4487290, -43.575),
        (-23.6174460, 133.8747120, 15.871),
        (38.6254730, 359.9995000, 50.066),
        (-0.4667440, 0.0023000, 17.329),
        (90.0, 123.0, 13.6),
        (-90.0, 0.0, -29.53),
    ],
)
def test_geoid(lat, lon, height):
    assert geoid_height(math.radians(lat), math.radians(lon)) == pytest.approx(height, abs=0.06)


@given(LATITUDES, LONGITUDES)
def test_geoid_is_smooth_everywhere(lat, lon):
    here = geoid_height(math.radians(lat), math.radians(lon))
    assert -107.5 < here < 86.0
    for dlat, dlon in ((1e-6, 0.0), (-1e-6, 0.0), (0.0, 1e-6), (0.0, 360.0)):
        beside = geoid_height(math.radians(lat + dlat), math.radians(lon + dlon))
        assert beside == pytest.approx(here, abs=1e-3)


def test_geoid_of_no_place():
    assert math.isnan(geoid_height(math.nan, 0.0))
