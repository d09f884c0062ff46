"""Export of datasets to the layouts of TUM RGB-D, KITTI odometry and EuRoC, and to rosbag."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SlamError
from . import formats, lenses
from .bag import BagWriter
from .dataset import Dataset

_EUROC = ("cam0", "cam1", "imu0", "state_groundtruth_estimate0", "body.yaml")


def export(
    dataset: Dataset, kind: str, target: Path, progress: Callable[[], object] | None = None
) -> Path:
    """Writes a dataset in another layout.

    Args:
        dataset: The dataset.
        kind: One of FORMATS.
        target: Folder to create, or the file for rosbag.
        progress: Called after each pair.

    Returns:
        The target.

    Raises:
        SlamError: An unknown format, an existing target, or a file that cannot be written.
    """
    if kind not in FORMATS:
        raise SlamError(f"unknown format '{kind}': choose one of {', '.join(FORMATS)}")
    target = Path(target)
    if target.exists():
        raise SlamError(f"'{target}' exists already: give another path")
    try:
        FORMATS[kind](dataset, target, progress or (lambda: None))
    except OSError as error:
        raise SlamError(f"cannot write '{target}': {error.strerror}") from error
    return target


def _euroc(dataset: Dataset, target: Path, progress: Callable[[], object]) -> None:
    """Writes only mav0: images, IMU, truth, their sensor.yaml files, and body.yaml."""
    source, copy = dataset.folder / "mav0", target / "mav0"
    for name in _EUROC:
        path = source / name
        if path.is_dir():
            shutil.copytree(path, copy / name)
        elif path.exists():
            shutil.copy2(path, copy / name)
    for _ in range(len(dataset)):
        progress()


def _tum(dataset: Dataset, target: Path, progress: Callable[[], object]) -> None:
    """Writes rgb/, rgb.txt, groundtruth.txt, accelerometer.txt; depth/ and depth.txt if recorded.

    Images and truth are those of the left camera.
    """
    (target / "rgb").mkdir(parents=True)
    camera = dataset.calibration.left.pose
    formats.write_tum(target / "groundtruth.txt", _with_offset(dataset.truth(), camera))
    lists = {"rgb": formats.LineFile(target / "rgb.txt", "# timestamp filename")}
    if dataset.has_depth:
        (target / "depth").mkdir()
        lists["depth"] = formats.LineFile(target / "depth.txt", "# timestamp filename")
    for index, t_us in enumerate(dataset.times_us):
        stamp = f"{t_us * 1e-6:.6f}"
        shutil.copyfile(dataset.files(index)[0], target / "rgb" / f"{stamp}.png")
        lists["rgb"].write(f"{stamp} rgb/{stamp}.png")
        if dataset.has_depth:
            _write_depth(target / "depth" / f"{stamp}.png", dataset.depth(index))
            lists["depth"].write(f"{stamp} depth/{stamp}.png")
        progress()
    readings = formats.LineFile(target / "accelerometer.txt", "# timestamp ax ay az")
    camera_from_body = camera[:3, :3].T
    for row in dataset.imu():
        x, y, z = camera_from_body @ row[4:7]
        readings.write(f"{row[0] * 1e-6:.6f} {x:.6f} {y:.6f} {z:.6f}")
    for file in (*lists.values(), readings):
        file.close()


def _write_depth(path: Path, depth: np.ndarray) -> None:
    """Writes TUM's depth images: 16 bits, 5000 per metre."""
    import cv2

    coded = np.clip(np.round(5000.0 * depth), 0, 65535).astype(np.uint16)
    path.write_bytes(cv2.imencode(".png", coded)[1].tobytes())


def _kitti(dataset: Dataset, target: Path, progress: Callable[[], object]) -> None:
    """Writes sequences/00 (rectified image_0, image_1, calib.txt, times.txt) and poses/00.txt.

    The poses are those of the rectified left camera relative to its first frame.
    """
    import cv2

    calibration = dataset.calibration
    left, right = calibration.left, calibration.right
    rectification = lenses.rectification(calibration)
    maps = [
        lenses.rectifying_maps(camera, rectification[i], rectification[2 + i], cv2.CV_32FC1)
        for i, camera in enumerate((left, right))
    ]
    sequence = target / "sequences" / "00"
    for number in range(2):
        (sequence / f"image_{number}").mkdir(parents=True)
    (target / "poses").mkdir()
    projections = [*rectification[2:4]] * 2  # colour cameras have the calibration of the grey ones
    (sequence / "calib.txt").write_text(
        "".join(
            f"P{i}: " + " ".join(f"{x:.12e}" for x in matrix.ravel()) + "\n"
            for i, matrix in enumerate(projections)
        )
    )
    first = int(dataset.times_us[0])
    (sequence / "times.txt").write_text(
        "".join(f"{(t_us - first) * 1e-6:.6e}\n" for t_us in dataset.times_us)
    )
    rectified = left.pose.copy()
    rectified[:3, :3] = rectified[:3, :3] @ rectification[0].T
    formats.write_kitti(
        target / "poses" / "00.txt",
        _relative_to_first(_with_offset(dataset.truth_at_images(), rectified)),
    )
    for index in range(len(dataset)):
        for number, image in enumerate(dataset.pair(index)):
            flat = cv2.remap(image, *maps[number], cv2.INTER_LINEAR)
            (sequence / f"image_{number}" / f"{index:06d}.png").write_bytes(
                cv2.imencode(".png", flat, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
            )
        progress()


def _rosbag(dataset: Dataset, target: Path, progress: Callable[[], object]) -> None:
    """Writes one bag with images, IMU and truth in the order of time."""
    bag = BagWriter(target, dataset.calibration)
    rows: list[tuple[int, int, Any]] = [(int(row[0]), 0, row) for row in dataset.imu()]
    rows += [(round(row[0] * 1e6), 1, row) for row in dataset.truth()]
    rows += [(int(t_us), 2, index) for index, t_us in enumerate(dataset.times_us)]
    for t_us, kind, row in sorted(rows, key=lambda entry: entry[:2]):
        if kind == 0:
            bag.imu(t_us, row[1:4], row[4:7])
        elif kind == 1:
            bag.truth(t_us, row[1:4], row[4:])
        else:
            bag.images(t_us, *dataset.pair(row))
            progress()
    bag.close()


def _with_offset(table: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Returns the trajectory (T, 8) of a frame that is mounted on the body with offset (4, 4)."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(table[:, 4:])
    positions = table[:, 1:4] + rotation.apply(offset[:3, 3])
    return np.column_stack(
        [table[:, 0], positions, (rotation * Rotation.from_matrix(offset[:3, :3])).as_quat()]
    )


def _relative_to_first(table: np.ndarray) -> np.ndarray:
    """Returns the trajectory relative to its first pose."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(table[:, 4:])
    inverse = rotation[0].inv()
    return np.column_stack(
        [table[:, 0], inverse.apply(table[:, 1:4] - table[0, 1:4]), (inverse * rotation).as_quat()]
    )


FORMATS: dict[str, Callable[[Dataset, Path, Callable[[], object]], None]] = {
    "euroc": _euroc,
    "tum": _tum,
    "kitti": _kitti,
    "rosbag": _rosbag,
}
