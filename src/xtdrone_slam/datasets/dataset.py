"""Datasets in EuRoC's ASL layout, written incrementally and read lazily.

mav0 contains cam0, cam1 (PNG images, left and right), imu0 and state_groundtruth_estimate0. Next to
mav0 are the truth as TUM and KITTI files and the calibration for Kalibr and OpenCV. A recording
that was killed can be read up to the last complete row.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError, files
from xtdrone_core.errors import shown
from xtdrone_core.runs import run_folder

from ..errors import SlamError
from . import calibration as calibrations, formats, lenses
from .calibration import Calibration, Imu
from .scans import FOLDER as SCANS, Scanner, Scans, ScanWriter

_MAX_LISTED = 5  # recordings in a message
_IMAGE = "#timestamp [ns],filename"
_IMU = (
    "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
    "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]"
)
_TRUTH = (
    "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
    "q_RS_z [], v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], "
    "b_w_RS_S_x [rad s^-1], b_w_RS_S_y [rad s^-1], b_w_RS_S_z [rad s^-1], "
    "b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], b_a_RS_S_z [m s^-2]"
)


def find(name: Path | str) -> Path:
    """Returns the folder of a dataset.

    Args:
        name: A folder with mav0, or a run of `xtdrone slam record`: its name, path, or "latest".

    Raises:
        SlamError: There is no dataset.
    """
    folder = Path(name).expanduser()
    if files.is_folder(folder / "mav0"):
        return folder
    try:
        run = run_folder.find(str(name))
    except XtdroneError:
        run = folder
    if not files.is_folder(run / "dataset" / "mav0"):
        known = ", ".join(recorded()[:_MAX_LISTED]) or "none yet"
        raise SlamError(
            f"no dataset '{shown(name)}': give a folder with mav0, or a run of xtdrone "
            f"slam record (the newest: {known})"
        )
    return run / "dataset"


def recorded() -> list[str]:
    """Returns the runs with a dataset, the newest first."""
    return [
        name
        for name in run_folder.names()
        if files.is_folder(run_folder.runs_root() / name / "dataset" / "mav0")
    ]


class DatasetWriter:
    """Writes one recording. The row of an image is written after the image file."""

    def __init__(
        self, folder: Path, calibration: Calibration | Imu, scanner: Scanner | None = None
    ) -> None:
        """Creates the folders and the calibration files.

        Args:
            folder: Folder of the dataset.
            calibration: That of the stereo pair and the IMU, or of the IMU alone.
            scanner: The lidar, if there is one.

        Raises:
            SlamError: The folder contains a dataset, or cannot be written.
        """
        self.folder = Path(folder)
        self.frames = 0
        mav = self.folder / "mav0"
        if mav.exists():
            raise SlamError(f"'{folder}' contains a dataset already: give another name")
        cameras = ("cam0", "cam1") if isinstance(calibration, Calibration) else ()
        try:
            for camera in cameras:
                (mav / camera / "data").mkdir(parents=True)
            if isinstance(calibration, Calibration):
                calibrations.write_euroc(mav, calibration)
                calibrations.write_kalibr(self.folder / "kalibr", calibration)
                lenses.write_opencv(self.folder / "opencv_stereo.yaml", calibration)
            else:
                calibrations.write_body(mav, calibration)
        except OSError as error:
            raise SlamError(f"cannot write a dataset to '{folder}': {error.strerror}") from error
        self._images = [formats.LineFile(mav / camera / "data.csv", _IMAGE) for camera in cameras]
        self._scans = None if scanner is None else ScanWriter(mav, scanner)
        self._imu = formats.LineFile(mav / "imu0" / "data.csv", _IMU)
        truth = mav / "state_groundtruth_estimate0" / "data.csv"
        self._truth = formats.LineFile(truth, _TRUTH)
        self._tum = formats.LineFile(self.folder / "groundtruth.tum")
        self._depth: formats.LineFile | None = None  # table of depth images, from the first on

    def images(self, t_us: int, left: np.ndarray, right: np.ndarray) -> None:
        """Adds a stereo pair, (H, W) uint8 each, exposed at t_us.

        Raises:
            SlamError: A file cannot be written, for example because the disk is full.
        """
        import cv2

        name = f"{t_us * 1000}.png"
        for table, image in zip(self._images, (left, right)):
            path = table.path.parent / "data" / name
            coded = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1]
            try:
                path.write_bytes(coded.tobytes())
            except OSError as error:
                raise SlamError(
                    f"cannot write '{path}': {error.strerror}; the "
                    f"{self.frames} pairs before it are recorded"
                ) from error
            table.write(f"{t_us * 1000},{name}")
        self.frames += 1

    def scan(self, t_us: int, ranges: np.ndarray) -> None:
        """Adds the distances (rows, columns) of a scan [m].

        Raises:
            SlamError: A file cannot be written, for example because the disk is full.
        """
        assert self._scans is not None, "the dataset was begun without a lidar"
        self._scans.scan(t_us, ranges)
        if not self._images:
            self.frames += 1

    def depth(self, t_us: int, depth: np.ndarray) -> None:
        """Adds the left camera's depth image (H, W) [m], as 16-bit PNG in millimetres.

        Call it before images() of the same time. Values that are not finite become 0, unknown.

        Raises:
            SlamError: A file cannot be written, for example because the disk is full.
        """
        import cv2

        if self._depth is None:
            (self.folder / "mav0" / "depth0" / "data").mkdir(parents=True, exist_ok=True)
            self._depth = formats.LineFile(self.folder / "mav0" / "depth0" / "data.csv", _IMAGE)
        name = f"{t_us * 1000}.png"
        path = self._depth.path.parent / "data" / name
        known = np.where(np.isfinite(depth), depth, 0.0)
        coded = cv2.imencode(".png", np.clip(np.round(1e3 * known), 0, 65535).astype(np.uint16))[1]
        try:
            path.write_bytes(coded.tobytes())
        except OSError as error:
            raise SlamError(f"cannot write '{path}': {error.strerror}") from error
        self._depth.write(f"{t_us * 1000},{name}")

    def imu(self, t_us: int, gyro: Iterable[float], accel: Iterable[float]) -> None:
        """Adds a reading: (3,) [rad/s] and (3,) [m/s^2], body."""
        numbers = [f"{x:.9g}" for x in (*gyro, *accel)]
        self._imu.write(",".join([str(t_us * 1000), *numbers]))

    def truth(
        self, t_us: int, pos: Iterable[float], quat: Iterable[float], vel: Iterable[float]
    ) -> None:
        """Adds the true state: position [m], quaternion xyzw, velocity [m/s], world.

        The columns of the IMU biases are 0, since the simulation does not publish them.
        """
        x, y, z, w = quat
        numbers = [f"{value:.9f}" for value in (*pos, w, x, y, z, *vel)] + ["0"] * 6
        self._truth.write(",".join([str(t_us * 1000), *numbers]))
        self._tum.write(formats.tum_line(t_us, pos, quat))

    def close(self) -> None:
        """Closes the files; writes the truth at the image times for KITTI. May be called twice."""
        for table in (*self._images, self._imu, self._truth, self._tum):
            table.close()
        for more in (self._depth, self._scans):
            if more is not None:
                more.close()
        if self.frames:
            formats.write_kitti(
                self.folder / "groundtruth.kitti", Dataset(self.folder).truth_at_images()
            )


class Dataset:
    """A recording, or a sequence of the EuRoC data set.

    Attributes:
        folder: The folder with mav0.
        times_us: (T,) int64 of the stereo pairs, or of the scans if there are no pairs [us].
        scans: The lidar's, or None.
    """

    def __init__(self, folder: Path) -> None:
        """Reads the tables, but no image.

        Raises:
            SlamError: The folder contains no valid dataset.
        """
        self.folder = Path(folder)
        mav = self.folder / "mav0"
        self.scans = Scans(mav) if files.is_folder(mav / SCANS) else None
        self._calibration = None
        self._files: list[tuple[Path, Path]] = []
        if self.scans is not None and not files.is_folder(mav / "cam0"):
            self.times_us = self.scans.times_us
        else:
            self._calibration = calibrations.read_euroc(mav)
            self._read_pairs(mav)

    def _read_pairs(self, mav: Path) -> None:
        left, right = (
            dict(line.split(",", 1) for line in formats.read_rows(path / "data.csv") if "," in line)
            for path in (mav / "cam0", mav / "cam1")
        )
        both = sorted(set(left) & set(right), key=int)
        if not both:
            raise SlamError(f"'{self.folder}' contains no stereo pair")
        self.times_us = np.array([int(key) // 1000 for key in both], dtype=np.int64)
        self._files += [
            (mav / "cam0" / "data" / left[key].strip(), mav / "cam1" / "data" / right[key].strip())
            for key in both
        ]
        if not all(path.is_file() for path in self._files[-1]):  # a row that a kill left incomplete
            del self._files[-1]
            self.times_us = self.times_us[:-1]

    def __len__(self) -> int:
        """Returns the number of stereo pairs, or of scans if there are no pairs."""
        return len(self.times_us)

    @property
    def has_pairs(self) -> bool:
        """Whether the dataset has stereo pairs."""
        return self._calibration is not None

    @property
    def calibration(self) -> Calibration:
        """The calibration of the stereo pair and the IMU.

        Raises:
            SlamError: The dataset has no stereo pair.
        """
        if self._calibration is None:
            raise SlamError(
                f"'{self.folder}' has scans and no stereo pairs: give a system with the input lidar"
            )
        return self._calibration

    def pair(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Reads the left and right image, (H, W) uint8.

        Raises:
            SlamError: An image is missing or broken.
        """
        import cv2

        images = []
        for path in self._files[index]:
            image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
            if image is None:
                raise SlamError(f"'{path}' is missing or not an image")
            images.append(image)
        left, right = images
        return left, right

    def files(self, index: int) -> tuple[Path, Path]:
        """Returns the image files of a pair, left and right."""
        return self._files[index]

    @property
    def has_depth(self) -> bool:
        """Whether the dataset has depth images."""
        return (self.folder / "mav0" / "depth0" / "data.csv").exists()

    def depth(self, index: int) -> np.ndarray:
        """Reads the left camera's depth image (H, W) float32 [m] of a pair; 0: unknown.

        Raises:
            SlamError: mav0/depth0/data has no 16-bit PNG in millimetres of that time.
        """
        import cv2

        path = self.folder / "mav0" / "depth0" / "data" / f"{self.times_us[index] * 1000}.png"
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        if image is None or image.dtype != np.uint16:
            raise SlamError(f"'{path}' is missing or not a depth image (16-bit PNG, millimetres)")
        return image.astype(np.float32) * np.float32(1e-3)

    def imu(self) -> np.ndarray:
        """Reads the IMU readings (T, 7): time [us], gyroscope [rad/s], accelerometer [m/s^2], body.

        Raises:
            SlamError: The dataset has none.
        """
        times, table = self._readings("imu0", 7, "IMU readings")
        return np.column_stack([times, table])

    def truth_at_images(self) -> np.ndarray:
        """Returns the true pose (T, 8) at the time of each pair.

        Raises:
            SlamError: The dataset has no truth.
        """
        table = self.truth()
        after = np.searchsorted(table[:, 0], self.times_us * 1e-6 - 1e-4)
        return table[np.clip(after, 0, len(table) - 1)]

    def truth(self) -> np.ndarray:
        """Reads the true trajectory (T, 8), columns as in a TUM file.

        Raises:
            SlamError: The dataset has none.
        """
        times, table = self._readings("state_groundtruth_estimate0", 8, "true trajectory")
        return np.column_stack([times * 1e-6, table[:, :3], table[:, 4:7], table[:, 3]])

    def _readings(self, sensor: str, width: int, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Reads times (T,) int64 [us] and values (T, width - 1) of a sensor's table."""
        path = self.folder / "mav0" / sensor / "data.csv"
        rows = [line.split(",") for line in formats.read_rows(path)]
        try:
            times = np.array([int(row[0]) // 1000 for row in rows], dtype=np.int64)
            table = np.array([[float(cell) for cell in row[1:width]] for row in rows])
            return times, table.reshape(-1, width - 1)
        except (ValueError, IndexError) as error:
            raise SlamError(f"'{path}' contains no valid {what}: {error}") from error
