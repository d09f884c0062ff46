"""Worlds with other light and texture, and a live flight's order of things."""

from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core import resources
from xtdrone_sim.world import load_world
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark.channel import Channel
from xtdrone_slam.benchmark.live import LiveRun
from xtdrone_slam.flight import worlds


def materials(path):
    return [shape.look.script for shape in load_world(str(path)).shapes if not shape.collides]


def test_light_is_a_factor(tmp_path):
    plain = load_world("indoor")
    dim = load_world(str(worlds.vary("indoor", 0.5, 1.0, tmp_path / "dim.world")))
    assert np.allclose(dim.ambient, 0.5 * np.array(plain.ambient))
    assert np.allclose(
        [light.diffuse for light in dim.lights],
        0.5 * np.array([light.diffuse for light in plain.lights]),
    )
    assert [shape.look for shape in dim.shapes] == [shape.look for shape in plain.shapes]
    assert worlds.vary("indoor", 1, 1, tmp_path / "none") == resources.world_sdf("indoor")


@pytest.mark.parametrize("world", ["indoor", "outdoor"])
def test_texture_is_a_share_and_shares_are_nested(tmp_path, world):
    kept = {}
    for share in (0.0, 0.3, 0.7, 1.0):
        path = worlds.vary(world, 0.999, share, tmp_path / f"{share}.world")
        kept[share] = {i for i, name in enumerate(materials(path)) if name}
    whole = len(kept[1.0])
    assert whole > 20 and not kept[0.0]
    assert kept[0.3] < kept[0.7] < kept[1.0]
    assert len(kept[0.7]) / whole == pytest.approx(0.7, abs=0.15)


def test_worlds_that_cannot_be(tmp_path):
    for light, texture in ((-1, 1), (float("nan"), 1), (1, 1.1), (1, -0.1)):
        with pytest.raises(SlamError):
            worlds.vary("indoor", light, texture, tmp_path / "x.world")


class Sink:
    """Stands for writer and session, and notes what it gets."""

    def __init__(self):
        self.calls, self.frames, self.missing, self.not_arrived = [], 0, 0, 0
        self.closed = False

    def __getattr__(self, name):
        return lambda *values, **_: self.calls.append((name, values[0]))

    def close(self):
        self.closed = True

    def got(self, *names):
        return [call for call in self.calls if call[0] in names]


def fly(channel=None, lost=()):
    """A flight of a second above the ground: truth, IMU, and images that come 40 ms late."""
    writer, session = Sink(), Sink()
    run = LiveRun(writer, session, channel or Channel(), (0.0, 0.0, 0.0), 80_000)
    image = np.zeros((4, 4), np.uint8)
    for t_us in range(0, 1_300_000, 20_000):
        height = 1.0 if 100_000 <= t_us < 1_200_000 else 0.1
        run.truth(t_us, np.array([0, 0, height]), (0, 0, 0, 1), np.zeros(3), np.zeros(3))
        run.imu(t_us, np.zeros(3), np.zeros(3))
        taken = t_us - 40_000
        if taken % 80_000 == 0 and taken not in lost:
            run.image("right", taken, image)
            run.image("left", taken, image)
    landed = run.landed.is_set()
    run.close()
    return writer, session, landed


def test_live_flight_is_recorded_from_rise_to_landing_and_in_order():
    writer, session, landed = fly()
    assert landed and writer.closed
    stamps = [t_us for _, t_us in writer.got("truth")]
    assert stamps[0] == 100_000 and stamps[-1] == 1_180_000
    pairs = [t_us for _, t_us in session.got("submit")]
    assert pairs == [t_us for _, t_us in writer.got("images")] and session.missing == 0
    readings = [t_us for _, t_us in session.got("imu")]
    assert readings == sorted(readings) and len(readings) > 2 * len(pairs)
    told = set()  # all readings up to a pair's time stand before it
    for name, t_us in session.got("imu", "submit"):
        if name == "imu":
            told.add(t_us)
        else:
            assert {reading for reading in readings if reading <= t_us} <= told


def test_live_flight_counts_what_is_missing():
    _, session, _ = fly(lost=(480_000, 560_000))
    assert session.missing == 2 and session.frames == len(session.got("submit")) + 2
    slow = Channel(bandwidth=32 / 100_000)  # 100 ms for two images of 16 bytes: every other pair
    writer, session, _ = fly(slow)
    assert session.not_arrived == pytest.approx(len(writer.got("images")) / 2, abs=1)
    assert session.got("submit")[0][1] == writer.got("images")[0][1]


def test_full_disk_does_not_stop_a_live_flight():
    writer, session = Sink(), SimpleNamespace(fail=lambda *a, **k: marks.append(a[0]))
    marks = []

    def full(*values):
        raise SlamError("no space")

    writer.truth = full
    run = LiveRun(writer, session, Channel(), (0, 0, 0), 80_000)
    run.truth(0, np.array([0, 0, 1.0]), (0, 0, 0, 1), np.zeros(3), np.zeros(3))
    assert marks == ["no space"]
