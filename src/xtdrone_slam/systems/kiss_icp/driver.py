"""Runs KISS-ICP on the link's scans, by the Python of its own environment."""

import sys

import numpy as np
from kiss_icp.config import KISSConfig
from kiss_icp.kiss_icp import KissICP

sys.path.append(sys.argv.pop(1))
import scan_driver


class Odometry:
    """KISS-ICP with its own settings, but for the voxels."""

    def __init__(self, voxel: float, deskew: int, threads: int) -> None:
        """Begins at the identity."""
        config = KISSConfig()
        config.mapping.voxel_size = voxel
        config.data.deskew = bool(deskew)
        config.registration.max_num_threads = threads
        self._odometry = KissICP(config)

    def step(self, t_us: int, points: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Takes a scan; see scan_driver.Odometry."""
        _, source = self._odometry.register_frame(points, times)
        return self._odometry.last_pose, len(source)


scan_driver.run(str(__doc__), Odometry, {"voxel": 0.5, "deskew": 1, "threads": 1})
