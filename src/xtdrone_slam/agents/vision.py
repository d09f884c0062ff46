"""A system under test in the loop: its pose is external vision for the estimator, GPS is off."""

import atexit
import queue
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import run_folder
from xtdrone_core.contracts import ExternalPose, Observer, SettableParameters, required

from ..benchmark import adapters, runner
from ..datasets.calibration import pose_matrix
from ..datasets.dataset import DatasetWriter
from ..errors import SlamError
from .trajectory import TrajectoryAgent, calibrated

LATENCY_MS = 80.0  # of the poses, from the exposure [ms]
_REST_US = 2_000_000  # at rest, in which the estimator finds its attitude
_SYSTEM = "vision"  # folder in the run's, for the calibration and what the system leaves


class VisionAgent(TrajectoryAgent):
    """Flies a trajectory on the poses of a visual system, which sees the vehicle's stereo pair.

    The system's world is aligned once, at rest before the flight: the place is where the scenario
    sets the vehicle down, the attitude is the estimator's. GPS is switched off in the estimator,
    by its parameter. The flight waits for each answer of the system, which reaches the estimator
    a fixed latency after the exposure, so two flights are equal where the system is
    deterministic. Events beside those of TrajectoryAgent: `vision` (index: what became of it).
    """

    def __init__(self, n: int = 1, trajectory: str = "reference", system: str = "orb",
                 latency_ms: float = LATENCY_MS, gps_off: bool = True, on_event=None):
        """A flight.

        Args:
            n: Number of vehicles; must be 1.
            trajectory: See trajectories.load.
            system: Name of a system, or a folder with an adapter.yaml.
            latency_ms: From the exposure until the estimator has the pose [ms].
            gps_off: Whether the estimator does without GPS.
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            SlamError: No such system, one that needs depth, or a latency that makes no sense.
        """
        super().__init__(n, trajectory, on_event=on_event)
        if not 0 <= latency_ms <= 200:
            raise SlamError(f"a latency of {latency_ms} ms is not allowed: give 0 to 200")
        self._adapter = adapters.load(system)
        adapters.refuse_depth(self._adapter)
        self._latency_us = round(latency_ms * 1e3)
        self._gps_off = gps_off
        self._vision = None

    def attach(self, simulation) -> None:
        """Starts the system; called once, before the flight.

        Raises:
            SlamError: The vehicle has no stereo pair, or the system cannot be started.
        """
        super().attach(simulation)
        name = f"autopilot '{simulation.scenario.autopilot}'"
        if self._gps_off:
            required(simulation.autopilot, SettableParameters, f"{name} keeps its parameters to "
                     "itself", "switch GPS off there, and give gps_off=false").set_parameter(
                         0, "EKF2_GPS_CTRL", 0)
        required(simulation.autopilot, ExternalPose, f"{name} takes no pose from outside",
                 "fly by another autopilot")
        self._vision = _Vision(simulation, self._adapter, self._latency_us, self.event)
        simulation.observers.append(self._vision)

    def report(self, folder) -> None:
        """As TrajectoryAgent, and how good the poses of the system were."""
        if self._vision is None:
            return
        numbers = self._vision.end()
        super().report(folder)
        run_folder.update_summary(folder, **numbers)
        for name, value in numbers.items():
            print(f"{name}: {value}")


class Aligner:
    """Poses of a system in our world: the first one is where the vehicle stands at rest."""

    def __init__(self, start, imu_pos):
        """For a vehicle at a place, with its IMU there.

        Args:
            start: (3,) centre of gravity when the first pose is true, world [m].
            imu_pos: (3,) of the IMU, whose frame the system's body is, from there, body [m].
        """
        self._start, self._imu_pos = np.array(start, float), np.array(imu_pos, float)
        self._world = None  # (4, 4) of the system's world in ours

    @property
    def aligned(self) -> bool:
        """Whether there was a pose already."""
        return self._world is not None

    def __call__(self, pose, attitude):
        """Place of the centre of gravity (3,) [m] and quaternion (4,) xyzw, in our world.

        Args:
            pose: x, y, z, qx, qy, qz, qw of a link.Answer.
            attitude: (4,) xyzw that the vehicle believes to have; used at the first call.
        """
        matrix = pose_matrix(pose[:3], pose[3:])
        if self._world is None:
            turn = Rotation.from_quat(attitude)
            here = pose_matrix(self._start + turn.apply(self._imu_pos), attitude)
            self._world = here @ np.linalg.inv(matrix)
        matrix = self._world @ matrix
        turn = Rotation.from_matrix(matrix[:3, :3])
        return matrix[:3, 3] - turn.apply(self._imu_pos), turn.as_quat()


