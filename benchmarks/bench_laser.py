"""Our laser SLAM on recorded flights: errors, processor time of a scan, pictures of the maps.

    record="xtdrone slam record --gps rtk --world hall --trajectory tour"
    $record --vehicle iris_3d_lidar --name tour_3d
    $record --vehicle iris_2d_lidar --name tour_2d
    python benchmarks/bench_laser.py tour_3d tour_2d --pictures docs/images/laser

The systems run in this process, so that the times are theirs alone: NumPy and Numba on one core.
SLAM in the plane is judged in the plane.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import results
from scipy.spatial.transform import Rotation

from xtdrone_core import plot_style
from xtdrone_slam.datasets import dataset, formats
from xtdrone_slam.evaluation.metrics import evaluate
from xtdrone_slam.lidar.grid import OCCUPIED, UNKNOWN, Grid
from xtdrone_slam.lidar.inertial import InertialOdometry
from xtdrone_slam.lidar.planar import PlanarSlam

_WARM = 5  # scans before the times count, in which kernels are compiled


def flown(name: str) -> tuple[dataset.Dataset, InertialOdometry | PlanarSlam, np.ndarray, list]:
    """Runs the system that fits the scanner; returns poses (T, 8) and seconds of each scan."""
    recording = dataset.Dataset(dataset.find(name))
    scans, readings, done = recording.scans, recording.imu(), 0
    if scans is None:
        raise SystemExit(f"'{name}' has no scans: record a vehicle with a lidar")
    slam = PlanarSlam() if scans.scanner.parameters.rows == 1 else InertialOdometry()
    poses, seconds = [], []
    for index, t_us in enumerate(scans.times_us):
        while done < len(readings) and readings[done, 0] <= t_us:
            slam.imu(readings[done, 0] * 1e-6, readings[done, 1:4], readings[done, 4:])
            done += 1
        points = scans.points(index)
        begin = time.process_time()
        slam.scan(t_us * 1e-6, points[:, :3], points[:, 3].astype(float))
        seconds.append(time.process_time() - begin)
        if isinstance(slam, PlanarSlam):
            position, attitude = np.array([*slam.pose[:2], 0.0]), slam.attitude
        else:
            position, attitude = slam.state.position, Rotation.from_matrix(slam.state.rotation)
        poses.append([t_us * 1e-6, *position, *attitude.as_quat()])
    found = int(np.isfinite(poses).all(axis=1).sum())
    results.Work().count("scans with a pose", found, len(scans))
    return recording, slam, np.array(poses), seconds[_WARM:]


def draw_grid(grid: Grid, way: np.ndarray, closures: np.ndarray, path: Path) -> None:
    """Draws an occupancy grid, the way (T, 2) in it, and the loops (L, 2, 2) that were closed."""
    figure = plot_style.figure(9.0, 7.0, "SLAM in the plane: occupancy grid and way")
    axes = figure.add_subplot()
    shades = np.select([grid.cells == OCCUPIED, grid.cells == UNKNOWN], [0.0, 0.75], 1.0)
    rows, columns = grid.cells.shape
    x, y = grid.origin
    extent = (x, x + columns * grid.resolution, y, y + rows * grid.resolution)
    axes.imshow(shades, cmap="gray", vmin=0.0, vmax=1.0, origin="lower", extent=extent)
    axes.plot(way[:, 0], way[:, 1], color=plot_style.series(0), linewidth=1.2)
    label = "loop closed"
    for one, other in closures:
        ends = np.array([one, other])
        axes.plot(*ends.T, "o-", color=plot_style.series(1), markersize=3, label=label)
        label = ""
    if len(closures):
        axes.legend()
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    plot_style.save(figure, path)


def draw_points(points: np.ndarray, way: np.ndarray, path: Path) -> None:
    """Draws a map of points (M, 3) from above, coloured by height, and the way (T, 3) in it."""
    figure = plot_style.figure(9.0, 7.0, "Lidar-inertial odometry: map and way from above")
    axes = figure.add_subplot()
    near = points[np.abs(points[:, 2]) < 20.0]
    near = near[np.argsort(near[:, 2])]
    shown = axes.scatter(near[:, 0], near[:, 1], c=near[:, 2], s=0.2, cmap="viridis", linewidths=0)
    figure.colorbar(shown, ax=axes, label="z [m]", shrink=0.7)
    axes.plot(way[:, 0], way[:, 1], color=plot_style.series(1), linewidth=1.2)
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    plot_style.save(figure, path)


def main() -> None:
    """Prints a row for each flight."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flights", nargs="+", metavar="RUN", help="runs of slam record")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw the maps there")
    args = parser.parse_args()
    plot_style.load()
    print("| flight | system | way [m] | APE [m] | APE [% of the way] | scan, median [ms] | 95 % |")
    print("|---|---|---|---|---|---|---|")
    for name in args.flights:
        recording, slam, poses, seconds = flown(name)
        with tempfile.TemporaryDirectory() as folder:
            estimate = Path(folder) / "estimate.tum"
            reference = recording.folder / "groundtruth.tum"
            formats.write_tum(estimate, poses)
            if isinstance(slam, PlanarSlam):
                truth = np.loadtxt(reference)
                truth[:, 3] = 0.0  # its poses have no height
                reference = Path(folder) / "reference.tum"
                formats.write_tum(reference, truth)
            result = evaluate(estimate, reference)
        error = result.statistics["ape_translation"]["rmse"]
        way = np.linalg.norm(np.diff(recording.truth()[:, 1:4], axis=0), axis=1).sum()
        median, most = 1e3 * np.percentile(seconds, [50, 95])
        system = "planar_slam" if isinstance(slam, PlanarSlam) else "voxel_lio"
        print(
            f"| {name} | {system} | {way:.1f} | {error:.3f} | {100 * error / way:.3f} | "
            f"{median:.1f} | {most:.1f} |",
            flush=True,
        )
        if args.pictures:
            args.pictures.mkdir(parents=True, exist_ok=True)
            path = args.pictures / f"{Path(name).name}.png"
            if isinstance(slam, PlanarSlam):
                draw_grid(slam.grid(), poses[:, 1:3], slam.closures(), path)
            else:
                draw_points(slam.map.points(), poses[:, 1:4], path)


if __name__ == "__main__":
    main()
