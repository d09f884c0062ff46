"""The Agent that flies a reference trajectory and records the flight as a dataset."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
from scipy.spatial.transform import Rotation

from sensor_models import ros_messages
from xtdrone_core import Estimates, FleetState, Reading, SensorBatch, SensorBlock, SetPoints
from xtdrone_core.contracts import Flight, Observer
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogFile
from xtdrone_core.scenario.options import Option
from xtdrone_core.state import SensorDescription

from ..datasets.bag import BagWriter
from ..datasets.calibration import Calibration, Camera, Imu, write_kalibr
from ..datasets.dataset import Dataset, DatasetWriter
from ..errors import SlamError
from ..flight import trajectories
from ..flight.options import FlightOptions

TRAJECTORY = Option("reference, rounds, a CSV or TUM file, or a run folder")
_HOLD_S = 1.0  # hover before and after the trajectory [s]
_START_RADIUS = 0.5  # horizontally, between take-off and start of the trajectory [m]
# Noise of the IMU in the calibration files, and its minimum: estimators divide by each, and a
# simulated bias need not walk. Walks as in EuRoC's calibration of the ADIS16448.
_IMU_TAGS = {
    "gyroscopeNoiseDensity": 1e-6,
    "gyroscopeRandomWalk": 1.9393e-5,
    "accelerometerNoiseDensity": 1e-5,
    "accelerometerRandomWalk": 3e-3,
}


class TrajectoryAgent(FlightAgent):
    """Takes off, tracks position and yaw of a trajectory, and lands.

    If the vehicle has a stereo camera, images, IMU and the true state are recorded to the folder
    `dataset` of the run, from the end of the climb to the start of the descent. In addition to the
    events of FlightAgent: `trajectory` (index: per cent flown).

    Attributes:
        begin_us: Simulated time at which the trajectory begins; None before the climb has ended.
        recorder: What records the flight; None before attach().
    """

    def __init__(
        self,
        n: int = 1,
        trajectory: Annotated[str, TRAJECTORY] = "reference",
        metadata: Annotated[
            dict[str, Any] | None,
            Option("options of the recording, written to slam.json when the flight completes"),
        ] = None,
        bag: Annotated[bool, Option("write bags/flight.bag as well")] = False,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            SlamError: More than one vehicle, or an invalid trajectory.
        """
        if n != 1:
            raise SlamError(f"{n} vehicles cannot fly one trajectory: give one")
        self.trajectory = trajectories.load(trajectory)
        first = self.trajectory.at(0.0)[0]
        super().__init__(1, float(first[2]), climb_speed=1.0, land_from=0.5, on_event=on_event)
        self.begin_us: int | None = None
        self._reported = 0  # per cent in the last event
        self.recorder: _Recorder | None = None
        self._metadata, self._bag = metadata, bag

    def attach(self, flight: Flight) -> None:
        """Sets up the recording. Called once, before the flight.

        Raises:
            SlamError: The vehicle has no stereo pair, the run has no folder, or the vehicle does
                not stand below the start of the trajectory.
        """
        self._check_start(flight.state.pos[0])
        self.recorder = _Recorder(flight, self._bag)
        flight.observers.append(self.recorder)

    def save(self) -> NoReturn:
        """Refuses: the files of a recording cannot be resumed.

        Raises:
            SlamError: Always.
        """
        raise SlamError("a flight that records a dataset cannot be saved: fly it anew")

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Refuses, as save() does.

        Raises:
            SlamError: Always.
        """
        raise SlamError("a flight that records a dataset cannot be reset: fly it anew")

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins the trajectory in 1 s; its start must be above the take-off position."""
        self._check_start(self.home[0])
        self.begin_us = t_us + round(_HOLD_S * 1e6)
        if self.recorder is not None:
            self.recorder.start()

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how much of the trajectory was flown."""
        return {"per cent of the trajectory": (self._reported, 100)}

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Writes position and yaw set-points with their derivatives as feed-forward."""
        assert self.begin_us is not None  # begin() was called
        t = (t_us - self.begin_us) * 1e-6
        out.pos[0], out.vel[0], yaw, out.yaw_rate[0], out.acc[0] = self.trajectory.at(t)
        out.yaw[0] = yaw
        percent = int(100.0 * min(max(t / self.trajectory.duration, 0.0), 1.0))
        if percent >= self._reported + 10:
            self._reported = percent - percent % 10
            self.event(t_us, "trajectory", index=f"{self._reported} %")
        over = t > self.trajectory.duration + _HOLD_S
        if over:
            self._yaw = np.array([yaw])
            if self.recorder is not None:
                self.recorder.stop()
        return over

    def _check_start(self, position: np.ndarray) -> None:
        x, y, _ = self.trajectory.at(0.0)[0]
        distance = np.hypot(position[0] - x, position[1] - y)
        if distance > _START_RADIUS:
            raise SlamError(
                f"the vehicle stands {distance:.1f} m from the start of the "
                f"trajectory: give --vehicles 'iris_stereo@{x:.2f},{y:.2f}'"
            )

    def report(self, folder: Path | str) -> None:
        """Prints the tracking error of the flight; called after it.

        Args:
            folder: Run folder; the metrics are added to its summary.json.
        """
        if self.recorder is None or self.recorder.frames == 0 or self.begin_us is None:
            return
        table = self.recorder.truth()
        flown = table[:, 0] * 1e6 >= self.begin_us
        errors, yaw_errors = [], []
        for t, x, y, z, *quat in table[flown][::10]:
            pos, _, yaw, *_ = self.trajectory.at(t - self.begin_us * 1e-6)
            axis = Rotation.from_quat(quat).as_matrix()[:, 0]
            error = np.arctan2(axis[1], axis[0]) - yaw
            errors.append(np.linalg.norm(pos - (x, y, z)))
            yaw_errors.append(np.degrees(abs((error + np.pi) % (2 * np.pi) - np.pi)))
        metrics: dict[str, Any] = {
            "dataset_frames": self.recorder.frames,
            "trajectory_length_m": round(
                float(np.linalg.norm(np.diff(table[:, 1:4], axis=0), axis=1).sum()), 2
            ),
            "tracking_rms_m": round(float(np.sqrt(np.mean(np.square(errors)))), 3),
            "tracking_max_m": round(float(np.max(errors)), 3),
            "yaw_rms_deg": round(float(np.sqrt(np.mean(np.square(yaw_errors)))), 2),
            "yaw_max_deg": round(float(np.max(yaw_errors)), 2),
        }
        run_folder.update_summary(Path(folder), **metrics)
        if self.done and self._metadata:
            FlightOptions(**self._metadata).save(Path(folder))
        for name, value in metrics.items():
            print(f"{name}: {value}")


