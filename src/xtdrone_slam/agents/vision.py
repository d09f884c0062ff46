"""The Agent that flies on a SLAM system's pose: external vision for the estimator, GNSS off."""

import atexit
import queue
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from xtdrone_core import FleetState, Reading, SensorBatch
from xtdrone_core.contracts import ExternalPose, Flight, Observer, SettableParameters, required
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option

from ..benchmark import adapters, link, runner
from ..datasets.calibration import pose_matrix
from ..datasets.dataset import DatasetWriter
from ..datasets.scans import Scanner
from ..errors import SlamError
from .recorder import first_sensor, imu_of, stereo_calibration
from .trajectory import TRAJECTORY, TrajectoryAgent

LATENCY_MS = 80.0  # time from exposure to estimator [ms]
_PLANAR = 1 + 8  # EKF2_EV_CTRL: horizontal position and yaw, not the height
_REST_US = 2_000_000  # rest at the start, for the estimator to align its attitude [us]
_SYSTEM = "vision"  # folder in the run folder, for the calibration and the system's files


class VisionAgent(TrajectoryAgent):
    """Flies a trajectory on the poses of a SLAM system fed by the vehicle's stereo pair or lidar.

    The system's world frame is aligned once, at rest before the flight: the position is the start
    position of the scenario, the attitude is the estimator's. GNSS is disabled in the estimator by
    EKF2_GPS_CTRL. The simulation waits for each answer of the system, and the pose reaches the
    estimator at a fixed latency after the exposure, so two flights with a deterministic system are
    identical. In addition to the events of TrajectoryAgent: `vision` (index: "aligned", or the
    reason of a failure).
    """

    def __init__(
        self,
        n: int = 1,
        trajectory: Annotated[str, TRAJECTORY] = "reference",
        system: Annotated[
            str, Option("a name, or a folder with an adapter.yaml", names=adapters.names)
        ] = "orb",
        latency_ms: Annotated[
            float, Option("from exposure to estimator", unit="ms", minimum=0.0, maximum=200.0)
        ] = LATENCY_MS,
        gps_off: Annotated[bool, Option("disable GNSS in the estimator")] = True,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            SlamError: No such system, one that needs depth images, or a latency out of range.
        """
        super().__init__(n, trajectory, on_event=on_event)
        if not 0 <= latency_ms <= 200:
            raise SlamError(f"a latency of {latency_ms} ms is not allowed: give 0 to 200")
        self._adapter = adapters.load(system)
        adapters.reject_depth(self._adapter)
        self._latency_us = round(latency_ms * 1e3)
        self._gps_off = gps_off
        self._vision: _Vision | None = None

    def attach(self, flight: Flight) -> None:
        """Starts the system. Called once, before the flight.

        Raises:
            SlamError: The vehicle has no stereo pair or lidar, or the system cannot be started.
        """
        super().attach(flight)
        name = f"autopilot '{flight.scenario.autopilot}'"
        aids = []
        if self._gps_off:
            aids.append(("EKF2_GPS_CTRL", 0, "disable GNSS there, and give gps_off=false"))
        if self._adapter.planar:
            advice = f"'{self._adapter.name}' measures no height: use another autopilot"
            aids.append(("EKF2_EV_CTRL", _PLANAR, advice))
        for parameter, value, advice in aids:
            required(
                flight.autopilot,
                SettableParameters,  # type: ignore[type-abstract]  # a protocol
                f"{name} has no parameters to set here",
                advice,
            ).set_parameter(0, parameter, value)
        required(
            flight.autopilot,
            ExternalPose,  # type: ignore[type-abstract]  # a protocol
            f"{name} accepts no external pose",
            "use another autopilot",
        )
        self._vision = _Vision(flight, self._adapter, self._latency_us, self.event)
        flight.observers.append(self._vision)

    def report(self, folder: Path | str) -> None:
        """Prints also the accuracy of the system's poses."""
        if self._vision is None:
            return
        metrics = self._vision.end()
        super().report(folder)
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")


def _lidar(adapter: adapters.Adapter) -> str:
    """Returns a vehicle whose lidar fits."""
    return "iris_2d_lidar" if adapter.planar else "iris_3d_lidar"


class Aligner:
    """Transforms poses of a SLAM system to the simulation's world frame.

    The transform is fixed by the first pose, at which the vehicle rests at a known position.
    """

    def __init__(self, start: npt.ArrayLike, imu_pos: npt.ArrayLike) -> None:
        """Waits for the first pose.

        Args:
            start: Centre of gravity (3,) at the time of the first pose, world [m].
            imu_pos: IMU (3,) relative to the centre of gravity, body [m]; the body frame of the
                system is the IMU's.
        """
        self._start, self._imu_pos = np.array(start, float), np.array(imu_pos, float)
        self._world_from_map: np.ndarray | None = None  # (4, 4) from the system's world frame

    @property
    def aligned(self) -> bool:
        """Whether the first pose has been taken."""
        return self._world_from_map is not None

    def __call__(
        self, pose: Sequence[float], attitude: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the position of the centre of gravity (3,) [m] and quaternion (4,) xyzw, world.

        Args:
            pose: x, y, z, qx, qy, qz, qw of a link.Answer.
            attitude: (4,) xyzw, the estimated attitude; used at the first call.
        """
        matrix = pose_matrix(pose[:3], pose[3:])
        if self._world_from_map is None:
            offset = Rotation.from_quat(attitude).apply(self._imu_pos)
            initial = pose_matrix(self._start + offset, attitude)
            self._world_from_map = initial @ np.linalg.inv(matrix)
        matrix = self._world_from_map @ matrix
        rotation = Rotation.from_matrix(matrix[:3, :3])
        return matrix[:3, 3] - rotation.apply(self._imu_pos), rotation.as_quat()


class _Vision(Observer):
    """Passes the stereo pairs or scans to the system, and its poses to the estimator."""

    wants_readings = True

    def __init__(
        self, flight: Flight, adapter: adapters.Adapter, latency_us: int, event: Callable[..., None]
    ) -> None:
        kind = "lidar" if adapter.takes_scans else "stereo"
        sensor, blocks = first_sensor(flight, kind), flight.fleet.vehicles[0].sensors
        if sensor is None:
            raise SlamError(
                f"'{adapter.name}' needs a {kind} sensor: give --vehicle "
                + (_lidar(adapter) if adapter.takes_scans else "iris_stereo")
            )
        imu, imu_pos = imu_of(blocks)
        assert flight.folder is not None  # the recorder has made its dataset there
        folder = flight.folder / _SYSTEM
        self._scanner = None
        if adapter.takes_scans:
            self._scanner = Scanner.from_simulation(sensor["parameters"][0], imu_pos)
            DatasetWriter(folder, imu, self._scanner).close()
        else:
            DatasetWriter(folder, stereo_calibration(sensor, blocks)[0]).close()
        self._flight, self._latency_us, self._event = flight, latency_us, event
        self._key = sensor["vehicle"], sensor["sensor"]
        self._imu = "imu" in adapter.inputs
        self._axes = 2 if adapter.planar else 3  # of a position
        # The start position of the scenario is known.
        self._align = Aligner(flight.state.pos[0], imu_pos)
        # Times of delivery and of exposure, position, quaternion.
        self._pending: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        self._errors: list[float] = []
        self._lost = 0
        self._answers: queue.Queue[link.Answer] = queue.Queue()
        self._system = runner.SystemRun(adapter, folder, folder)
        self._session = self._system.session
        self._session.on_answer = self._answers.put
        atexit.register(self._end)  # an aborted flight calls no report()
        # True positions by time of exposure, for the error of the poses.
        self._truth: dict[int, np.ndarray] = {}

    def end(self) -> dict[str, Any]:
        """Stops the system; returns the metrics of its poses."""
        self._end()
        errors = np.array(self._errors or [np.nan])
        return {
            "vision_system": self._system.outcome.system,
            "vision_poses": len(self._errors),
            "vision_lost": self._lost,
            "vision_reason": self._session.reason,
            "vision_rms_m": round(float(np.sqrt(np.mean(errors**2))), 3),
            "vision_max_m": round(float(errors.max()), 3),
            "vision_cpu_percent": self._system.outcome.cpu_percent,
        }

    def _end(self) -> None:
        atexit.unregister(self._end)
        self._system.close()

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Sends the IMU to the system, and due poses to the estimator."""
        if self._imu and t_us > _REST_US // 2:  # so that the first pair comes with readings
            self._session.imu(t_us, sensors.gyro[0], sensors.accel[0])
        self._truth[t_us] = state.pos[0].copy()
        while self._pending and self._pending[0][0] <= t_us:
            _, measured_us, position, quat = self._pending.pop(0)
            autopilot = self._flight.autopilot  # another one when the fleet has changed
            cast(ExternalPose, autopilot).take_pose(0, measured_us, position, quat)
            error = position - self._truth.pop(measured_us)
            self._errors.append(float(np.linalg.norm(error[: self._axes])))

    def on_reading(self, reading: Reading) -> None:
        """Submits a pair or scan to the system and waits for its answer."""
        if (
            (reading.vehicle, reading.sensor) != self._key
            or reading.t_us < _REST_US
            or self._session.failed()
        ):
            return
        if self._scanner is not None:
            points = self._scanner.points(reading.data["ranges"])
            self._session.submit_frame(reading.t_us, link.pack_scan(reading.t_us, points))
        else:
            self._session.submit(reading.t_us, reading.data["left"], reading.data["right"])
        self._session.frames += 1
        answer = self._wait_for_answer()
        if answer is None:
            self._event(reading.t_us, "vision", index=self._session.reason)
        elif answer.pose is None or not answer.finite:
            self._lost += 1
        else:
            self._schedule(reading.t_us, answer.pose)

    def _wait_for_answer(self) -> link.Answer | None:
        """Returns the answer to the last pair; None if the system has failed."""
        while not self._session.failed():
            try:
                return self._answers.get(timeout=0.2)
            except queue.Empty:
                pass
        return None

    def _schedule(self, t_us: int, pose: Sequence[float]) -> None:
        if not self._align.aligned:
            self._event(t_us, "vision", index="aligned")
        position, quat = self._align(pose, self._flight.autopilot.estimates().quat[0])
        self._pending.append((t_us + self._latency_us, t_us, position, quat))
