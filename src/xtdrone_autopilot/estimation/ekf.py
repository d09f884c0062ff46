"""The estimator of the embedded flight stack: an error-state EKF in PX4's roles."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import SensorBatch
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.shared_work import SharedWork, worthwhile

from ..errors import AutopilotError
from ..interfaces import Estimator
from ..parameters.store import ParameterStore, table
from ..state.estimator_flags import ALIGNED, GPS_USED, POSITION_VALID, VISION_USED
from .kernel import step_fleet
from .lanes import LANES, NOW, blocks_of, new_scratch, step_block
from .state import FILTER, HISTORY, PAST, SIZE, reset_filter
from .vision import fuse_vision

_STEP_US = 4_000  # assumed length of the step before the first [us]

RETUNE_STEPS = 250  # the parameters of SCALED are looked at once in a second

# What of the tuning a parameter scales, relative to the parameter's value in PX4: this filter
# has other states and other noise than PX4's.
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
    """Tuning of the Ekf; the usual values are in ekf.yaml."""

    gyro_noise: float  # [rad/s/sqrt(Hz)]
    accel_noise: float  # [m/s^2/sqrt(Hz)]
    gyro_bias_walk: float  # [rad/s/sqrt(s)]
    accel_bias_walk: float  # [m/s^2/sqrt(s)]
    baro_offset_walk: float  # [m/sqrt(s)]
    earth_field_walk: float  # [T/sqrt(s)]
    field_bias_walk: float  # [T/sqrt(s)]
    impact_accel: float  # an axis that reads more may be saturated [m/s^2]
    impact_vel_noise: float  # what such a reading may miss of the velocity's change [m/s]
    rest_gyro_bias_sigma: float  # of the gyro bias after an alignment at rest [rad/s]
    gyro_bias_sigma: float  # upper limit of the gyro bias' deviation [rad/s]
    rest_accel_bias_sigma: float  # of the accelerometer bias along gravity after it [m/s^2]
    accel_bias_sigma: float  # of the accelerometer bias across gravity at start [m/s^2]
    earth_field_sigma: float  # of the model of the Earth's field [T]
    field_bias_sigma: float  # of the magnetometer's bias at start [T]
    start_tilt_sigma: float  # beyond what the accelerometer bias explains [rad]
    start_yaw_sigma: float  # [rad]
    start_vel_sigma: float  # [m/s]
    start_pos_sigma: float  # [m]
    gps_pos_noise: float  # least standard deviation of a fix [m]; above it counts eph and epv
    gps_vel_noise: float  # horizontal [m/s]
    gps_vel_noise_vertical: float  # [m/s]
    baro_noise: float  # [m]
    mag_noise: float  # per reading and axis [T]
    pos_gate: float  # largest innovation taken [standard deviations]
    vel_gate: float  # [standard deviations]
    baro_gate: float  # [standard deviations]
    mag_gate: float  # [standard deviations]
    max_eph: float  # fixes less accurate than this are not used [m]
    max_epv: float  # [m]
    align_time: float  # the vehicle must rest that long at start [s]
    rest_accel: float  # at rest: deviation of each accelerometer axis below this [m/s^2]
    rest_gyro: float  # at rest: deviation of each gyro axis below this [rad/s]
    rest_gravity: float  # at rest: specific force, bias and all, this near to gravity [m/s^2]
    rest_force: float  # at rest: specific force without the bias this near to it [m/s^2]
    rest_rate: float  # at rest: rate below this [rad/s]
    rest_time: float  # a landed vehicle that felt no motion so long is at rest [s]
    zero_velocity_noise: float  # a vehicle at rest does not move, to this deviation [m/s]
    zero_rate_noise: float  # and does not turn [rad/s]
    no_aid_noise: float  # velocity deviation assumed without a position source [m/s]
    aid_time: float  # a source not accepted for this long is lost [s]
    reset_time: float  # the state is reset to a source rejected for this long [s]
    mag_reset_time: float  # magnetometer rejected for this long: its bias is reset [s]
    field_bias_reset_sigma: float  # standard deviation of the bias after that reset [T]
    return_speed: float  # at which the position moves to a GPS that returns [m/s]
    vision_offset_time: float  # time constant of the estimate of vision's origin [s]
    terrain_noise: float  # terrain process noise, where range aids the height [m/sqrt(s)]
    wind_sigma: float  # of the wind, as long as it is not measured [m/s]
    ready_fixes: int  # accepted fixes before the estimate counts as ready
    ready_yaw: float  # ready: heading better known than this [rad]
    ready_vel: float  # ready: velocity better known than this [m/s]

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value > 0):
                raise AutopilotError(
                    f"{field.name} = {value} is not allowed: give a positive number"
                )

    @classmethod
    def load(cls, path: Path | str | None = None, **changes: Any) -> "EkfParameters":
        """The values of a YAML file (by default ekf.yaml), some of them changed.

        Raises:
            AutopilotError: An unknown name, or an invalid value.
        """
        import yaml  # here, so that explicit parameters need no YAML

        path = Path(path) if path else Path(__file__).with_name("ekf.yaml")
        values = {**yaml.safe_load(path.read_text()), **changes}
        names = {field.name for field in dataclasses.fields(cls)}
        for name in set(values) - names:
            raise AutopilotError(unknown_name("estimator parameter", name, names))
        for name in names - set(values):
            raise AutopilotError(f"'{path}' does not give {name}: add it")
        return cls(**values)

    def record(self) -> Any:
        """The values as one record for compiled kernels; times in microseconds, align in steps."""
        values = dataclasses.asdict(self)
        values["align_steps"] = max(1, round(self.align_time * 1e6 / _STEP_US))
        for name in ("rest_time", "aid_time", "reset_time", "mag_reset_time", "vision_offset_time"):
            values[name] = round(values[name] * 1e6)
        kinds = [(name, "i8" if isinstance(value, int) else "f8") for name, value in values.items()]
        return np.array([tuple(values.values())], dtype=kinds)[0]


class Ekf(Estimator):
    """Error-state Kalman filter of each vehicle of a fleet; it sees sensors only.

    The height reference is GPS height unless EKF2_HGT_REF selects another, with the
    barometer's slow offset estimated. Measurements are fused at their own time. A range
    finder measures terrain height and, near the ground, aids the vehicle's height; a pitot
    tube measures the wind. Each vehicle is aligned in its first half second at rest,
    and is ready some fixes later.

    Attributes beside those of Estimator:
        filters: (N,) of FILTER; its pos and vel are the filter's own, those of Estimator the
            output predictor's.
        baro_offset: (N,) barometer's height less true height, over the origin [m]; a view.
        earth_field: (N, 3) ENU [T]; a view.

    pos_std includes the accuracy that the receiver reports, since no filter can
    see the receiver's own slow error.
    """

    MEMORY = ("records", "filters", "_history", "_cov", "_times", "_count", "_t_us", "_tuning")

    def __init__(
        self,
        n: int,
        origin: Sequence[float],
        magnetic_field_enu: npt.ArrayLike,
        tuning: EkfParameters = None,
    ):
        """As of Estimator; tuning is by default ekf.yaml's."""
        self._base = (tuning or EkfParameters.load()).record()
        self._tuning = np.repeat(self._base, n)
        self._untuned = True
        self._t_us = None
        self._count = 0
        self._times = np.zeros(HISTORY, dtype=np.int64)
        self._scratch = np.zeros((6, SIZE))
        self._now = np.zeros(1, dtype=NOW)
        self._work, self._given = None, (None, None)
        self._parameters = ParameterStore(n).values
        self.filters = np.zeros(n, dtype=FILTER)
        self.baro_offset = self.filters["baro_offset"]
        self.earth_field = self.filters["earth_field"]
        self._history = np.zeros((n, HISTORY), dtype=PAST)
        # A fleet that fills a block is stepped in lanes.
        self._in_lanes = n >= LANES
        self._covs = blocks_of(n) if self._in_lanes else np.zeros((n, SIZE, SIZE))
        super().__init__(n, origin, magnetic_field_enu)
        self._world = (*self.origin, self.field)

    def step(self, sensors: SensorBatch, parameters: np.ndarray | None = None) -> None:
        """Takes the readings of one step; overwrites the attributes in place."""
        if parameters is not None:
            self._parameters = parameters
        dt_us = _STEP_US if self._t_us is None else sensors.t_us - self._t_us
        self._t_us = sensors.t_us
        self._count += 1
        if self._untuned or self._count % RETUNE_STEPS == 0:
            self._retune()
        self._times[self._count % HISTORY] = sensors.t_us
        if self._in_lanes:
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

    def _blocks(self, readings):
        """The work on the blocks of the fleet, by these readings."""
        if readings is not self._given[0] or self._parameters is not self._given[1]:
            self._given = readings, self._parameters
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

    def _retune(self):
        """Applies the parameters that scale the tuning."""
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
        """Fuses an externally measured pose; call it after the step that it follows.

        Args:
            i: The vehicle.
            t_us: Simulated time at which the pose was true, up to 250 ms ago [us].
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world; its heading is used.
            pos_sigma: Standard deviation of each axis [m]; None = EKF2_EVP_NOISE.
            yaw_sigma: Standard deviation of the heading [rad]; None = EKF2_EVA_NOISE.
        """
        if self._t_us is None:
            return
        params, cov = self._parameters[i], np.ascontiguousarray(self._covariance(i))
        fuse_vision(
            self._tuning[i],
            params,
            self.filters[i],
            self.records[i],
            self._history[i],
            cov,
            self._scratch,
            self._times,
            self._count,
            self._t_us,
            t_us,
            np.array([*pos, *quat], dtype=np.float64),
            float(params["EKF2_EVP_NOISE"] if pos_sigma is None else pos_sigma),
            float(params["EKF2_EVA_NOISE"] if yaw_sigma is None else yaw_sigma),
        )
        self._covariance(i)[:] = cov

    def why_not_ready(self, i: int) -> str:
        """Why vehicle i is not ready; empty where it is ready."""
        if self.ready[i]:
            return ""
        flags = self.flags[i]
        if not flags & ALIGNED:
            return "it must rest a moment to find its attitude, with a magnetometer"
        if not flags & POSITION_VALID:
            return (
                "it has no position yet: no GPS fix that is good enough"
                if self.has_gps[i]
                else "it has no GPS, and no position has come from outside"
            )
        if not flags & (GPS_USED | VISION_USED):
            return "its position source is lost, or inconsistent with the inertial sensors"
        if self.att_std[i, 2] >= self._base["ready_yaw"]:
            return "its heading is not known well enough"
        return "position and velocity are still settling"

    def _clear(self, mask):
        super()._clear(mask)
        self._untuned = True
        begin = 0 if self._t_us is None else self._t_us + _STEP_US
        for i in np.flatnonzero(mask):
            self._covariance(i)[:] = 0.0
            reset_filter(self.filters[i], self.field, begin)

    def _covariance(self, i):
        """(SIZE, SIZE) covariance of vehicle i, a view."""
        return self._covs[i // LANES, :, :, i % LANES] if self._in_lanes else self._covs[i]

    @property
    def _cov(self):
        """(N, SIZE, SIZE) covariances; a copy where they are in lanes."""
        if not self._in_lanes:
            return self._covs
        return self._covs.transpose(0, 3, 1, 2).reshape(-1, SIZE, SIZE)[: self.n]

    @_cov.setter
    def _cov(self, covariances):
        for i, each in enumerate(covariances):
            self._covariance(i)[:] = each
