"""The link's other messages and the environments of systems."""

import io
import sys

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")

from test_slam_run import stereo, wall  # noqa: E402
from xtdrone_slam import SlamError, link, runner  # noqa: E402
from xtdrone_slam.dataset import Dataset, DatasetWriter  # noqa: E402

# Answers each pair with the IMU readings and depth images since the last one.
_COUNT = """
import sys
from xtdrone_slam import link
imu, depths = [], 0
for kind, t_us, payload in link.messages(sys.stdin.buffer):
    if kind == link.IMU:
        imu.append(t_us)
        gyro, accel = link.reading(payload)
    elif kind == link.DEPTH:
        depths += int(round(float(link.depth(payload, (240, 320))[5, 7]), 3) == 1.5)
    elif kind == link.PAIR:
        assert all(t <= t_us for t in imu)
        print(link.pose_line(t_us, (len(imu), depths, accel[2] if imu else 0), (0, 0, 0, 1), 1),
              flush=True)
        imu, depths = [], 0
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wall")
    writer = DatasetWriter(folder, stereo())
    depths = folder / "mav0" / "depth0" / "data"
    depths.mkdir(parents=True)
    for i in range(4):
        t_us = 80_000 * (i + 1)
        for k in range(20):
            writer.imu(t_us - 76_000 + 4000 * k, (0, 0, 0.1), (0, 0, 9.81))
        writer.truth(t_us, (0, 0, 0), (0, 0, 0, 1), (0, 0, 0))
        writer.images(t_us, *wall(np.zeros(3)))
        cv2.imwrite(str(depths / f"{t_us * 1000}.png"), np.full((240, 320), 1500, np.uint16))
    writer.close()
    return Dataset(folder)


@pytest.mark.parametrize("inputs, expected", [
    (("stereo",), (0, 0, 0)), (("stereo", "imu"), (20, 0, 9.81)),
    (("stereo", "imu", "depth"), (20, 1, 9.81))])
def test_adapter_says_what_comes_with_the_pairs(dataset, tmp_path, inputs, expected):
    code = _COUNT.replace("{", "{{").replace("}", "}}")
    adapter = runner.Adapter("count", (sys.executable, "-c", code), "", True, {}, inputs)
    outcome = runner.run(adapter, dataset, tmp_path / "run", speed=2.0)
    assert outcome.reason == ""
    rows = np.loadtxt(tmp_path / "run" / "estimate.tum")
    assert np.allclose(rows[:, 1:4], [expected] * 4)


def test_unknown_messages_are_passed_over():
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    stream = io.BytesIO(link.message(b"X", 1, b"abc") + link.pack_imu(2, (1, 2, 3), (4, 5, 6))
                        + link.pack(3, image, image))
    (t_us, left, _), = link.frames(stream, (2, 3))
    assert t_us == 3 and np.array_equal(left, image)


def test_unknown_input_is_refused(tmp_path):
    (tmp_path / "adapter.yaml").write_text("command: [cat]\ninputs: [stereo, lidar]\n")
    with pytest.raises(SlamError, match="lidar"):
        runner.load_adapter(str(tmp_path) + "/")


def test_system_without_its_environment_says_how_to_install(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_SYSTEMS", str(tmp_path))
    adapter = runner.Adapter("far", ("{home}",), "", True, {}, ("stereo",), ("far==1",))
    with pytest.raises(SlamError, match="xtdrone slam install far"):
        runner.run(adapter, dataset, tmp_path / "run")
