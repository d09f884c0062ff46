"""The Agent that flies a reference trajectory in closed loop, and records it as a dataset."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import run_folder
from xtdrone_core.contracts import Observer
from xtdrone_core.flight_agent import FlightAgent

from ..datasets.bag import BagWriter
from ..datasets.calibration import Calibration, Camera, Imu
from ..datasets.dataset import Dataset, DatasetWriter
from ..errors import SlamError
from ..flight import trajectories
from ..flight.options import FlightOptions

_HOLD_S = 1.0  # at rest before and after the trajectory [s]
_NEAR = 0.5  # between the take-off and the trajectory's first place, horizontally [m]
_IMU_TAGS = ("gyroscopeNoiseDensity", "gyroscopeRandomWalk", "accelerometerNoiseDensity",
             "accelerometerRandomWalk")


class TrajectoryAgent(FlightAgent):
    """Takes off, follows position and yaw of a trajectory by itself, and lands.

    With a vehicle that has a stereo pair, images, IMU and the true state go to the
    folder `dataset` of the run from the moment it is at its height until it comes down.
    Events beside those of FlightAgent: `trajectory` (index: per cent flown).
    """

    def __init__(self, n: int = 1, trajectory: str = "reference", about: dict | None = None,
                 bag: bool = False, on_event=None):
        """A flight.

        Args:
            n: Number of vehicles; must be 1.
            trajectory: See trajectories.load.
            about: A FlightOptions as plain data; a whole flight leaves it as slam.json.
            bag: Whether to write bags/flight.bag, too.
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            SlamError: More than one vehicle, or a trajectory that makes no sense.
        """
        if n != 1:
            raise SlamError(f"{n} vehicles cannot fly one trajectory: give one")
        self.trajectory = trajectories.load(trajectory)
        first = self.trajectory.at(0.0)[0]
        super().__init__(1, float(first[2]), climb_speed=1.0, land_from=0.5, on_event=on_event)
        self._begin_us = None
        self._told = 0
        self._recorder = None
        self._about, self._bag = about, bag

    def attach(self, simulation) -> None:
        """Records from a simulation; called once, before the flight.

        Raises:
            SlamError: The vehicle has no stereo pair, no folder to write to, or does not stand
                below the trajectory's first place.
        """
        self._check_start(simulation.state.pos[0])
        self._recorder = _Recorder(simulation, self._bag)
        simulation.observers.append(self._recorder)

    def save(self):
        """A recording goes to files that cannot be taken up again.

        Raises:
            SlamError: Always.
        """
        raise SlamError("a flight that records a dataset cannot be saved: fly it anew")

    def reset(self, mask=None):
        """As save().

        Raises:
            SlamError: Always.
        """
        raise SlamError("a flight that records a dataset cannot be reset: fly it anew")

    def begin(self, t_us, estimates):
        """The trajectory begins a second from now; its first place must be above the start."""
        self._check_start(self.pads[0])
        self._begin_us = t_us + round(_HOLD_S * 1e6)
        if self._recorder is not None:
            self._recorder.start()

    def fly(self, t_us, estimates, out):
        """Place and yaw of the moment, with their rates, so that the vehicle does not lag."""
        t = (t_us - self._begin_us) * 1e-6
        out.pos[0], out.vel[0], yaw, out.yaw_rate[0], out.acc[0] = self.trajectory.at(t)
        out.yaw[0] = yaw
        share = int(100.0 * min(max(t / self.trajectory.duration, 0.0), 1.0))
        if share >= self._told + 10:
            self._told = share - share % 10
            self.event(t_us, "trajectory", index=f"{self._told} %")
        over = t > self.trajectory.duration + _HOLD_S
        if over:
            self._yaw = np.array([yaw])
            if self._recorder is not None:
                self._recorder.stop()
        return over

    def _check_start(self, place):
        x, y, _ = self.trajectory.at(0.0)[0]
        apart = np.hypot(place[0] - x, place[1] - y)
        if apart > _NEAR:
            raise SlamError(f"the vehicle stands {apart:.1f} m beside the trajectory's first "
                            f"place: start it there, with --vehicles 'iris_stereo@{x:.2f},{y:.2f}'")

    def report(self, folder) -> None:
        """Says how near the flight came to the trajectory; called after it.

        Args:
            folder: Run folder, whose summary.json gets the numbers.
        """
        if self._recorder is None or self._recorder.frames == 0 or self._begin_us is None:
            return
        table = self._recorder.truth()
        flown = table[:, 0] * 1e6 >= self._begin_us
        errors, turns = [], []
        for t, x, y, z, *quat in table[flown][::10]:
            pos, _, yaw, *_ = self.trajectory.at(t - self._begin_us * 1e-6)
            axis = Rotation.from_quat(quat).as_matrix()[:, 0]
            turn = np.arctan2(axis[1], axis[0]) - yaw
            errors.append(np.linalg.norm(pos - (x, y, z)))
            turns.append(np.degrees(abs((turn + np.pi) % (2 * np.pi) - np.pi)))
        numbers = {"dataset_frames": self._recorder.frames,
                   "trajectory_length_m": round(float(np.linalg.norm(
                       np.diff(table[:, 1:4], axis=0), axis=1).sum()), 2),
                   "tracking_rms_m": round(float(np.sqrt(np.mean(np.square(errors)))), 3),
                   "tracking_max_m": round(float(np.max(errors)), 3),
                   "yaw_rms_deg": round(float(np.sqrt(np.mean(np.square(turns)))), 2),
                   "yaw_max_deg": round(float(np.max(turns)), 2)}
        run_folder.update_summary(folder, **numbers)
        if self.done and self._about:
            FlightOptions(**self._about).save(folder)
        for name, value in numbers.items():
            print(f"{name}: {value}")


class _Recorder(Observer):
    """Writes what a simulation's first stereo pair, IMU and engine say."""

    wants_readings = True

    def __init__(self, simulation, bag):
        pairs = [sensor for sensor in simulation.rendered_sensors() if sensor["kind"] == "stereo"]
        if not pairs or simulation.folder is None:
            raise SlamError("nothing to record: fly a vehicle with a stereo pair, for example "
                            "--vehicle iris_stereo")
        sensor = pairs[0]
        calibration, self._imu_pos = calibrated(sensor, simulation.fleet.vehicles[0].sensors)
        folder = Path(simulation.folder)
        self._writer = DatasetWriter(folder / "dataset", calibration)
        self._bag = BagWriter(folder / "bags" / "flight.bag", calibration) if bag else None
        self._key = sensor["vehicle"], sensor["sensor"]
        self._depth_key = next(((other["vehicle"], other["sensor"])
                                for other in simulation.rendered_sensors()
                                if other["kind"] == "depth" and _same_view(other, sensor)), None)
        self._depths, self._pairs = {}, {}  # what waits for the other of its time, by time
        self._from_us = self._until_us = None
        self._simulation = simulation

    @property
    def frames(self) -> int:
        """Stereo pairs so far."""
        return self._writer.frames

    def start(self):
        """Records from now on."""
        self._from_us = self._simulation.t_us

    def stop(self):
        """Takes nothing more but the images that are still on their way."""
        self._until_us = self._simulation.t_us

    def close(self) -> None:
        """Ends the files. May be called twice."""
        self._writer.close()
        if self._bag is not None:
            self._bag.close()

    def truth(self) -> np.ndarray:
        """The recorded trajectory (T, 8); ends the recording."""
        self.close()
        return Dataset(self._writer.folder).truth()

    def _recording(self, t_us):
        return (self._from_us is not None and t_us >= self._from_us
                and (self._until_us is None or t_us <= self._until_us))

    def on_reading(self, reading):
        """Pairs, and depth images of the same view."""
        if not self._recording(reading.t_us):
            return
        key = reading.vehicle, reading.sensor
        if key == self._key:
            self._pairs[reading.t_us] = reading.data["left"], reading.data["right"]
        elif key == self._depth_key:
            self._depths[reading.t_us] = reading.data["depth"]
        whole = set(self._pairs) & set(self._depths) if self._depth_key else set(self._pairs)
        for t_us in sorted(whole):
            if self._depth_key:
                self._writer.depth(t_us, self._depths.pop(t_us))
            pair = self._pairs.pop(t_us)
            self._writer.images(t_us, *pair)
            if self._bag is not None:
                self._bag.images(t_us, *pair)

    def on_step(self, t_us, state, sensors):
        """IMU and truth."""
        if not self._recording(t_us):
            return
        turn = Rotation.from_quat(state.quat[0])
        pos = state.pos[0] + turn.apply(self._imu_pos)
        vel = state.vel[0] + turn.apply(np.cross(state.ang_vel[0], self._imu_pos))
        for file in filter(None, (self._writer, self._bag)):
            file.truth(t_us, pos, state.quat[0], vel)
            file.imu(t_us, sensors.gyro[0], sensors.accel[0])


