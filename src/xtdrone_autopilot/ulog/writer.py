"""Flight log of a fleet: one ULog per vehicle, written during the flight.

A file gets its final name once its header is complete. After that, only complete messages are
appended. So the log is readable even if the simulation is killed, and at most the last simulated
second is missing. Data that a full disk rejects are left out; a dropout message gives the length of
the gap.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.log_file import LogFile, LogGaps
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.earth.geoid import geoid_height
from xtdrone_dynamics.shared_work import SharedWork, worthwhile

from ..errors import AutopilotError
from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..parameters import store as parameters
from ..safety.battery import Battery
from ..state.clock import StepClock
from ..state.local_origin import LocalOrigins
from ..state.readings import Readings
from . import format as ulog_format
from .fill import fill_constants
from .kernel import VEHICLES_PER_TASK, LogArguments, SnapshotNumbers, append
from .snapshot import SNAPSHOT

PROFILES = ("full", "fleet", "identification")
FLUSH_US = 1_000_000  # period of writing each vehicle's buffer to its file [us]
STEP_US = 4_000  # period of the lockstep [us]
PARAMETERS_US = 100_000  # period of the check for changed parameters [us]
SPARE = 8192  # room in a buffer for text messages, parameters and state changes [bytes]
_INFO: dict[str, str | int] = {
    "sys_name": "XTDrone",
    "ver_hw": "XTDRONE_EMBEDDED",
    "ver_sw_release": 0x010F04FF,
    "ver_data_format": 2,
    "time_ref_utc": 0,
}


@dataclass(frozen=True)
class Logged:
    """Records of the flight stack that a flight log reads."""

    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: parameters.ParameterStore
    estimator: Estimator
    battery: Battery
    missions: Missions
    commands: np.ndarray  # (N, A) actuator commands
    clock: StepClock
    readings: Readings
    origin: tuple[
        float, float, float
    ]  # latitude, longitude [rad] and height [m] of the world's origin
    local_origins: LocalOrigins


class FleetLog(Memory):
    """Writes folder/<vehicle>/log001.ulg and so on for each vehicle of a flight stack."""

    MEMORY = ("_state_key", "_snapshots")

    def __init__(
        self,
        logged: Logged,
        motors: np.ndarray,
        names: Sequence[str],
        folder: Path | str,
        profile: str,
    ):
        """Starts a log for each vehicle.

        Args:
            logged: The flight stack's records.
            motors: (N,) number of motors of each vehicle.
            names: Name of each vehicle, and of its folder.
            folder: Parent folder of the vehicles' folders.
            profile: Logging profile, one of PROFILES.

        Raises:
            AutopilotError: The folder cannot be written.
        """
        self._logged = logged
        self._values = logged.parameters.values
        self._topics = [topic for topic in ulog_format.topics() if topic.periods[profile]]
        sensors = logged.readings.sensors
        extra = [extra for extra in sensors.extra.values() if extra.log is not None]
        self._extra = [
            ulog_format.ExtraTopic(each, len(self._topics) + k) for k, each in enumerate(extra)
        ]
        self._names = list(names)
        self.folders = [Path(folder) / name for name in names]
        self._number = [0] * len(self.folders)
        self._gaps = LogGaps()
        self._files: list[LogFile] = []  # current log of each vehicle
        n = len(self.folders)
        periods = np.array([topic.periods[profile] for topic in self._topics])
        self._grid_us = int(np.gcd.reduce(periods))
        cycle_us = np.arange(0, np.lcm.reduce(periods), self._grid_us)
        self._schedule = cycle_us[:, None] % periods == 0
        self._layout = ulog_format.message_layout(self._topics)
        bytes_per_flush = (self._layout.sizes * np.ceil(FLUSH_US / periods + 1)).sum()
        self._buffers = np.zeros((n, int(bytes_per_flush) + SPARE), dtype=np.uint8)
        self._lengths = np.zeros(n, dtype=np.int64)
        self._state_key = np.full(n, -1, dtype=np.int64)
        self._snapshots = np.zeros(n, dtype=SNAPSHOT)
        fill_constants(self._snapshots, logged.origin, geoid_height(*logged.origin[:2]), motors)
        self._snapshots["system_id"] = self._values["MAV_SYS_ID"]
        self._t_us = np.zeros(1, dtype=np.int64)
        self._work: SharedWork | None = None
        self._readings: np.ndarray | None = None  # records that _work reads
        # Parameters as last logged, and whether one has been set since then.
        self._logged_values, self._bits = self._values.copy(), logged.parameters.bits()
        self._parameter_set = False
        logged.parameters.listeners.append(self._on_parameter)
        # Vehicles whose buffers are flushed at each offset in FLUSH_US [us].
        self._flush_schedule: dict[int, list[int]] = {}
        for i in range(n):
            self._flush_schedule.setdefault(FLUSH_US * i // n // STEP_US * STEP_US, []).append(i)
        self.remember_start()
        for i in range(n):
            self._files.append(self._next_file(i))
            try:
                self._create(i, logged.clock.t_us)
            except OSError as error:
                raise AutopilotError(
                    f"cannot write the flight log '{self._files[i].path}': {error.strerror}; set "
                    "XTDRONE_RUNS to a folder that can be written, or log:=none"
                ) from error

    @property
    def paths(self) -> list[Path]:
        """Path of the current log of each vehicle."""
        return [file.path for file in self._files]

    def collect_gaps(self, gaps: LogGaps) -> None:
        """Records data that the disk rejects in `gaps`, from the start on."""
        self._gaps = gaps
        for file in self._files:
            file.gaps = gaps

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Starts a new file for each vehicle of mask, (N,) bool; None for all."""
        super().reset(mask)
        for i in range(len(self._files)) if mask is None else np.flatnonzero(mask).tolist():
            self._begin_next(i)

    def load(self, snapshot: Snapshot) -> None:
        """Restores a snapshot of save(), and continues in new files."""
        super().load(snapshot)
        self._note_parameters()
        keys = self._state_key.copy()
        for i in range(len(self._files)):
            self._begin_next(i)
        self._state_key[:] = keys

    def _begin_next(self, i: int) -> None:
        """Flushes the file of vehicle i, and starts the next one."""
        self.flush(i)
        self._logged_values[i] = self._values[i]
        self._bits[i] = self._logged.parameters.bits(slice(i, i + 1))[0]
        self._begin(i)

    def step(self, t_us: int) -> None:
        """Logs the topics and parameters that are due, after a step of the flight stack."""
        if self._logged.clock.any_due(self._grid_us):
            self._append(t_us)
        for topic in self._extra:
            if t_us % topic.period_us == 0:
                for i, data in topic.messages(t_us):
                    self._append_bytes(i, data)
        if t_us % PARAMETERS_US == 0:
            self._append_parameters()
        for i in self._flush_schedule.get(t_us % FLUSH_US, ()):
            self.flush(i)

    def text(self, i: int, t_us: int, severity: int, words: str) -> None:
        """Logs a text message of vehicle i; severity is a MAV_SEVERITY."""
        self._append_bytes(i, ulog_format.text(severity, t_us, words))

    def flush(self, i: int) -> None:
        """Writes the buffer of vehicle i to its file."""
        file, data = self._files[i], self._buffers[i, : self._lengths[i]]
        t_us = self._logged.clock.t_us
        self._lengths[i] = 0
        if not len(data):
            return
        if not file.broken:
            file.append(data, t_us)
            return
        try:
            if not file.path.exists():
                self._create(i, file.good_us)
        except OSError as error:
            file.fail(str(error.strerror), t_us)
            return
        missing = max(0, t_us - FLUSH_US - file.good_us)
        if file.append(ulog_format.dropout(missing) + data.tobytes(), t_us):
            self._state_key[i] = -1  # so that topics of state changes are logged again

    def erase(self, i: int) -> None:
        """Deletes the logs of vehicle i and starts a new one."""
        self._lengths[i] = 0
        for path in self.files(i):
            with contextlib.suppress(OSError):
                path.unlink()
        self._begin(i)

    def files(self, i: int) -> list[Path]:
        """Paths of the logs of vehicle i, oldest first."""
        return sorted(self.folders[i].glob("*.ulg"))

    def close(self) -> None:
        """Writes all buffers to the files; may be called twice."""
        for i in range(len(self._files)):
            self.flush(i)

    def _begin(self, i: int) -> None:
        """Starts the next file of vehicle i."""
        self._files[i] = self._next_file(i)
        try:
            self._create(i, self._logged.clock.t_us)
        except OSError as error:
            self._files[i].fail(str(error.strerror), self._logged.clock.t_us)

    def _next_file(self, i: int) -> LogFile:
        """Returns the next file of vehicle i, which does not exist yet."""
        self._number[i] += 1
        return LogFile(
            self.folders[i] / f"log{self._number[i]:03d}.ulg",
            self._gaps,
            self._logged.clock.t_us,
            create=False,
        )

    def _create(self, i: int, start_us: int) -> None:
        """Writes the header of the file of vehicle i from start_us on; then it gets its name."""
        path = self._files[i].path
        values = ulog_format.parameters(self._bits[i])
        info: dict[str, str | int] = {**_INFO, "sys_uuid": self._names[i]}
        part = path.with_suffix(".part")
        self.folders[i].mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(
                ulog_format.header(start_us, [*self._topics, *self._extra], info, values)
            )
            os.replace(part, path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        self._state_key[i] = -1

    def _append(self, t_us: int) -> None:
        """Appends the messages that are due at t_us [us] to the buffers."""
        sensors = self._logged.readings.sensors
        if self._work is None or sensors.records is not self._readings:
            self._readings = sensors.records
            self._work = self._new_work(sensors.records)
        self._t_us[0] = t_us
        self._work.do()

    def _new_work(self, readings: np.ndarray) -> SharedWork:
        """Returns the work of a step with these readings, (N,) of SENSORS."""
        logged, n = self._logged, len(self._lengths)
        doubles = self._snapshots.view(np.float64).reshape(n, -1)
        shape = doubles.shape
        arrays = doubles, np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int64)
        arguments = LogArguments(
            self._t_us,
            logged.clock.epoch_us,
            self._grid_us,
            self._schedule,
            self._layout,
            np.array([topic.on_change for topic in self._topics]),
            np.array([topic.where for topic in self._topics]),
            self._buffers,
            self._lengths,
            self._state_key,
            self._snapshots,
            SnapshotNumbers(*arrays, *(array.view(np.uint8) for array in arrays)),
            logged.origin,
            logged.local_origins.places,
            logged.local_origins.moved,
            logged.status,
            self._values,
            logged.estimator.records,
            readings,
            logged.battery.records,
            logged.missions.records,
            logged.commands,
        )
        tasks = -(-n // VEHICLES_PER_TASK)
        return SharedWork(append, tasks, arguments, threaded=worthwhile(n))

    def _append_parameters(self) -> None:
        """Logs the parameters that have changed."""
        if not self._parameter_set and np.array_equal(
            self._values.view(np.uint8), self._logged_values.view(np.uint8)
        ):
            return
        before = self._bits
        self._note_parameters()
        names = list(parameters.table().values())
        for i, k in np.argwhere(self._bits != before):
            p = names[k]
            self._append_bytes(i, ulog_format.parameter(p.name, p.type, self._bits[i, k]))

    def _on_parameter(self, i: int, parameter: parameters.Parameter) -> None:
        """Notes that a parameter was set."""
        self._parameter_set = True

    def _note_parameters(self) -> None:
        """Keeps the present parameters as logged."""
        self._logged_values[:], self._bits = self._values, self._logged.parameters.bits()
        self._parameter_set = False

    def _append_bytes(self, i: int, data: bytes) -> None:
        """Appends a message to the buffer of vehicle i."""
        if self._lengths[i] + len(data) > self._buffers.shape[1]:
            self.flush(i)
        at = self._lengths[i]
        self._buffers[i, at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._lengths[i] += len(data)
