"""What users bring: an EuRoC folder recorded by somebody else, and a system of their own."""

from pathlib import Path

import numpy as np
import pytest
import yaml

cv2 = pytest.importorskip("cv2")
pytest.importorskip("evo")

from scipy.spatial.transform import Rotation

from slam_wall import stereo, wall
from xtdrone_core import command
from xtdrone_slam.benchmark import adapters
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.evaluation import results

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_slam"
# Those of the EuRoC data set's left camera, in its body frame (x up, y right, z forward).
LENS = (-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05)
TURN = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])  # from our body (FLU)
BEGIN_NS = 1_403_636_579_763_555_584


def bend(image, camera):
    """The image as a lens with LENS shows it."""
    rows, columns = np.mgrid[: camera.height, : camera.width].astype(np.float32)
    flat = cv2.undistortPoints(
        np.stack([columns, rows], -1).reshape(-1, 1, 2),
        camera.matrix,
        np.array(LENS),
        P=camera.matrix,
    )
    return cv2.remap(image, flat.reshape(*image.shape, 2), None, cv2.INTER_LINEAR)


def write_elsewhere(source: Dataset, folder: Path, pairs=slice(None)) -> None:
    """A recording as EuRoC's authors wrote theirs: files, frames, lens, times, line ends."""
    mav = folder / "mav0"

    def table(name, rows, head="#timestamp [ns],x"):
        (mav / name).mkdir(parents=True, exist_ok=True)
        (mav / name / "data.csv").write_text("\r\n".join([head, *rows]) + "\r\n", newline="")

    def sensor(name, text):
        (mav / name / "sensor.yaml").write_text(text)

    def pose(matrix):
        return (
            "T_BS:\n  cols: 4\n  rows: 4\n  data: ["
            + ",\n         ".join(", ".join(map(repr, row)) for row in matrix.tolist())
            + "]\n"
        )

    stamps = {int(t): BEGIN_NS + 1000 * int(t) for t in source.times_us[pairs]}
    cameras = source.calibration.left, source.calibration.right
    for number, camera in enumerate(cameras):
        table(f"cam{number}", [f"{ns},{ns}.png" for ns in stamps.values()])
        (mav / f"cam{number}" / "data").mkdir()
        matrix = camera.pose
        matrix[:3] = TURN @ matrix[:3]
        sensor(
            f"cam{number}",
            "# General sensor definitions.\nsensor_type: camera\n"
            f"comment: VI-Sensor cam{number} (MT9M034)\n\n"
            + pose(matrix)
            + f"\nrate_hz: {camera.rate:g}\nresolution: [{camera.width}, {camera.height}]\n"
            f"camera_model: pinhole\nintrinsics: {list(camera.intrinsics)} #fu, fv, cu, cv\n"
            f"distortion_model: radial-tangential\ndistortion_coefficients: {list(LENS)}\n",
        )
    for index, t_us in enumerate(source.times_us):
        if int(t_us) in stamps:
            for number, image in enumerate(source.pair(index)):
                cv2.imwrite(
                    str(mav / f"cam{number}" / "data" / f"{stamps[int(t_us)]}.png"),
                    bend(image, cameras[number]),
                )
    table(
        "imu0",
        [
            ",".join(
                [
                    str(BEGIN_NS + 1000 * int(row[0])),
                    *(f"{x:.17g}" for x in (*TURN @ row[1:4], *TURN @ row[4:])),
                ]
            )
            for row in source.imu()
        ],
    )
    sensor(
        "imu0",
        "%YAML:1.0\nsensor_type: imu\n" + pose(np.eye(4)) + "rate_hz: 200\n"
        "gyroscope_noise_density: 1.6968e-04     # [ rad / s / sqrt(Hz) ]\n"
        "gyroscope_random_walk: 1.9393e-05\naccelerometer_noise_density: 2.0000e-3\n"
        "accelerometer_random_walk: 3.0000e-3\n",
    )
    rows = []
    for t, x, y, z, *quat in source.truth():
        qx, qy, qz, qw = (Rotation.from_quat(quat) * Rotation.from_matrix(TURN.T)).as_quat()
        numbers = x, y, z, qw, qx, qy, qz, *[0] * 9
        rows.append(",".join(map(str, (BEGIN_NS + round(1e9 * t), *numbers))))
    table("state_groundtruth_estimate0", rows)


def run(system, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    assert not command.main(
        [
            "slam",
            "run",
            "--system",
            system,
            "--dataset",
            str(folder),
            "--runs",
            "1",
            "--speed",
            "0",
            "--name",
            "one",
        ]
    )
    (flight,) = results.load(tmp_path / "runs" / "one")
    (one,) = flight.systems[0].runs
    assert one.verdict.word == "good", one.verdict
    return one.evaluation.statistics


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Towards a wall and about, more than half a metre, and on no line."""
    writer = DatasetWriter(tmp_path_factory.mktemp("wall"), stereo())
    for i in range(16):
        pos = np.array([0.04 * i, 0.2 * np.sin(0.4 * i), 0.15 * np.cos(0.3 * i)])
        writer.truth(80_000 * (i + 1), pos, (0, 0, 0, 1), (0.5, 0.25, 0.125))
        writer.imu(80_000 * (i + 1), (0, 0, 0), (0, 0, 9.81))
        writer.images(80_000 * (i + 1), *wall(pos))
    writer.close()
    return Dataset(writer.folder)


@pytest.fixture(scope="module")
def elsewhere(dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere") / "MH_00_drawn"
    write_elsewhere(dataset, folder)
    return folder


def test_folder_of_the_euroc_data_set_is_read(dataset, elsewhere):
    read = Dataset(elsewhere)
    assert len(read) == len(dataset) and read.calibration.left.distortion == LENS
    assert read.times_us[0] == BEGIN_NS // 1000 + dataset.times_us[0]
    assert np.allclose(read.calibration.right_from_left, dataset.calibration.right_from_left)
    assert np.allclose(read.truth_at_images()[:, 1:4], dataset.truth_at_images()[:, 1:4])
    assert read.calibration.imu.accelerometer_random_walk == 3e-3


@pytest.mark.long
@pytest.mark.parametrize("system", ["klt", "orb"])
def test_system_runs_on_it(elsewhere, tmp_path, monkeypatch, system):
    statistics = run(system, elsewhere, tmp_path, monkeypatch)
    assert statistics["ape_translation"]["rmse"] < 0.02
    assert statistics["ape_rotation"]["max"] < 1.0


@pytest.mark.long
def test_example_of_an_own_system_runs(dataset, tmp_path, monkeypatch):
    adapter = adapters.load(str(EXAMPLE))
    assert adapter.name == "my_slam" and adapter.parameters == {"features": 400}
    statistics = run(str(EXAMPLE), dataset.folder, tmp_path, monkeypatch)
    assert statistics["ape_translation"]["rmse"] < 0.06


def test_campaign_finds_a_system_beside_its_file(tmp_path):
    from xtdrone_slam.benchmark import plan as plans

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "adapter.yaml").write_text("command: [cat]\nparameters: {name: a}\n")
    (tmp_path / "c.yaml").write_text(
        yaml.safe_dump(
            {
                "systems": [{"name": "mine", "parameters": {"name": ["a", "b"]}}],
                "worlds": ["indoor"],
            }
        )
    )
    one = plans.load(tmp_path / "c.yaml")
    assert [system.name for system in one.systems] == [str(tmp_path / "mine")] * 2
    assert one.systems[1].label == "mine_nameb"