def calibrated(sensor: dict, blocks) -> tuple[Calibration, np.ndarray]:
    """The calibration of a stereo pair and the place (3,) of the IMU from the centre of gravity.

    Args:
        sensor: The pair, as the simulation's request `sensors` describes it.
        blocks: SensorBlocks of its vehicle.

    Raises:
        SlamError: The pair is not grey, or the IMU's noise is unknown.
    """
    if any(len(shape) != 2 for _, _, shape in sensor["arrays"]):
        raise SlamError(f"the pair '{sensor['sensor']}' is not grey: give format mono8")
    block = next((block for block in blocks if block.kind == "imu"), None)
    if block is None or not all(tag in block.parameters for tag in _IMU_TAGS):
        raise SlamError(f"the vehicle's IMU must state {', '.join(_IMU_TAGS)} in its SDF, for "
                        "the calibration files")
    imu_pos = np.array(block.pos)
    cameras = [Camera.from_simulation(values, 1e6 / sensor["period_us"], imu_pos)
               for values in sensor["parameters"]]
    imu = Imu(250.0, *(float(block.parameters[tag]) for tag in _IMU_TAGS))
    return Calibration(*cameras, imu), imu_pos


def _same_view(one, pair) -> bool:
    """Whether a camera sees what the pair's left one sees, at the same times."""
    names = ("pos", "quat", "width", "height", "fx", "fy", "cx", "cy")
    return one["period_us"] == pair["period_us"] and all(
        np.allclose(one["parameters"][0][name], pair["parameters"][0][name], atol=1e-3)
        for name in names)
