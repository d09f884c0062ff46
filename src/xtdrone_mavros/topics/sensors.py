"""Topics of sensors: IMU, magnetometer, pressures, optical flow, camera, range."""

from .. import convert, ros_serialisation as ros
from ..mavlink_link import unpack
from .row import BODY, Topic

# MAVROS's standard deviations of imu/*, for whoever reads its covariances.
_ACCEL_COV = ros.diagonal(*(0.0003**2,) * 3)
_RATE_COV = ros.diagonal(*(0.0003490659**2,) * 3)
_ATTITUDE_COV = ros.diagonal(1.0, 1.0, 1.0)
_UNKNOWN_COV = (-1.0,) + (0.0,) * 8
_FLOW_RANGE = 0.118682, 0.3, 5.0  # of px4flow: field of view [rad], least and most [m]


def _imu(v, payload):
    t, quat, rate = v.attitude()
    return ros.imu(
        v.stamp(t), BODY, quat, _ATTITUDE_COV, rate, _RATE_COV, v.acceleration(), _ACCEL_COV
    )


def _of_imu(bits, build):
    """A topic of HIGHRES_IMU, where the bits of fields_updated that it needs are set."""

    def build_where_new(v, payload):
        imu = v.read(convert.highres_imu, payload)
        return build(v.stamp(imu[0]), imu) if imu[7] & bits else None

    return build_where_new


_raw_imu = _of_imu(
    0x3F, lambda t, imu: ros.imu(t, BODY, None, None, imu[2], _RATE_COV, imu[1], _ACCEL_COV)
)
_field = _of_imu(0x1C0, lambda t, imu: ros.magnetic_field(t, BODY, imu[3], _UNKNOWN_COV))
_pressure = _of_imu(0x200, lambda t, imu: ros.fields(t, BODY, "2d", imu[4], 0.0))
_differential = _of_imu(0x400, lambda t, imu: ros.fields(t, BODY, "2d", imu[5], 0.0))
_temperature = _of_imu(0x1000, lambda t, imu: ros.fields(t, BODY, "2d", imu[6], 0.0))


def _flow(v, payload):
    """OPTICAL_FLOW_RAD as (t_us, message)."""
    m = v.decoded()
    return v.stamp(m.time_usec), m


def _optical_flow(v, payload):
    t_us, m = _flow(v, payload)
    x, y, _ = convert.flu_frd((m.integrated_x, m.integrated_y, 0.0))
    gyro = convert.flu_frd((m.integrated_xgyro, m.integrated_ygyro, m.integrated_zgyro))
    return ros.fields(
        t_us,
        "px4flow",
        "I5fhBIf",
        m.integration_time_us,
        x,
        y,
        *gyro,
        int(m.temperature / 100),
        m.quality,
        m.time_delta_distance_us,
        m.distance,
    )


def _flow_temperature(v, payload):
    t_us, m = _flow(v, payload)
    return ros.fields(t_us, "px4flow", "2d", int(m.temperature / 100), 0.0)


def _flow_distance(v, payload):
    t_us, m = _flow(v, payload)
    return ros.fields(t_us, "px4flow", "B4f", 0, *_FLOW_RANGE, m.distance)


def _camera_trigger(v, payload):
    t, number = unpack(112, payload)
    return ros.stamp(v.stamp(t)) + ros.struct.pack("<i", number)


def _image(v, payload):
    m = v.decoded()
    w, x, y, z = m.q
    lat, lon = m.lat * 1e-7, m.lon * 1e-7
    return b"".join(
        (
            ros.fields(
                v.stamp(m.time_boot_ms * 1000),
                "",
                "7dfib",
                x,
                y,
                z,
                w,
                lat,
                lon,
                convert.above_ellipsoid(lat, lon, m.alt * 1e-3),
                m.relative_alt * 1e-3,
                m.image_index,
                m.capture_result,
            ),
            ros.text(m.file_url),
        )
    )


TOPICS = (
    Topic("imu/data", "sensor_msgs/Imu", "ATTITUDE_QUATERNION", _imu, 50),
    Topic("imu/data_raw", "sensor_msgs/Imu", "HIGHRES_IMU", _raw_imu, 50),
    Topic("imu/mag", "sensor_msgs/MagneticField", "HIGHRES_IMU", _field, 50),
    Topic("imu/static_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _pressure, 50),
    Topic("imu/diff_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _differential, 50),
    Topic("imu/temperature_imu", "sensor_msgs/Temperature", "HIGHRES_IMU", _temperature, 50),
    # Of SCALED_PRESSURE, which MAVROS ignores where HIGHRES_IMU comes.
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
