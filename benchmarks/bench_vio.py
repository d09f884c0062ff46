"""Our own visual-inertial and stereo odometry on recorded flights: errors, start, processor time.

    xtdrone slam record --world indoor --name indoor
    python benchmarks/bench_vio.py indoor                   # whole, from the hover after the climb
    python benchmarks/bench_vio.py indoor --begin 10 20 30  # begun in the middle of the flight
    python benchmarks/bench_vio.py indoor --black 20:22     # no light in between
    python benchmarks/bench_vio.py indoor --blur 20         # exposed for 20 ms
    xtdrone slam record --world indoor --begin ground --name ground     # at rest, then the climb

The systems run in this process, so that the times are theirs alone: NumPy, Numba and OpenCV on one
core.
"""

import argparse
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import results
from scipy.spatial.transform import Rotation

from xtdrone_core import plot_style
from xtdrone_slam.datasets import dataset, formats
from xtdrone_slam.datasets.calibration import Calibration, Camera
from xtdrone_slam.evaluation.metrics import evaluate
from xtdrone_slam.inertial.odometry import Settings, VisualInertialOdometry
from xtdrone_slam.systems.klt import odometry as klt

_WARM = 5  # pairs before the times count, in which kernels are compiled
_BEFORE_US = 200_000  # readings before the first pair that the system gets [us]
_INSTANTS = 9  # of an exposure, whose mean is the blurred image


