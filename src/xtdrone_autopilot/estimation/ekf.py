"""Estimator of the embedded flight stack: an error-state EKF in the role of PX4's EKF2."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_core import SensorBatch, files
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.lane_numbers import LANES
from xtdrone_dynamics.shared_work import SharedWork, worthwhile

from ..errors import AutopilotError
from ..interfaces import Estimator
from ..parameters.store import ParameterStore, table
from ..state.estimator_flags import ALIGNED, GPS_USED, MAG_USED, POSITION_VALID, VISION_USED
from .auxiliary import fuse_horizontal_velocity
from .kernel import step_fleet
from .lanes import STEP_TIME, blocks_of, new_scratch, step_block
from .readiness import why_no_attitude, why_no_source
from .state import FILTER, HISTORY_STEPS, PAST_STATE, SIZE, VehicleEkf, reset_filter
from .vision import fuse_vision

_STEP_US = 4_000  # assumed length of the step before the first [us]

RETUNE_STEPS = 250  # period at which changes of the parameters in SCALED are applied [steps]

# Tuning value to the parameter of EKF2 that scales it. A parameter acts relative to its default,
# because this filter has other states and other noise than EKF2.
SCALED = {
    "gyro_noise": "EKF2_GYR_NOISE",
    "accel_noise": "EKF2_ACC_NOISE",
    "gyro_bias_walk": "EKF2_GYR_B_NOISE",
    "accel_bias_walk": "EKF2_ACC_B_NOISE",
    "earth_field_walk": "EKF2_MAG_E_NOISE",
    "field_bias_walk": "EKF2_MAG_B_NOISE",
    "gps_pos_noise": "EKF2_GPS_P_NOISE",
    "gps_vel_noise": "EKF2_GPS_V_NOISE",
    "gps_vel_noise_vertical": "EKF2_GPS_V_NOISE",
    "baro_noise": "EKF2_BARO_NOISE",
    "mag_noise": "EKF2_MAG_NOISE",
    "pos_gate": "EKF2_GPS_P_GATE",
    "vel_gate": "EKF2_GPS_V_GATE",
    "baro_gate": "EKF2_BARO_GATE",
    "mag_gate": "EKF2_MAG_GATE",
    "max_eph": "EKF2_REQ_EPH",
    "max_epv": "EKF2_REQ_EPV",
}


@dataclass(frozen=True)
class EkfParameters:
    """Tuning of the Ekf; ekf.yaml holds its defaults."""

    gyro_noise: float  # [rad/s/sqrt(Hz)]
    accel_noise: float  # [m/s^2/sqrt(Hz)]
    gyro_bias_walk: float  # [rad/s/sqrt(s)]
    accel_bias_walk: float  # [m/s^2/sqrt(s)]
    baro_offset_walk: float  # [m/sqrt(s)]
    earth_field_walk: float  # [T/sqrt(s)]
    field_bias_walk: float  # [T/sqrt(s)]
    impact_accel: float  # a larger reading may be saturated [m/s^2]
    impact_vel_noise: float  # velocity change that a saturated reading may miss [m/s]
    rest_gyro_bias_sigma: float  # gyro bias after an alignment at rest [rad/s]
    gyro_bias_sigma: float  # largest deviation of the gyro bias [rad/s]
    rest_accel_bias_sigma: float  # accelerometer bias along gravity, likewise [m/s^2]
    accel_bias_sigma: float  # accelerometer bias across gravity at start [m/s^2]
    earth_field_sigma: float  # model of the Earth's field [T]
    field_bias_sigma: float  # magnetometer bias at start [T]
    start_tilt_sigma: float  # tilt beyond what the accelerometer bias explains [rad]
    rocking_tilt_sigma: float  # the same on a deck that rocks [rad]
    start_yaw_sigma: float  # heading after the alignment [rad]
    start_vel_sigma: float  # velocity after the alignment [m/s]
    start_pos_sigma: float  # position and barometer offset after the alignment [m]
    gps_pos_noise: float  # smallest standard deviation of a fix [m]; else its eph and epv count
    gps_vel_noise: float  # horizontal [m/s]
    gps_vel_noise_vertical: float  # [m/s]
    baro_noise: float  # [m]
    mag_noise: float  # per reading and axis [T]
    pos_gate: float  # largest innovation that is accepted [standard deviations]
    vel_gate: float  # [standard deviations]
    baro_gate: float  # [standard deviations]
    mag_gate: float  # [standard deviations]
    max_eph: float  # horizontal accuracy that a fix must have [m]
    max_epv: float  # vertical accuracy that a fix must have [m]
    align_time: float  # length of the alignment at rest [s]
    rest_accel: float  # largest deviation of an accelerometer axis at rest [m/s^2]
    rest_gyro: float  # largest deviation of a gyro axis at rest [rad/s]
    rest_gravity: float  # largest error of the specific force with bias at rest [m/s^2]
    rest_force: float  # largest error of the specific force without bias at rest [m/s^2]
    rest_rate: float  # largest angular velocity at rest, about PX4's 3 degrees/s [rad/s]
    align_rate: float  # largest mean angular velocity of an alignment [rad/s]
    still_gyro: float  # deviation of a gyro axis above which what it stands on rocks [rad/s]
    rest_time: float  # a landed vehicle without motion for this long is at rest [s]
    zero_velocity_noise: float  # velocity of a vehicle at rest [m/s]
    zero_rate_noise: float  # angular velocity of a vehicle at rest [rad/s]
    no_aid_noise: float  # velocity without a position source [m/s]
    aid_time: float  # a source that passed no test for this long is lost [s]
    reset_time: float  # the state is reset to a source that was rejected for this long [s]
    mag_reset_time: float  # the magnetometer bias is reset after a rejection for this long [s]
    field_bias_reset_sigma: float  # magnetometer bias after that reset [T]
    return_speed: float  # speed at which the position moves to a returned GPS [m/s]
    vision_offset_time: float  # time constant of the origin of vision [s]
    terrain_noise: float  # terrain, while the range aids the height [m/sqrt(s)]
    wind_sigma: float  # wind before it is measured [m/s]
    ready_fixes: int  # number of accepted fixes for `ready`
    ready_yaw: float  # largest deviation of the heading for `ready` [rad]
    ready_vel: float  # largest deviation of the velocity for `ready` [m/s]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value > 0):
                raise AutopilotError(
                    f"{field.name} = {value} is not allowed: give a positive number"
                )

    @classmethod
    def load(cls, path: Path | str | None = None, **changes: float) -> "EkfParameters":
        """Loads a YAML file (by default ekf.yaml) and applies changes.

        Raises:
            AutopilotError: A name is unknown or missing, or a value is invalid.
        """
        path = Path(path) if path else Path(__file__).with_name("ekf.yaml")
        values = {**files.read_yaml(path, "estimator parameters", error=AutopilotError), **changes}
        names = {field.name for field in dataclasses.fields(cls)}
        for name in set(values) - names:
            raise AutopilotError(unknown_name("estimator parameter", name, names))
        for name in names - set(values):
            raise AutopilotError(f"'{path}' does not give {name}: add it")
        return cls(**values)

    def record(self) -> Record:
        """Returns the values as a record for kernels; times are in microseconds.

        The additional field align_steps is align_time in steps.
        """
        values = dataclasses.asdict(self)
        values["align_steps"] = max(1, round(self.align_time * 1e6 / _STEP_US))
        for name in ("rest_time", "aid_time", "reset_time", "mag_reset_time", "vision_offset_time"):
            values[name] = round(values[name] * 1e6)
        kinds = [(name, "i8" if isinstance(value, int) else "f8") for name, value in values.items()]
        return np.array([tuple(values.values())], dtype=kinds)[0]


class Ekf(Estimator):
    """Error-state Kalman filter for each vehicle of a fleet; it uses sensor readings only.

    GPS is the height reference unless EKF2_HGT_REF selects another; the barometer's slow offset is
    estimated. Measurements are fused at their own time. A range finder observes the terrain height
    and, near the ground, aids the vehicle's height. A pitot tube observes the wind. A vehicle is
    aligned in its first half second at rest, and is ready a few fixes later.

    pos_std includes the accuracy that the receiver reports, because no filter can observe the
    receiver's own slow error.

    Attributes beside those of Estimator:
        filters: (N,) of FILTER. Its pos and vel are the filter's, those of Estimator the output
            predictor's.
        baro_offset: (N,) barometric minus true height above the origin [m]; a view.
        earth_field: (N, 3) the Earth's magnetic field, ENU [T]; a view.
        in_lanes: Whether the fleet is large enough to be stepped in SIMD lanes.
        t_us: Time of the last step [us]; None before the first.
    """

    MEMORY = (
        "records",
        "filters",
        "_history",
        "covariances",
        "_times",
        "_count",
        "t_us",
        "_tuning",
    )

    def __init__(
        self,
        n: int,
        origin: Sequence[float],
        magnetic_field_enu: npt.ArrayLike,
        tuning: EkfParameters | None = None,
    ):
        """See Estimator; tuning is that of ekf.yaml by default."""
        self._base = (tuning or EkfParameters.load()).record()
        self._tuning = np.repeat(self._base, n)
        self._untuned = True
        self.t_us: int | None = None
        self._count = 0
        self._times = np.zeros(HISTORY_STEPS, dtype=np.int64)
        self._scratch = np.zeros((6, SIZE))
        self._now = np.zeros(1, dtype=STEP_TIME)
        self._work: SharedWork | None = None
        self._inputs: tuple[np.ndarray, np.ndarray] | None = None  # arrays that _work reads
        self._parameters = ParameterStore(n).values
        self._readings: np.ndarray | None = None  # (N,) of SENSORS, of the last step
        self.filters = np.zeros(n, dtype=FILTER)
        self.baro_offset = self.filters["baro_offset"]
        self.earth_field = self.filters["earth_field"]
        self._history = np.zeros((n, HISTORY_STEPS), dtype=PAST_STATE)
        # A fleet that fills a block is stepped in lanes.
        self.in_lanes = n >= LANES
        self._covs = blocks_of(n) if self.in_lanes else np.zeros((n, SIZE, SIZE))
        super().__init__(n, origin, magnetic_field_enu)
        self._world = (*self.origin, self.field)

    def step(self, sensors: SensorBatch, parameters: np.ndarray | None = None) -> None:
        """Processes the readings of one step; overwrites the attributes in place."""
        if parameters is not None:
            self._parameters = parameters
        dt_us = _STEP_US if self.t_us is None else sensors.t_us - self.t_us
        self.t_us = sensors.t_us
        self._readings = sensors.records
        self._count += 1
        if self._untuned or self._count % RETUNE_STEPS == 0:
            self._retune()
        self._times[self._count % HISTORY_STEPS] = sensors.t_us
        if self.in_lanes:
            self._now[0] = dt_us * 1e-6, sensors.t_us, self._count
            self._blocks(sensors.records).do()
        else:
            step_fleet(
                self._tuning,
                self._parameters,
                self._world,
                dt_us * 1e-6,
                sensors.t_us,
                self._times,
                self._count,
                sensors.records,
                self.records,
                self.filters,
                self._history,
                self._covs,
                self._scratch,
            )

    def _blocks(self, readings: np.ndarray) -> SharedWork:
        """Returns the work on the fleet's blocks with these readings, (N,) of SENSORS."""
        inputs = readings, self._parameters
        if (
            self._work is None
            or self._inputs is None
            or any(a is not b for a, b in zip(inputs, self._inputs))
        ):
            self._inputs = inputs
            self._work = SharedWork(
                step_block,
                len(self._covs),
                (
                    self._tuning,
                    self._parameters,
                    self._world,
                    self._now,
                    self._times,
                    readings,
                    self.records,
                    self.filters,
                    self._history,
                    self._covs,
                ),
                new_scratch,
                worthwhile(len(self.filters)),
            )
        return self._work

    def _retune(self) -> None:
        """Scales the tuning by the parameters of SCALED."""
        for field, name in SCALED.items():
            ratio = self._parameters[name] / np.float32(table()[name].default)
            self._tuning[field] = self._base[field] * ratio.astype(np.float64)
        self._untuned = False

    def fuse_vision(
        self,
        i: int,
        t_us: int,
        pos: npt.ArrayLike,
        quat: npt.ArrayLike,
        pos_sigma: float | None = None,
        yaw_sigma: float | None = None,
    ) -> None:
        """Fuses a pose from outside; call it after the step that it follows.

        Args:
            i: Index of the vehicle.
            t_us: Simulated time of the measurement, up to 250 ms ago [us].
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world; only its heading is used.
            pos_sigma: Standard deviation of each axis [m]; None = EKF2_EVP_NOISE.
            yaw_sigma: Standard deviation of the heading [rad]; None = EKF2_EVA_NOISE.
        """
        if self.t_us is None or self._readings is None:
            return
        params, ekf = self._parameters[i], self._filter_of(i)
        fuse_vision(
            ekf,
            self._times,
            self._count,
            self.t_us,
            t_us,
            np.concatenate([np.asarray(pos, dtype=np.float64), np.asarray(quat, dtype=np.float64)]),
            float(params["EKF2_EVP_NOISE"] if pos_sigma is None else pos_sigma),
            float(params["EKF2_EVA_NOISE"] if yaw_sigma is None else yaw_sigma),
        )
        self.covariance(i)[:] = ekf.cov

    def fuse_velocity(self, i: int, vel: np.ndarray, variance: np.ndarray) -> None:
        """Fuses a velocity over ground; see Estimator."""
        if self.t_us is None or self._readings is None:
            return
        ekf = self._filter_of(i)
        fuse_horizontal_velocity(ekf, self.t_us, vel, variance)
        self.covariance(i)[:] = ekf.cov

    def _filter_of(self, i: int) -> VehicleEkf:
        """The filter of vehicle i; its covariance may be a copy."""
        assert self._readings is not None
        return VehicleEkf(
            self._tuning[i],
            self._parameters[i],
            self._readings[i],
            self.records[i],
            self.filters[i],
            self._history[i],
            np.ascontiguousarray(self.covariance(i)),
            self._scratch,
        )

    def why_not_ready(self, i: int) -> str:
        """Returns why vehicle i is not ready; empty if it is ready."""
        if self.ready[i]:
            return ""
        flags = self.flags[i]
        if self._readings is None or not flags & ALIGNED:
            return why_no_attitude(self.filters[i])
        source = why_no_source(
            self._tuning[i], self._parameters[i], self._readings[i], bool(self.has_gps[i])
        )
        if not flags & POSITION_VALID:
            return f"it has no position yet: {source or 'the first GPS fixes are being checked'}"
        if not flags & (GPS_USED | VISION_USED):
            why = source or "it is lost, or inconsistent with the inertial sensors"
            return f"its position source is lost: {why}"
        if self.att_std[i, 2] >= self._base["ready_yaw"]:
            mag = "" if flags & MAG_USED else ": no reading of the magnetometer is used"
            return f"its heading is not known well enough{mag}"
        return "position and velocity are still settling"

    def _clear(self, mask: np.ndarray) -> None:
        """Resets estimates, filters and covariances of these vehicles, (N,) bool."""
        super()._clear(mask)
        self._untuned = True
        begin_us = 0 if self.t_us is None else self.t_us + _STEP_US
        for i in np.flatnonzero(mask):
            self.covariance(i)[:] = 0.0
            reset_filter(self.filters[i], self.field, begin_us)

    def covariance(self, i: int) -> np.ndarray:
        """Returns the covariance of vehicle i as a view (SIZE, SIZE)."""
        return self._covs[i // LANES, :, :, i % LANES] if self.in_lanes else self._covs[i]

    @property
    def covariances(self) -> np.ndarray:
        """Covariances (N, SIZE, SIZE); a copy if the fleet is in lanes."""
        if not self.in_lanes:
            return self._covs
        return self._covs.transpose(0, 3, 1, 2).reshape(-1, SIZE, SIZE)[: self.n]

    @covariances.setter
    def covariances(self, values: np.ndarray) -> None:
        for i, each in enumerate(values):
            self.covariance(i)[:] = each
