"""The flight log of a fleet: one ULog per vehicle, written during the flight.

A file gets its final name once its header is complete. After that, only complete
messages are appended. So the log is readable even if the simulation is killed, and
at most the last simulated second is missing. What a full disk does not take is left
out, and a dropout message says how long that was.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
from ..state.readings import Readings
from . import format as ulog_format, kernel as ulog_kernel

PROFILES = ("full", "fleet")
FLUSH_US = 1_000_000  # period of writing each vehicle's buffer to its file [us]
STEP_US = 4_000
PARAMETERS_US = 100_000  # period of the check for changed parameters [us]
SPARE = 8192  # of a buffer, for text messages, parameters and state changes [bytes]
_INFO = {
    "sys_name": "XTDrone",
    "ver_hw": "XTDRONE_EMBEDDED",
    "ver_sw_release": 0x010F04FF,
    "ver_data_format": 2,
    "time_ref_utc": 0,
}


@dataclass(frozen=True)
class Logged:
    """The data that a flight log records."""

    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: parameters.ParameterStore
    estimator: Estimator
    battery: Battery
    missions: Missions
    commands: np.ndarray  # (N, A) of the actuators
    clock: StepClock
    readings: Readings
    origin: tuple  # latitude, longitude [rad] and height [m] of the world's origin


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
        self._topics = [t for t in ulog_format.topics() if t.periods[profile]]
        extra = [extra for extra in logged.readings.sensors.extra.values() if extra.log is not None]
        self._extra = [
            ulog_format.ExtraTopic(each, len(self._topics) + k) for k, each in enumerate(extra)
        ]
        self._names = list(names)
        self.folders = [Path(folder) / name for name in names]
        self._number = [0] * len(self.folders)
        self._gaps = LogGaps()
        self._files: list[LogFile] = []  # current log of each vehicle
        n = len(self.folders)
        periods = np.array([t.periods[profile] for t in self._topics])
        self._grid = int(np.gcd.reduce(periods))
        cycle = np.arange(0, np.lcm.reduce(periods), self._grid)
        self._due = cycle[:, None] % periods == 0
        self._on_change = np.array([t.on_change for t in self._topics])
        self._where = np.array([t.where for t in self._topics])
        self._tables = ulog_format.tables(self._topics)
        second = (self._tables[0] * np.ceil(FLUSH_US / periods + 1)).sum()
        self._out = np.zeros((n, int(second) + SPARE), dtype=np.uint8)
        self._length = np.zeros(n, dtype=np.int64)
        self._state_key = np.full(n, -1, dtype=np.int64)
        self._snapshots = np.zeros(n, dtype=ulog_kernel.SNAPSHOT)
        numbers = self._snapshots.view(np.float64).reshape(n, -1)
        forms = numbers, numbers.astype(np.float32), numbers.astype(np.int64)
        self._forms = *forms, *(form.view(np.uint8) for form in forms)
        ulog_kernel.new_snapshots(
            self._snapshots, logged.origin, geoid_height(*logged.origin[:2]), motors
        )
        self._snapshots["system_id"] = self._values["MAV_SYS_ID"]
        self._t_us, self._work, self._readings = np.zeros(1, dtype=np.int64), None, None
        self._known, self._bits = self._values.copy(), logged.parameters.bits()  # as last logged
        self._parameter_set = False  # since then
        logged.parameters.listeners.append(self._on_parameter)
        self._turn = {}  # offset in FLUSH_US [us]: vehicles whose files are written then
        for i in range(n):
            self._turn.setdefault(FLUSH_US * i // n // STEP_US * STEP_US, []).append(i)
        self.remember_start()
        for i in range(n):
            self._files.append(self._next(i))
            try:
                self._create(i)
            except OSError as error:
                raise AutopilotError(
                    f"cannot write the flight log '{self._files[i].path}': {error.strerror}; set "
                    "XTDRONE_RUNS to a folder that can be written, or log:=none"
                ) from error

    @property
    def paths(self) -> list[Path]:
        """Current log of each vehicle."""
        return [file.path for file in self._files]

    def collect_gaps(self, gaps: LogGaps) -> None:
        """Notes there what the disk does not take, from the start on."""
        self._gaps = gaps
        for file in self._files:
            file.gaps = gaps

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Starts a new file for each vehicle of mask (N,) bool, None for all."""
        super().reset(mask)
        for i in range(len(self._files)) if mask is None else np.flatnonzero(mask).tolist():
            self._begin_next(i)

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a snapshot of save(), and continues in new files."""
        super().load(snapshot)
        self._note_parameters()
        keys = self._state_key.copy()
        for i in range(len(self._files)):
            self._begin_next(i)
        self._state_key[:] = keys

    def _begin_next(self, i):
        """Flushes the file of vehicle i, and starts the next one."""
        self.flush(i)
        self._known[i] = self._values[i]
        self._bits[i] = self._logged.parameters.bits(slice(i, i + 1))[0]
        self._begin(i)

    def step(self, t_us: int) -> None:
        """Logs the topics and parameters that are due, after a step of the flight stack."""
        if self._logged.clock.any_due(self._grid):
            self._append(t_us)
        for topic in self._extra:
            if t_us % topic.period_us == 0:
                for i, data in topic.messages(t_us):
                    self._append_bytes(i, data)
        if t_us % PARAMETERS_US == 0:
            self._append_parameters()
        for i in self._turn.get(t_us % FLUSH_US, ()):
            self.flush(i)

    def text(self, i: int, t_us: int, severity: int, words: str) -> None:
        """Logs a text message of vehicle i; severity is a MAV_SEVERITY."""
        self._append_bytes(i, ulog_format.text(severity, t_us, words))

    def flush(self, i: int) -> None:
        """Writes the buffer of vehicle i to its file."""
        file, data, t_us = self._files[i], self._out[i, : self._length[i]], self._logged.clock.t_us
        self._length[i] = 0
        if not len(data):
            return
        if not file.broken:
            file.append(data, t_us)
            return
        try:
            if not file.path.exists():
                self._create(i)
        except OSError as error:
            file.fail(error.strerror, t_us)
            return
        missing = max(0, t_us - FLUSH_US - file.good_us)
        if file.append(ulog_format.dropout(missing) + data.tobytes(), t_us):
            self._state_key[i] = -1  # topics that are logged only on a change are logged again

    def erase(self, i: int) -> None:
        """Deletes the logs of vehicle i and starts a new one."""
        self._length[i] = 0
        for path in self.files(i):
            with contextlib.suppress(OSError):
                path.unlink()
        self._begin(i)

    def files(self, i: int) -> list[Path]:
        """Paths of the logs of vehicle i, oldest first."""
        return sorted(self.folders[i].glob("*.ulg"))

    def close(self) -> None:
        """Writes all buffers to the files. May be called twice."""
        for i in range(len(self._files)):
            self.flush(i)

    def _begin(self, i):
        """Starts the next file of vehicle i."""
        self._files[i] = self._next(i)
        try:
            self._create(i)
        except OSError as error:
            self._files[i].fail(error.strerror, self._logged.clock.t_us)

    def _next(self, i):
        self._number[i] += 1
        return LogFile(
            self.folders[i] / f"log{self._number[i]:03d}.ulg",
            self._gaps,
            self._logged.clock.t_us,
            create=False,
        )

    def _create(self, i):
        """Writes the header of the current file of vehicle i, then gives it its final name."""
        path = self._files[i].path
        values = ulog_format.parameters(self._bits[i])
        info = {**_INFO, "sys_uuid": self._names[i]}
        part = path.with_suffix(".part")
        self.folders[i].mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(ulog_format.header([*self._topics, *self._extra], info, values))
            os.replace(part, path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        self._state_key[i] = -1

    def _append(self, t_us):
        r = self._logged
        if r.readings.sensors.records is not self._readings:
            self._readings, n = r.readings.sensors.records, len(self._length)
            self._work = SharedWork(
                ulog_kernel.append,
                -(-n // ulog_kernel.SHARE),
                (
                    self._t_us,
                    r.clock.epoch_us,
                    self._grid,
                    self._due,
                    self._tables,
                    self._on_change,
                    self._where,
                    self._out,
                    self._length,
                    self._state_key,
                    self._snapshots,
                    self._forms,
                    r.origin,
                    r.status,
                    self._values,
                    r.estimator.records,
                    self._readings,
                    r.battery.records,
                    r.missions.records,
                    r.commands,
                ),
                threaded=worthwhile(n),
            )
        self._t_us[0] = t_us
        self._work.do()

    def _append_parameters(self):
        if not self._parameter_set and np.array_equal(
            self._values.view(np.uint8), self._known.view(np.uint8)
        ):
            return
        before = self._bits
        self._note_parameters()
        names = list(parameters.table().values())
        for i, k in np.argwhere(self._bits != before):
            p = names[k]
            self._append_bytes(i, ulog_format.parameter(p.name, p.type, self._bits[i, k]))

    def _on_parameter(self, i, parameter):
        self._parameter_set = True

    def _note_parameters(self):
        self._known[:], self._bits = self._values, self._logged.parameters.bits()
        self._parameter_set = False

    def _append_bytes(self, i, data):
        if self._length[i] + len(data) > self._out.shape[1]:
            self.flush(i)
        at = self._length[i]
        self._out[i, at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._length[i] += len(data)
