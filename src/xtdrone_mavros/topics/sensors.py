"""Topics of sensors: IMU, magnetometer, pressures, optical flow, camera, range."""

from collections.abc import Callable

from xtdrone_core.mavlink.dialect import mavlink

from .. import ros_serialisation as ros
from ..convert import decode, geometry
from ..mavlink_link import unpack
from ..rows import Topic
from ..vehicle import Vehicle
from .builders import BODY

# Covariances of imu/*, from MAVROS's standard deviations.
_ACCEL_COV = ros.diagonal(*(0.0003**2,) * 3)
_RATE_COV = ros.diagonal(*(0.0003490659**2,) * 3)
_ATTITUDE_COV = ros.diagonal(1.0, 1.0, 1.0)
_UNKNOWN_COV = (-1.0,) + (0.0,) * 8
_FLOW_RANGE = 0.118682, 0.3, 5.0  # px4flow: field of view [rad], min and max range [m]


def _imu(vehicle: Vehicle, payload: bytes) -> bytes:
    t, quat, rate = vehicle.attitude()
    return ros.imu(
        vehicle.stamp(t),
        BODY,
        quat,
        _ATTITUDE_COV,
        rate,
        _RATE_COV,
        vehicle.acceleration(),
        _ACCEL_COV,
    )


def _from_imu(
    bits: int, build: Callable[[int, decode.ImuReading], bytes]
) -> Callable[[Vehicle, bytes], bytes | None]:
    """Returns a builder from HIGHRES_IMU for messages with any of these bits in fields_updated."""

    def build_if_updated(vehicle: Vehicle, payload: bytes) -> bytes | None:
        imu = vehicle.read(decode.highres_imu, payload)
        return build(vehicle.stamp(imu.t_us), imu) if imu.fields_updated & bits else None

    return build_if_updated


_raw_imu = _from_imu(
    0x3F, lambda t, imu: ros.imu(t, BODY, None, None, imu.gyro, _RATE_COV, imu.accel, _ACCEL_COV)
)
_field = _from_imu(0x1C0, lambda t, imu: ros.magnetic_field(t, BODY, imu.mag, _UNKNOWN_COV))
_pressure = _from_imu(0x200, lambda t, imu: ros.fields(t, BODY, "2d", imu.pressure, 0.0))
_differential = _from_imu(
    0x400, lambda t, imu: ros.fields(t, BODY, "2d", imu.differential_pressure, 0.0)
)
_temperature = _from_imu(0x1000, lambda t, imu: ros.fields(t, BODY, "2d", imu.temperature, 0.0))


def _flow(vehicle: Vehicle) -> tuple[int, mavlink.MAVLink_optical_flow_rad_message]:
    """Returns the time stamp [us] and the message OPTICAL_FLOW_RAD."""
    message = vehicle.decoded()
    return vehicle.stamp(message.time_usec), message


def _optical_flow(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, message = _flow(vehicle)
    x, y, _ = geometry.flu_frd((message.integrated_x, message.integrated_y, 0.0))
    gyro = geometry.flu_frd(
        (message.integrated_xgyro, message.integrated_ygyro, message.integrated_zgyro)
    )
    return ros.fields(
        t_us,
        "px4flow",
        "I5fhBIf",
        message.integration_time_us,
        x,
        y,
        *gyro,
        int(message.temperature / 100),
        message.quality,
        message.time_delta_distance_us,
        message.distance,
    )


def _flow_temperature(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, message = _flow(vehicle)
    return ros.fields(t_us, "px4flow", "2d", int(message.temperature / 100), 0.0)


def _flow_distance(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, message = _flow(vehicle)
    return ros.fields(t_us, "px4flow", "B4f", 0, *_FLOW_RANGE, message.distance)


def _camera_trigger(vehicle: Vehicle, payload: bytes) -> bytes:
    t, number = unpack(112, payload)
    return ros.stamp(vehicle.stamp(t)) + ros.numbers("i", number)


def _image(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    w, x, y, z = message.q
    lat, lon = message.lat * 1e-7, message.lon * 1e-7
    return b"".join(
        (
            ros.fields(
                vehicle.stamp(message.time_boot_ms * 1000),
                "",
                "7dfib",
                x,
                y,
                z,
                w,
                lat,
                lon,
                geometry.above_ellipsoid(lat, lon, message.alt * 1e-3),
                message.relative_alt * 1e-3,
                message.image_index,
                message.capture_result,
            ),
            ros.text(message.file_url),
        )
    )


TOPICS: tuple[Topic[Vehicle], ...] = (
    Topic("imu/data", "sensor_msgs/Imu", "ATTITUDE_QUATERNION", _imu, 50),
    Topic("imu/data_raw", "sensor_msgs/Imu", "HIGHRES_IMU", _raw_imu, 50),
    Topic("imu/mag", "sensor_msgs/MagneticField", "HIGHRES_IMU", _field, 50),
    Topic("imu/static_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _pressure, 50),
    Topic("imu/diff_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _differential, 50),
    Topic("imu/temperature_imu", "sensor_msgs/Temperature", "HIGHRES_IMU", _temperature, 50),
    # From SCALED_PRESSURE, which MAVROS ignores if HIGHRES_IMU comes.
    Topic("imu/temperature_baro", "sensor_msgs/Temperature"),
    Topic(
        "px4flow/raw/optical_flow_rad",
        "mavros_msgs/OpticalFlowRad",
        "OPTICAL_FLOW_RAD",
        _optical_flow,
    ),
    Topic("px4flow/temperature", "sensor_msgs/Temperature", "OPTICAL_FLOW_RAD", _flow_temperature),
    Topic("px4flow/ground_distance", "sensor_msgs/Range", "OPTICAL_FLOW_RAD", _flow_distance),
    Topic(
        "cam_imu_sync/cam_imu_stamp", "mavros_msgs/CamIMUStamp", "CAMERA_TRIGGER", _camera_trigger
    ),
    Topic(
        "camera/image_captured", "mavros_msgs/CameraImageCaptured", "CAMERA_IMAGE_CAPTURED", _image
    ),
)
