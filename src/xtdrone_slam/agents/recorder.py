"""What records the flight of a trajectory as a dataset: images, scans, IMU and truth."""

from collections.abc import Callable, Iterable

import numpy as np
from scipy.spatial.transform import Rotation

from sensor_models import ros_messages
from xtdrone_core import FleetState, Reading, SensorBatch, SensorBlock
from xtdrone_core.contracts import Flight, Observer
from xtdrone_core.runs.log_file import LogFile
from xtdrone_core.state import SensorDescription

from ..datasets.bag import BagWriter
from ..datasets.calibration import Calibration, Camera, Imu, write_kalibr
from ..datasets.dataset import Dataset, DatasetWriter
from ..datasets.scans import Scanner
from ..errors import SlamError

# Noise of the IMU in the calibration files, and its minimum: estimators divide by each, and a
# simulated bias need not walk. Walks as in EuRoC's calibration of the ADIS16448.
_IMU_TAGS = {
    "gyroscopeNoiseDensity": 1e-6,
    "gyroscopeRandomWalk": 1.9393e-5,
    "accelerometerNoiseDensity": 1e-5,
    "accelerometerRandomWalk": 3e-3,
}


class Recorder(Observer):
    """Records the first stereo pair and lidar, the IMU and the true state of a simulation."""

    wants_readings = True

    def __init__(self, flight: Flight, bag: bool) -> None:
        pair, lidar = (first_sensor(flight, kind) for kind in ("stereo", "lidar"))
        if (pair is None and lidar is None) or flight.folder is None:
            raise SlamError(
                "nothing to record: fly a vehicle with a stereo pair or a lidar, for example "
                "--vehicle iris_stereo"
            )
        folder, blocks = flight.folder, flight.fleet.vehicles[0].sensors
        imu, self._imu_pos = imu_of(blocks)
        scanner = lidar and Scanner.from_simulation(lidar["parameters"][0], self._imu_pos)
        self._key = self._depth_key = self._lidar_key = self._bag = None
        if lidar is not None:
            self._lidar_key = lidar["vehicle"], lidar["sensor"]
        if pair is None:
            if bag:
                raise SlamError("a bag of scans is not written: leave bag out, or record by ROS")
            self._writer = DatasetWriter(folder / "dataset", imu, scanner)
        else:
            calibration, _ = stereo_calibration(pair, blocks)
            self._writer = DatasetWriter(folder / "dataset", calibration, scanner)
            if flight.scenario.ros2_record != "none":
                write_kalibr(folder / "bags" / "kalibr", calibration.flipped(), _ros2_topics(pair))
            if bag:
                self._bag = BagWriter(folder / "bags" / "flight.bag", calibration)
            self._key = pair["vehicle"], pair["sensor"]
            self._depth_key = next(
                (
                    (other["vehicle"], other["sensor"])
                    for other in flight.rendered_sensors()
                    if other["kind"] == "depth" and _same_view(other, pair)
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
        """Number of stereo pairs so far, or of scans without cameras."""
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
        """Takes scans, pairs, and depth images of the same view."""
        if not self._recording(reading.t_us):
            return
        key = reading.vehicle, reading.sensor
        if key == self._lidar_key:
            self._write(self._writer.scan, reading.t_us, reading.data["ranges"])
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


def first_sensor(flight: Flight, kind: str) -> SensorDescription | None:
    """Returns the first rendered sensor whose readings are of a kind, or None."""
    return next((sensor for sensor in flight.rendered_sensors() if sensor["kind"] == kind), None)


def imu_of(blocks: Iterable[SensorBlock]) -> tuple[Imu, np.ndarray]:
    """Returns the noise of a vehicle's IMU, and the IMU (3,) in the body [m].

    Raises:
        SlamError: The SDF does not state the noise.
    """
    block = next((block for block in blocks if block.kind == "imu"), None)
    if block is None or not all(tag in block.parameters for tag in _IMU_TAGS):
        raise SlamError(
            f"the vehicle's IMU must state {', '.join(_IMU_TAGS)} in its SDF, for "
            "the calibration files"
        )
    noise = (max(float(block.parameters[tag]), low) for tag, low in _IMU_TAGS.items())
    return Imu(250.0, *noise), np.array(block.pos)


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
    imu, imu_pos = imu_of(blocks)
    left, right = (
        Camera.from_simulation(values, 1e6 / sensor["period_us"], imu_pos)
        for values in sensor["parameters"]
    )
    return Calibration(left, right, imu), imu_pos


def _same_view(one: SensorDescription, pair: SensorDescription) -> bool:
    """Returns whether a camera has pose, intrinsics and frame times of the pair's left camera."""
    names = ("pos", "quat", "width", "height", "fx", "fy", "cx", "cy")
    return one["period_us"] == pair["period_us"] and all(
        np.allclose(one["parameters"][0][name], pair["parameters"][0][name], atol=1e-3)
        for name in names
    )