class _Recorder(Observer):
    """Records the first stereo pair, the IMU and the true state of a simulation."""

    wants_readings = True

    def __init__(self, flight: Flight, bag: bool) -> None:
        cameras = [sensor for sensor in flight.rendered_sensors() if sensor["kind"] == "stereo"]
        if not cameras or flight.folder is None:
            raise SlamError(
                "nothing to record: fly a vehicle with a stereo pair, for example "
                "--vehicle iris_stereo"
            )
        sensor = cameras[0]
        calibration, self._imu_pos = stereo_calibration(sensor, flight.fleet.vehicles[0].sensors)
        folder = flight.folder
        self._writer = DatasetWriter(folder / "dataset", calibration)
        if flight.scenario.ros2_record != "none":
            write_kalibr(folder / "bags" / "kalibr", calibration.flipped(), _ros2_topics(sensor))
        self._bag = BagWriter(folder / "bags" / "flight.bag", calibration) if bag else None
        self._key = sensor["vehicle"], sensor["sensor"]
        self._depth_key = next(
            (
                (other["vehicle"], other["sensor"])
                for other in flight.rendered_sensors()
                if other["kind"] == "depth" and _same_view(other, sensor)
            ),
            None,
        )
        # Images that wait for the other of the same time, by time.
        self._depths: dict[int, np.ndarray] = {}
        self._pairs: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._from_us: int | None = None
        self._until_us: int | None = None
        self._flight = flight
        self._file = LogFile(folder / "dataset", flight.log_gaps)

    @property
    def frames(self) -> int:
        """Number of stereo pairs so far."""
        return self._writer.frames

    def start(self) -> None:
        """Starts recording."""
        self._from_us = self._flight.t_us

    def stop(self) -> None:
        """Stops recording; images of earlier times that arrive later are still taken."""
        self._until_us = self._flight.t_us

    def close(self) -> None:
        """Closes the files. May be called twice."""
        for file in self._files():
            self._write(file.close)

    def truth(self) -> np.ndarray:
        """Ends the recording; returns its true trajectory (T, 8)."""
        self.close()
        return Dataset(self._writer.folder).truth()

    def _recording(self, t_us: int) -> bool:
        return (
            self._from_us is not None
            and t_us >= self._from_us
            and not self._file.broken
            and (self._until_us is None or t_us <= self._until_us)
        )

    def _files(self) -> list[DatasetWriter | BagWriter]:
        return [file for file in (self._writer, self._bag) if file is not None]

    def _write(self, method: Callable[..., None], *values: object) -> None:
        """Calls a method of a writer; the recording ends where the disk takes no more."""
        try:
            method(*values)
        except (SlamError, OSError) as error:
            self._file.fail(str(error), self._flight.t_us)
        else:
            if not self._file.broken:
                self._file.succeed(self._flight.t_us)

    def on_reading(self, reading: Reading) -> None:
        """Takes pairs, and depth images of the same view."""
        if not self._recording(reading.t_us):
            return
        key = reading.vehicle, reading.sensor
        if key == self._key:
            self._pairs[reading.t_us] = reading.data["left"], reading.data["right"]
        elif key == self._depth_key:
            self._depths[reading.t_us] = reading.data["depth"]
        complete = set(self._pairs) & set(self._depths) if self._depth_key else set(self._pairs)
        for t_us in sorted(complete):
            if self._depth_key:
                self._write(self._writer.depth, t_us, self._depths.pop(t_us))
            pair = self._pairs.pop(t_us)
            for file in self._files():
                self._write(file.images, t_us, *pair)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Takes IMU and truth."""
        if not self._recording(t_us):
            return
        attitude = Rotation.from_quat(state.quat[0])
        pos = state.pos[0] + attitude.apply(self._imu_pos)
        vel = state.vel[0] + attitude.apply(np.cross(state.ang_vel[0], self._imu_pos))
        for file in self._files():
            self._write(file.truth, t_us, pos, state.quat[0], vel)
            self._write(file.imu, t_us, sensors.gyro[0], sensors.accel[0])


def _ros2_topics(sensor: SensorDescription) -> tuple[str, ...]:
    """Returns the topics of both images and of the IMU, whose axes are forward, right, down."""
    images = [topic for topic, kind in ros_messages.topics(sensor) if kind == "sensor_msgs/Image"]
    return (*images, "/drone0/sensors/imu")


def stereo_calibration(
    sensor: SensorDescription, blocks: Iterable[SensorBlock]
) -> tuple[Calibration, np.ndarray]:
    """Returns the calibration of a stereo pair, and the IMU (3,) in the body [m].

    Args:
        sensor: The pair, as described by the control request `sensors`.
        blocks: Sensors of its vehicle.

    Raises:
        SlamError: The images are not mono8, or the SDF does not state the IMU's noise.
    """
    if any(len(shape) != 2 for _, _, shape in sensor["arrays"]):
        raise SlamError(f"the images of '{sensor['sensor']}' are not grey: give format mono8")
    block = next((block for block in blocks if block.kind == "imu"), None)
    if block is None or not all(tag in block.parameters for tag in _IMU_TAGS):
        raise SlamError(
            f"the vehicle's IMU must state {', '.join(_IMU_TAGS)} in its SDF, for "
            "the calibration files"
        )
    imu_pos = np.array(block.pos)
    left, right = (
        Camera.from_simulation(values, 1e6 / sensor["period_us"], imu_pos)
        for values in sensor["parameters"]
    )
    imu = Imu(250.0, *(max(float(block.parameters[tag]), low) for tag, low in _IMU_TAGS.items()))
    return Calibration(left, right, imu), imu_pos


def _same_view(one: SensorDescription, pair: SensorDescription) -> bool:
    """Returns whether a camera has pose, intrinsics and frame times of the pair's left camera."""
    names = ("pos", "quat", "width", "height", "fx", "fy", "cx", "cy")
    return one["period_us"] == pair["period_us"] and all(
        np.allclose(one["parameters"][0][name], pair["parameters"][0][name], atol=1e-3)
        for name in names
    )
