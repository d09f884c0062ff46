"""Scans of a lidar in a dataset: mav0/lidar0 with the distances of each scan and sensor.yaml.

data/TIME.npy (time in nanoseconds) has the distances (rows, columns) float32 [m], the lowest row
first; inf where nothing was seen, -inf too near. data.csv lists the files, as of images.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from sensor_models import SensorError
from sensor_models.rendered.lidar import LidarParameters, column_ages, lidar_rays
from xtdrone_core import XtdroneError, files
from xtdrone_core.errors import shown

from ..errors import SlamError
from . import formats

FOLDER = "lidar0"
_SCAN = "#timestamp [ns],filename"


@dataclass(frozen=True)
class Scanner:
    """A lidar in the frame of the IMU: its parameters with `pos` from the IMU."""

    parameters: LidarParameters

    @classmethod
    def from_simulation(cls, values: Mapping[str, Any], imu_pos: npt.ArrayLike) -> "Scanner":
        """Makes a scanner from the parameters of a simulated one.

        Args:
            values: The fields of LidarParameters, with pos relative to the centre of gravity.
            imu_pos: (3,) IMU relative to the centre of gravity, body [m].

        Raises:
            SlamError: A value is missing or not allowed.
        """
        try:
            pos = np.subtract(values["pos"], imu_pos)
            quat = tuple(map(float, values["quat"]))
            return cls(LidarParameters(**{**values, "pos": tuple(map(float, pos)), "quat": quat}))
        except (SensorError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise SlamError(f"a lidar has no valid parameters: {shown(error)}") from error

    def points(self, ranges: np.ndarray) -> np.ndarray:
        """Returns what a scan (rows, columns) [m] saw, column by column.

        Returns:
            (M, 5) float32: x, y, z in the frame of the IMU [m], the time from the scan's stamp on
            (0 or less) [s], the row from 0 at the bottom.
        """
        lidar = self.parameters
        seen = np.isfinite(ranges).T
        rays = np.swapaxes(lidar_rays(lidar), 0, 1)[seen]
        turned = Rotation.from_quat(lidar.quat).apply(rays * ranges.T[seen][:, None])
        points = np.empty((len(rays), 5), dtype=np.float32)
        points[:, :3] = turned + lidar.pos
        shape = lidar.columns, lidar.rows
        points[:, 3] = np.broadcast_to(-column_ages(lidar)[:, None], shape)[seen]
        points[:, 4] = np.broadcast_to(np.arange(lidar.rows), shape)[seen]
        return points


class ScanWriter:
    """Writes the scans of a recording. The row of a scan is written after its file."""

    def __init__(self, mav: Path, scanner: Scanner) -> None:
        """Creates the folder and sensor.yaml.

        Raises:
            SlamError: The folder cannot be written.
        """
        import yaml

        folder = Path(mav) / FOLDER
        self.count = 0
        try:
            (folder / "data").mkdir(parents=True)
            values = {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in asdict(scanner.parameters).items()
            }
            text = yaml.safe_dump({"sensor_type": "lidar", **values}, sort_keys=False)
            (folder / "sensor.yaml").write_text(text)
        except OSError as error:
            raise SlamError(f"cannot write scans to '{folder}': {error.strerror}") from error
        self._table = formats.LineFile(folder / "data.csv", _SCAN)

    def scan(self, t_us: int, ranges: np.ndarray) -> None:
        """Adds the distances (rows, columns) of a scan [m].

        Raises:
            SlamError: A file cannot be written, for example because the disk is full.
        """
        name = f"{t_us * 1000}.npy"
        path = self._table.path.parent / "data" / name
        try:
            np.save(path, np.asarray(ranges, dtype=np.float32))
        except OSError as error:
            raise SlamError(
                f"cannot write '{path}': {error.strerror}; the {self.count} scans before it are "
                "recorded"
            ) from error
        self._table.write(f"{t_us * 1000},{name}")
        self.count += 1

    def close(self) -> None:
        """Closes the table. May be called twice."""
        self._table.close()


class Scans:
    """The scans of a recording.

    Attributes:
        scanner: The lidar.
        times_us: (T,) int64 of the scans [us].
    """

    def __init__(self, mav: Path) -> None:
        """Reads the table, but no scan.

        Raises:
            SlamError: The folder has no valid scans.
        """
        folder = Path(mav) / FOLDER
        try:
            values = dict(files.read_yaml(folder / "sensor.yaml", "lidar"))
            del values["sensor_type"]
            self.scanner = Scanner.from_simulation(values, np.zeros(3))
        except (XtdroneError, KeyError) as error:
            raise SlamError(f"no lidar in '{shown(folder)}': {shown(error)}") from error
        rows = [line.split(",", 1) for line in formats.read_rows(folder / "data.csv")]
        self._files = [folder / "data" / row[1].strip() for row in rows if len(row) == 2]
        self.times_us = np.array([int(row[0]) // 1000 for row in rows if len(row) == 2], np.int64)
        if self._files and not self._files[-1].is_file():  # a row that a kill left incomplete
            del self._files[-1]
            self.times_us = self.times_us[:-1]
        if not self._files:
            raise SlamError(f"'{folder}' contains no scan")

    def __len__(self) -> int:
        """Returns the number of scans."""
        return len(self._files)

    def ranges(self, index: int) -> np.ndarray:
        """Reads the distances (rows, columns) of a scan [m].

        Raises:
            SlamError: The file is missing or broken.
        """
        lidar = self.scanner.parameters
        try:
            ranges = np.load(self._files[index])
        except (OSError, ValueError, EOFError) as error:
            raise SlamError(f"'{self._files[index]}' is missing or not a scan") from error
        if ranges.shape != (lidar.rows, lidar.columns):
            raise SlamError(
                f"'{self._files[index]}' has {ranges.shape} distances, and sensor.yaml "
                f"{lidar.rows} x {lidar.columns}"
            )
        return ranges

    def points(self, index: int) -> np.ndarray:
        """Reads the points (M, 5) of a scan; see Scanner.points().

        Raises:
            SlamError: The file is missing or broken.
        """
        return self.scanner.points(self.ranges(index))