class _Vision(Observer):
    """Shows a simulation's pairs to a system, and its poses to the simulation's estimator."""

    wants_readings = True

    def __init__(self, simulation, adapter, latency_us, event):
        sensor = next(sensor for sensor in simulation.rendered_sensors()
                      if sensor["kind"] == "stereo")
        calibration, imu_pos = calibrated(sensor, simulation.fleet.vehicles[0].sensors)
        folder = Path(simulation.folder) / _SYSTEM
        DatasetWriter(folder, calibration).close()
        self._simulation, self._latency_us, self._event = simulation, latency_us, event
        self._key = sensor["vehicle"], sensor["sensor"]
        self._imu = "imu" in adapter.inputs
        # Where the scenario sets the vehicle down is known.
        self._align = Aligner(simulation.state.pos[0], imu_pos)
        self._due = []  # (time to tell, time of exposure, place, quaternion)
        self._errors, self._lost = [], 0
        self._answers = queue.Queue()
        self._context = runner.opened(adapter, folder, folder)
        self._session = self._context.__enter__()
        self._session.on_answer = self._answers.put
        atexit.register(self._end)  # a flight that breaks off has no report
        self._truth = {}  # exposure: true place, to tell how good the poses are

    def end(self) -> dict:
        """Ends the system; returns the numbers of the flight."""
        self._end()
        errors = np.array(self._errors or [np.nan])
        return {"vision_system": self._session.outcome.system, "vision_poses": len(self._errors),
                "vision_lost": self._lost, "vision_reason": self._session.reason,
                "vision_rms_m": round(float(np.sqrt(np.mean(errors ** 2))), 3),
                "vision_max_m": round(float(errors.max()), 3),
                "vision_cpu_percent": self._session.outcome.cpu_percent}

    def _end(self):
        atexit.unregister(self._end)
        self._context.__exit__(None, None, None)

    def on_step(self, t_us, state, sensors):
        """IMU to the system, and the poses that are due to the estimator."""
        if self._imu and t_us > _REST_US // 2:  # the first pair finds some
            self._session.imu(t_us, sensors.gyro[0], sensors.accel[0])
        self._truth[t_us] = state.pos[0].copy()
        while self._due and self._due[0][0] <= t_us:
            _, measured_us, place, quat = self._due.pop(0)
            self._simulation.autopilot.take_pose(0, measured_us, place, quat)
            self._errors.append(np.linalg.norm(place - self._truth.pop(measured_us)))

    def on_reading(self, reading):
        """A pair to the system; waits for its answer."""
        if ((reading.vehicle, reading.sensor) != self._key or reading.t_us < _REST_US
                or self._session.failed()):
            return
        self._session.offer(reading.t_us, reading.data["left"], reading.data["right"])
        self._session.frames += 1
        answer = self._await()
        if answer is None:
            self._event(reading.t_us, "vision", index=self._session.reason)
        elif answer.pose is None or not answer.finite:
            self._lost += 1
        else:
            self._tell(reading.t_us, answer)

    def _await(self):
        """The answer to the last pair; None where the system has failed."""
        while not self._session.failed():
            try:
                return self._answers.get(timeout=0.2)
            except queue.Empty:
                pass
        return None

    def _tell(self, t_us, answer):
        if not self._align.aligned:
            self._event(t_us, "vision", index="aligned")
        place, quat = self._align(answer.pose, self._simulation.autopilot.estimates().quat[0])
        self._due.append((t_us + self._latency_us, t_us, place, quat))
