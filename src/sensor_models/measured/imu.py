"""Inertial measurement unit: gyroscope and accelerometer."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.quaternion import rotate_inverse

from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, noise_of, values_of
from ..sensor import STEP_US, Sensor

_PARTS = ("gyroscope", "accelerometer")
_GYRO, _ACCEL = 0, 3  # channels

TAGS = Tags(
    kind="imu",
    preset="adis16448",
    sitl={
        f"{part}{tag}": (f"{part}_{name}", 1.0)
        for part in _PARTS
        for tag, name in (
            ("NoiseDensity", "noise_density"),
            ("RandomWalk", "random_walk"),
            ("BiasCorrelationTime", "bias_correlation_time"),
            ("TurnOnBiasSigma", "turn_on_bias_sigma"),
        )
    },
    prefixes=tuple(f"{part}_" for part in _PARTS),
    names=tuple(f"{part}_{error}" for part in _PARTS for error in ("misalignment", "scale_error")),
)


@dataclass(frozen=True)
class ImuParameters:
    """Inertial measurement unit; it has a reading at every step."""

    gyroscope: NoiseParameters  # [rad/s]
    accelerometer: NoiseParameters  # [m/s^2]
    gyroscope_range: float  # largest reading on either side [rad/s]
    gyroscope_resolution: float  # one bit [rad/s]
    accelerometer_range: float  # largest reading on either side [m/s^2]
    accelerometer_resolution: float  # one bit [m/s^2]
    gyroscope_misalignment: float = 0.0  # standard deviation of each axis' tilt to another [rad]
    gyroscope_scale_error: float = 0.0  # standard deviation of each axis' relative gain
    accelerometer_misalignment: float = 0.0  # [rad]
    accelerometer_scale_error: float = 0.0

    @classmethod
    def from_block(cls, block: SensorBlock) -> "ImuParameters":
        """Reads an SDF block of kind imu. Raises SensorError for an invalid value."""
        values = values_of(block, TAGS)
        return cls(
            noise_of(values, "gyroscope_"),
            noise_of(values, "accelerometer_"),
            values["gyroscope_range"],
            values["gyroscope_resolution"],
            values["accelerometer_range"],
            values["accelerometer_resolution"],
            *(
                values.get(f"{part}_{name}", 0.0)
                for part in _PARTS
                for name in ("misalignment", "scale_error")
            ),
        )


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: ImuParameters,
    rng: np.random.Generator,
) -> None:
    vehicle["period"] = 1
    vehicle["pos"] = block.pos
    dt = STEP_US * 1e-6
    set_channels(
        channels[_GYRO:_ACCEL],
        parameters.gyroscope,
        dt,
        parameters.gyroscope_resolution,
        -parameters.gyroscope_range,
        parameters.gyroscope_range,
    )
    set_channels(
        channels[_ACCEL:],
        parameters.accelerometer,
        dt,
        parameters.accelerometer_resolution,
        -parameters.accelerometer_range,
        parameters.accelerometer_range,
    )
    for name, tilt, gain in (
        ("gyro_matrix", parameters.gyroscope_misalignment, parameters.gyroscope_scale_error),
        (
            "accel_matrix",
            parameters.accelerometer_misalignment,
            parameters.accelerometer_scale_error,
        ),
    ):
        draw = rng.standard_normal((3, 3))
        vehicle[name] = np.eye(3) + np.where(np.eye(3, dtype=bool), gain, tilt) * draw


@njit
def specific_force(
    vehicle: Record, quat: np.ndarray, ang_vel: np.ndarray, acc: np.ndarray, gravity: float
) -> tuple[float, float, float]:
    """Specific force at an ideal accelerometer's position, body frame; Pegasus (12)."""
    fx, fy, fz = rotate_inverse(
        quat[0], quat[1], quat[2], quat[3], acc[0], acc[1], acc[2] + gravity
    )
    rx, ry, rz = vehicle.pos
    wx, wy, wz = ang_vel
    if vehicle.started:
        rate = 1e6 / STEP_US
        ax = (wx - vehicle.last_ang_vel[0]) * rate
        ay = (wy - vehicle.last_ang_vel[1]) * rate
        az = (wz - vehicle.last_ang_vel[2]) * rate
        fx += ay * rz - az * ry
        fy += az * rx - ax * rz
        fz += ax * ry - ay * rx
    along, square = wx * rx + wy * ry + wz * rz, wx * wx + wy * wy + wz * wz
    vehicle.last_ang_vel[0], vehicle.last_ang_vel[1], vehicle.last_ang_vel[2] = wx, wy, wz
    vehicle.started = True
    return (
        fx + wx * along - rx * square,
        fy + wy * along - ry * square,
        fz + wz * along - rz * square,
    )


@fleet_kernel
def sample(
    step: int,
    chosen: np.ndarray,
    memory: np.ndarray,
    channels: np.ndarray,
    streams: np.ndarray,
    world: Record,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    acc: np.ndarray,
    wind: np.ndarray,
    distance: np.ndarray,
    readings: np.ndarray,
) -> None:
    """The readings of a fleet; see Sensor."""
    for i in range(memory.shape[0]):
        if not chosen[i]:
            continue
        vehicle, channel, stream, out = memory[i], channels[i], streams[i], readings[i]
        force = specific_force(vehicle, quat[i], ang_vel[i], acc[i], world.gravity)
        m = vehicle.gyro_matrix
        for k in range(3):
            value = m[k, 0] * ang_vel[i, 0] + m[k, 1] * ang_vel[i, 1] + m[k, 2] * ang_vel[i, 2]
            out.gyro[k] = reading(channel[_GYRO + k], stream, value)
        m = vehicle.accel_matrix
        for k in range(3):
            value = m[k, 0] * force[0] + m[k, 1] * force[1] + m[k, 2] * force[2]
            out.accel[k] = reading(channel[_ACCEL + k], stream, value)


SENSOR = Sensor(
    tags=TAGS,
    parameters=ImuParameters,
    fill=_fill,
    sample=sample,
    channels=6,
    stream=0,
    memory=[
        ("pos", "f8", (3,)),  # from the centre of gravity, body [m]
        ("gyro_matrix", "f8", (3, 3)),
        ("accel_matrix", "f8", (3, 3)),  # misalignment, gain
        ("last_ang_vel", "f8", (3,)),  # a step ago [rad/s]
        ("started", "?"),
    ],  # last_ang_vel is known
    plugins=("gazebo_imu_plugin",),
    types=("imu",),
)
