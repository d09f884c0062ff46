"""Frames and glTF files."""

import struct

import numpy as np
import pytest

import gltf_page
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_web import frame
from xtdrone_web.gltf import scene


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def parts_of(path):
    """JSON and binary part of a GLB file."""
    data = path.read_bytes()
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    return gltf_page.told(data)


def points_of(told, binary):
    """Corners (V, 3) of everything, in the frame of each node."""
    for mesh in told.get("meshes", ()):
        for primitive in mesh["primitives"]:
            accessor = told["accessors"][primitive["attributes"]["POSITION"]]
            view = told["bufferViews"][accessor["bufferView"]]
            yield np.frombuffer(binary, "<f4", 3 * accessor["count"], view["byteOffset"]).reshape(
                -1, 3
            )


def test_frame_comes_back_as_it_was():
    records = frame.blank(3)
    records["pos"][1] = 1, 2, 3
    records["mode"] = 7
    data = frame.pack(records, 1.5, 2.5, (1.0, 2.0, 3.0, 4.0))
    header, back = frame.unpack(data)
    assert header["t"] == 1.5 and header["n"] == 3 and header["latency"].tolist() == [1, 2, 3, 4]
    assert back.tobytes() == records.tobytes()
    assert len(data) == frame.HEADER.itemsize + 3 * frame.VEHICLE.itemsize
    assert frame.HEADER.itemsize % 4 == 0 and frame.VEHICLE.itemsize % 4 == 0


@pytest.mark.parametrize("name", ["iris", "typhoon_h480", "plane", "rover", "boat", "iris_stereo"])
def test_vehicle_has_bodies_and_rotors(name):
    vehicle = load_vehicle(name)
    told, binary = parts_of(scene.vehicle_file(vehicle))
    names = [node["name"] for node in told["nodes"]]
    assert "body_0" in names and "far" in names
    if name == "iris":
        assert {f"rotor_{k}" for k in range(4)} <= set(names)
        hub = told["nodes"][names.index("rotor_2")]["translation"]
        assert hub == pytest.approx(vehicle.rotors[2].pos)
    for points in points_of(told, binary):
        assert np.isfinite(points).all() and np.abs(points).max() < 5.0


@pytest.mark.parametrize("name", ["empty", "outdoor", "lake"])
def test_world_is_drawn_where_it_is(name):
    world = load_world(name)
    path = scene.world_file(world)
    told, binary = parts_of(path)
    found = np.concatenate(list(points_of(told, binary)))
    assert np.ptp(found, axis=0)[:2] == pytest.approx((1000.0, 1000.0))
    assert ("images" in told) == any(shape.look.script for shape in world.shapes)
    before = path.stat().st_mtime_ns
    assert scene.world_file(world) == path and path.stat().st_mtime_ns == before


def test_ground_without_texture_can_be_given_one():
    told, _ = parts_of(scene.world_file(load_world("empty")))
    assert [material.get("name") for material in told["materials"]] == ["ground"]
