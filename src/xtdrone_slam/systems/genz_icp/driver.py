"""Runs GenZ-ICP on the link's scans, by the Python of its own environment."""

import sys

import numpy as np
from genz_icp.config import GenZConfig
from genz_icp.genz_icp import GenZICP

sys.path.append(sys.argv.pop(1))
import scan_driver


class Odometry:
    """GenZ-ICP with its own settings, but for the voxels."""

    def __init__(self, voxel: float, points: int, deskew: int) -> None:
        """Begins at the identity."""
        config = GenZConfig()
        config.mapping.voxel_size = voxel
        config.mapping.desired_num_voxelized_points = points
        config.data.deskew = bool(deskew)
        self._odometry = GenZICP(config)

    def step(self, t_us: int, points: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Takes a scan; see scan_driver.Odometry."""
        others, planar = self._odometry.register_frame(points, times)
        return self._odometry.last_pose, len(others) + len(planar)


scan_driver.run(str(__doc__), Odometry, {"voxel": 0.25, "points": 2000, "deskew": 1})