class Blur:
    """Blurs pairs by the turn of the camera during an exposure, which is most of their blur."""

    def __init__(self, recording: dataset.Dataset, seconds: float) -> None:
        """Reads the gyroscope.

        Args:
            recording: The dataset.
            seconds: Time of an exposure, about the time of the image [s]; 0 leaves images as they
                are.
        """
        self._seconds, self._readings = seconds, recording.imu()
        self._cameras = recording.calibration.left, recording.calibration.right

    def __call__(self, t_us: int, pair: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """Returns the pair as it would have been exposed."""
        if not self._seconds:
            return list(pair)
        half = 0.5e6 * self._seconds
        times = self._readings[:, 0]
        near = self._readings[(times >= t_us - half) & (times <= t_us + half), 1:4]
        rate = near.mean(axis=0) if len(near) else np.zeros(3)
        return [self._blurred(image, camera, rate) for image, camera in zip(pair, self._cameras)]

    def _blurred(self, image: np.ndarray, camera: Camera, rate: np.ndarray) -> np.ndarray:
        turn, lens = camera.pose[:3, :3].T @ rate * self._seconds, camera.matrix
        total = np.zeros(image.shape)
        for part in np.linspace(-0.5, 0.5, _INSTANTS):
            matrix = lens @ Rotation.from_rotvec(part * turn).as_matrix() @ np.linalg.inv(lens)
            total += cv2.warpPerspective(
                image, matrix, image.shape[::-1], borderMode=cv2.BORDER_REPLICATE
            )
        return np.round(total / _INSTANTS).astype(np.uint8)


class Stereo:
    """The stereo odometry klt, which takes no readings, with the functions of the filter's."""

    started = "images"

    def __init__(self, stereo: Calibration) -> None:
        """Begins at the first pair."""
        self._odometry = klt.Odometry(stereo)

    def imu(self, *_: object) -> None:
        """Does without."""

    def images(
        self, _: float, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray | None, int]:
        """Takes a pair; returns the pose (4, 4), or None, and the number of points."""
        return self._odometry.step(left, right)


SYSTEMS = {
    "msckf": lambda stereo: VisualInertialOdometry(stereo, Settings.of(2)),
    "msckf_mono": lambda stereo: VisualInertialOdometry(stereo, Settings.of(1)),
    "klt": Stereo,
}


class Played:
    """A recording, played to a system from a time on.

    Attributes:
        poses: (T, 8) as in a TUM file.
        seconds: Processor time of each pair [s].
        lost: Pairs without a pose after the start.
        begun_s: Time from the first pair to the first pose [s].
        how: How it started: rest, flight, images, or "" if it did not.
    """

    def __init__(
        self,
        recording: dataset.Dataset,
        system: str,
        begin: float = 0.0,
        black: tuple[float, float] = (0.0, 0.0),
        blur: float = 0.0,
    ) -> None:
        """Plays it to the end.

        Args:
            recording: The dataset.
            system: A name of SYSTEMS.
            begin: Time of the first pair that the system gets, from that of the recording [s].
            black: Begin and end of the time in which the images are black, likewise [s].
            blur: Time of an exposure [s].
        """
        exposed = Blur(recording, blur)
        odometry = SYSTEMS[system](recording.calibration)
        times, readings = recording.times_us, recording.imu()
        first = int(np.searchsorted(times, times[0] + 1e6 * begin))
        done = int(np.searchsorted(readings[:, 0], times[first] - _BEFORE_US))
        poses, self.lost, self.seconds = [], 0, []
        for index in range(first, len(times)):
            t_us = times[index]
            while done < len(readings) and readings[done, 0] <= t_us:
                odometry.imu(readings[done, 0] * 1e-6, readings[done, 1:4], readings[done, 4:])
                done += 1
            left, right = exposed(t_us, recording.pair(index))
            if black[0] <= 1e-6 * (t_us - times[0]) < black[1]:
                left, right = np.zeros_like(left), np.zeros_like(right)
            before = time.process_time()
            pose, _ = odometry.images(t_us * 1e-6, left, right)
            self.seconds.append(time.process_time() - before)
            if pose is not None:
                attitude = Rotation.from_matrix(pose[:3, :3]).as_quat()
                poses.append([t_us * 1e-6, *pose[:3, 3], *attitude])
            self.lost += pose is None and bool(poses)
        self.poses, self.how = np.array(poses), odometry.started
        self.begun_s = self.poses[0, 0] - 1e-6 * times[first] if len(poses) else np.inf
        results.Work().count("pairs", len(self.seconds), len(times) - first)


def row(name: str, recording: dataset.Dataset, played: Played, system: str) -> str:
    """Returns a row of the table."""
    median, most = 1e3 * np.percentile(played.seconds[_WARM:], [50, 95])
    if len(played.poses) < 2:
        return f"| {name} | {system} | no start | | | | | | {median:.0f} | {most:.0f} |"
    with tempfile.TemporaryDirectory() as folder:
        estimate = Path(folder) / "estimate.tum"
        formats.write_tum(estimate, played.poses)
        found = evaluate(estimate, recording.folder / "groundtruth.tum").statistics
    truth = recording.truth()
    flown = truth[truth[:, 0] >= played.poses[0, 0], 1:4]
    way = np.linalg.norm(np.diff(flown, axis=0), axis=1).sum()
    error, turn = (found[f"ape_{what}"]["rmse"] for what in ("translation", "rotation"))
    return (
        f"| {name} | {system} | {played.how}, {played.begun_s:.2f} s | {played.lost} | {way:.1f} | "
        f"{error:.3f} | "
        f"{100 * error / way:.2f} | {turn:.2f} | {median:.0f} | {most:.0f} |"
    )


def draw(
    recording: dataset.Dataset, played: Played, black: tuple[float, float], path: Path
) -> None:
    """Draws the error of the position over time, aligned as a whole."""
    truth = recording.truth()
    places = [np.interp(played.poses[:, 0], truth[:, 0], truth[:, k]) for k in (1, 2, 3)]
    place, found = np.column_stack(places), played.poses[:, 1:4]
    turn, _ = Rotation.align_vectors(place - place.mean(axis=0), found - found.mean(axis=0))
    moved = turn.apply(found - found.mean(axis=0)) + place.mean(axis=0)
    error = np.linalg.norm(place - moved, axis=1)
    figure = plot_style.figure(9.0, 3.5, "Error of the position")
    axes = figure.add_subplot()
    begin = recording.times_us[0] * 1e-6
    axes.plot(played.poses[:, 0] - begin, error, color=plot_style.series(0))
    if black[1] > black[0]:
        axes.axvspan(*black, color="0.8", label="black images")
        axes.legend()
    axes.set_xlabel("time [s]")
    axes.set_ylabel("error [m]")
    plot_style.save(figure, path)


def main() -> None:
    """Prints a row for each flight, system and begin."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("flights", nargs="+", metavar="RUN", help="runs of slam record")
    add("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="(all of them)")
    add("--begin", nargs="+", type=float, default=[0.0], metavar="S", help="of the playback (0)")
    add("--black", default="0:0", metavar="S:S", help="begin and end of black images")
    add("--blur", type=float, default=0.0, metavar="MS", help="time of an exposure (0)")
    add("--picture", type=Path, metavar="FILE", help="draw the error of the last row there")
    args = parser.parse_args()
    first, last = map(float, args.black.split(":"))
    columns = "flight", "system", "start", "lost", "way [m]", "APE [m]", "APE [%]", "APE [deg]"
    print("| " + " | ".join((*columns, "pair [ms]", "95 %")) + " |")
    print("|" + "---|" * 10)
    for name in args.flights:
        recording = dataset.Dataset(dataset.find(name))
        for system in args.systems:
            for begin in args.begin:
                played = Played(recording, system, begin, (first, last), 1e-3 * args.blur)
                label = name + (f" from {begin:g} s" if begin else "")
                label += f", black {args.black} s" if last > first else ""
                label += f", exposed for {args.blur:g} ms" if args.blur else ""
                print(row(label, recording, played, system), flush=True)
    if args.picture:
        plot_style.load()
        draw(recording, played, (first, last), args.picture)


if __name__ == "__main__":
    main()
