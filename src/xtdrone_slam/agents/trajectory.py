"""The Agent that flies a reference trajectory and records the flight as a dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option

from ..errors import SlamError
from ..flight import trajectories
from ..flight.options import GROUND, HOVER, FlightOptions
from .recorder import Recorder

TRAJECTORY = Option("reference, rounds, a CSV or TUM file, or a run folder")
_HOLD_S = 1.0  # hover before and after the trajectory [s]
_START_RADIUS = 0.5  # horizontally, between take-off and start of the trajectory [m]


class TrajectoryAgent(FlightAgent):
    """Takes off, tracks position and yaw of a trajectory, and lands.

    Images of its stereo camera or scans of its lidar, IMU and the true state are recorded to the
    folder `dataset` of the run, from the end of the climb, or from the ground, to the start of the
    descent. In addition to the events of FlightAgent: `trajectory` (index: per cent flown).

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
        record_from: Annotated[
            str,
            Option("hover after the climb, or ground: at rest before it", choices=(HOVER, GROUND)),
        ] = HOVER,
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
        self.recorder: Recorder | None = None
        self._metadata, self._bag = metadata, bag
        self._from_ground = record_from == GROUND

    def attach(self, flight: Flight) -> None:
        """Sets up the recording. Called once, before the flight.

        Raises:
            SlamError: The vehicle has neither stereo pair nor lidar, the run has no folder, or the
                vehicle does not stand below the start of the trajectory.
        """
        self._check_start(flight.state.pos[0])
        self.recorder = Recorder(flight, self._bag)
        flight.observers.append(self.recorder)
        if self._from_ground:
            self.recorder.start()

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
        if self.recorder is not None and not self._from_ground:
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
