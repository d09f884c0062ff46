"""Runs small_gicp on the link's scans, by the Python of its own environment."""

import sys

import numpy as np
import small_gicp

sys.path.append(sys.argv.pop(1))
import scan_driver


class Odometry:
    """Scan to map: each scan is undistorted, registered with a voxel map, and added to it."""

    def __init__(self, voxel: float, leaf: float, threads: int) -> None:
        """Begins at the identity."""
        self._map = small_gicp.GaussianVoxelMap(voxel)
        self._map.set_lru(horizon=10**6, clear_cycle=10**6)
        self._leaf, self._threads = leaf, threads
        self._pose, self._twist, self._last_us = np.eye(4), np.zeros(6), 0

    def step(self, t_us: int, points: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Takes a scan; see scan_driver.Odometry."""
        cloud, _ = small_gicp.preprocess_points(
            scan_driver.deskewed(points, times, self._twist),
            downsampling_resolution=self._leaf,
            num_threads=self._threads,
        )
        if self._map.size():
            before, period = self._pose, (t_us - self._last_us) * 1e-6
            guess = before @ self._predicted(period)
            result = small_gicp.align(
                self._map, cloud, guess, num_threads=self._threads, max_iterations=30
            )
            self._pose = result.T_target_source
            self._twist = scan_driver.twist_between(before, self._pose, period)
        self._last_us = t_us
        self._map.insert(cloud, self._pose)
        return self._pose, cloud.size()

    def _predicted(self, period: float) -> np.ndarray:
        """Returns the motion (4, 4) in a time [s] at the last velocity."""
        step = np.eye(4)
        axes = scan_driver.deskewed(np.eye(4, 3, -1), np.full(4, period), self._twist)
        step[:3, 3] = axes[0]
        u, _, vt = np.linalg.svd((axes[1:] - axes[0]).T)
        step[:3, :3] = u @ vt
        return step


scan_driver.run(str(__doc__), Odometry, {"voxel": 1.0, "leaf": 0.25, "threads": 1})
