"""SDF of the new Gazebo: rounded shapes, models of Fuel, joints called as their links."""

import math
from pathlib import Path

import numpy as np
import pytest

import jointed
from xtdrone_core.errors import XtdroneError
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.mesh import convex_pieces
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world


def shape(tmp_path, geometry):
    """The only shape of a model with a geometry."""
    path = tmp_path / "model.sdf"
    path.write_text(
        '<sdf version="1.9"><world name="w"><model name="m"><link name="l"><collision name="c">'
        f"<geometry>{geometry}</geometry></collision></link></model></world></sdf>"
    )
    return load_world(path).shapes[0]


@pytest.mark.parametrize(
    "geometry, size, volume",
    [
        ("<ellipsoid><radii>1 2 3</radii></ellipsoid>", (2, 4, 6), 8 * math.pi),
        (
            "<capsule><radius>0.5</radius><length>2</length></capsule>",
            (1, 1, 3),
            math.pi * (0.25 * 2 + 4 / 3 * 0.125),
        ),
        ("<cone><radius>1</radius><length>3</length></cone>", (2, 2, 3), math.pi),
    ],
)
def test_rounded_shapes_are_closed_convex_meshes(tmp_path, geometry, size, volume):
    (mesh,) = shape(tmp_path, geometry).mesh.parts()
    assert np.ptp(mesh.points, axis=0) == pytest.approx(size, rel=0.02)
    assert np.abs(mesh.points.max(axis=0) + mesh.points.min(axis=0)).max() < 1e-9
    corners = mesh.points[mesh.faces]
    inside = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert inside == pytest.approx(volume, rel=0.05)  # positive: all sides face outwards
    sides = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(sides, axis=0, return_counts=True)[1] == 2).all()
    assert len(convex_pieces(mesh)) == 1


@pytest.mark.parametrize(
    "geometry, said",
    [
        ("<ellipsoid><radii>1 0 3</radii></ellipsoid>", "<radii> of 'm::l::c' are"),
        ("<capsule><radius>-1</radius><length>2</length></capsule>", "<radius> .* is -1"),
        ("<cone><length>2</length></cone>", "has no <radius>"),
    ],
)
def test_shapes_of_no_size_are_refused(tmp_path, geometry, said):
    with pytest.raises(SdfError, match=said):
        shape(tmp_path, geometry)


def world_with(tmp_path, uri):
    path = tmp_path / "w.sdf"
    path.write_text(
        f'<sdf version="1.9"><world name="w"><include><uri>{uri}</uri></include></world></sdf>'
    )
    return path


def a_model(folder):
    folder.mkdir(parents=True)
    (folder / "model.sdf").write_text(
        f'<sdf version="1.9"><model name="tree">{jointed.link("base")}</model></sdf>'
    )


FUEL = "https://fuel.gazebosim.org/1.0/OpenRobotics/models/Oak tree"


@pytest.mark.parametrize("uri", [FUEL, f"{FUEL}/3", f"{FUEL}/tip", FUEL.replace(" ", "%20")])
@pytest.mark.parametrize("place", [".gz/fuel", ".ignition/fuel"])
def test_models_of_fuel_are_found_in_its_cache(tmp_path, monkeypatch, uri, place):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    a_model(tmp_path / place / "fuel.gazebosim.org/openrobotics/models/oak tree/3")
    (model,) = load_world(world_with(tmp_path, uri)).models
    assert model.name == "tree"


def test_models_of_fuel_are_found_among_other_models_by_their_name(tmp_path, monkeypatch):
    path = world_with(tmp_path, FUEL)
    with pytest.raises(XtdroneError, match="is on the network, .* 'gz fuel .*'Oak tree"):
        load_world(path)
    a_model(tmp_path / "mine" / "Oak tree")
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "mine"))
    assert [model.name for model in load_world(path).models] == ["tree"]


def test_a_model_that_stands_for_one_of_fuel_is_not_that(tmp_path):
    (tmp_path / "oak_tree").mkdir()
    path = tmp_path / "oak_tree" / "model.sdf"
    path.write_text(f'<sdf version="1.9"><include><uri>{FUEL}</uri></include></sdf>')
    with pytest.raises(SdfError, match="is on the network"):
        load_vehicle(path)


def test_the_ground_of_fuel_is_that_of_gazebo_11(tmp_path):
    path = world_with(tmp_path, FUEL.replace("Oak tree", "Ground Plane"))
    assert [model.name for model in load_world(path).models] == ["ground_plane"]


def test_a_vehicle_may_be_an_include_alone(tmp_path):
    a_model(tmp_path / "models" / "tree")
    path = tmp_path / "models" / "a.sdf"
    path.write_text(
        '<sdf version="1.9"><include><name>b</name><uri>model://tree</uri></include></sdf>'
    )
    assert load_vehicle(path).bodies[0].mass > 0.0
    path.write_text('<sdf version="1.9"><include/></sdf>')
    with pytest.raises(SdfError, match="<include> has no <uri>"):
        load_vehicle(path)
    path.write_text('<sdf version="1.9"><include><uri>a.sdf</uri></include></sdf>')
    with pytest.raises(SdfError, match="a.sdf' has no <model>"):
        load_vehicle(path)


def test_models_may_be_asked_for_in_the_plural(tmp_path):
    a_model(tmp_path / "models" / "tree")
    path = world_with(tmp_path / "models", "models://tree")
    assert [model.name for model in load_world(path).models] == ["tree"]


def test_a_joint_may_have_the_name_of_its_link(tmp_path):
    body = (
        jointed.link("base")
        + jointed.link("wheel")
        + '<joint name="wheel" type="fixed"><parent>base</parent><child>wheel</child></joint>'
    )
    (tmp_path / "a.sdf").write_text(f'<sdf version="1.9"><model name="a">{body}</model></sdf>')
    vehicle = load_vehicle(tmp_path / "a.sdf")
    assert any("joint 'wheel' has the name of another element" in each for each in vehicle.remarks)
