"""Messages that come in and change nothing, with what a user can do instead.

Those of PX4 v1.15's receiver and of MAVROS' topics and services are handled, or are here; what
is in neither, PX4 and this flight stack drop alike.
"""

_HIL = "readings come from the simulation: give sensors by the vehicle's SDF"
_FLOW = "optical flow is not fused: send VISION_POSITION_ESTIMATE or ODOMETRY"
_AVOIDANCE = "other traffic and obstacles are not avoided"
_PATH = "paths are not followed: send SET_POSITION_TARGET_LOCAL_NED"
_NO_DEVICE = "the vehicle has no such device"

# Message -> what to do instead; each is said once.
NOT_TAKEN = {
    "ADSB_VEHICLE": _AVOIDANCE,
    "ATT_POS_MOCAP": "EKF2 does not fuse it, as PX4's: send VISION_POSITION_ESTIMATE or "
    "ODOMETRY (MAVROS: vision_pose/pose)",
    "BATTERY_STATUS": "the battery is simulated",
    "COLLISION": _AVOIDANCE,
    "DISTANCE_SENSOR": "range finders are sensors of the vehicle's SDF",
    "GIMBAL_MANAGER_SET_MANUAL_CONTROL": "send GIMBAL_MANAGER_SET_ATTITUDE",
    "GPS_INPUT": "PX4 does not read it: send VISION_POSITION_ESTIMATE or ODOMETRY",
    "GPS_RTCM_DATA": "the simulated receiver takes no corrections: 'gps: rtk' is one that has them",
    "HIL_GPS": _HIL,
    "HIL_OPTICAL_FLOW": _HIL,
    "HIL_RC_INPUTS_RAW": "send MANUAL_CONTROL",
    "HIL_SENSOR": _HIL,
    "HIL_STATE_QUATERNION": _HIL,
    "OBSTACLE_DISTANCE": _AVOIDANCE,
    "OPTICAL_FLOW_RAD": _FLOW,
    "PARAM_MAP_RC": "there is no remote control: send PARAM_SET",
    "PLAY_TUNE": _NO_DEVICE,
    "PLAY_TUNE_V2": _NO_DEVICE,
    "RC_CHANNELS_OVERRIDE": "there is no remote control: send MANUAL_CONTROL",
    "REQUEST_DATA_STREAM": "PX4 does not read it: send MAV_CMD_SET_MESSAGE_INTERVAL",
    "SERIAL_CONTROL": "there is no shell",
    "TRAJECTORY_REPRESENTATION_BEZIER": _PATH,
    "TRAJECTORY_REPRESENTATION_WAYPOINTS": _PATH,
    "TUNNEL": _NO_DEVICE,
    "VISION_SPEED_ESTIMATE": "PX4 does not read it: send ODOMETRY",
}

# Reports of others: PX4 logs them at most, and there is nothing to say about them.
REPORTS = frozenset(
    (
        "CELLULAR_STATUS",
        "COMMAND_ACK",
        "DEBUG",
        "DEBUG_FLOAT_ARRAY",
        "DEBUG_VECT",
        "GENERATOR_STATUS",
        "GIMBAL_DEVICE_ATTITUDE_STATUS",
        "GIMBAL_DEVICE_INFORMATION",
        "LOGGING_ACK",
        "NAMED_VALUE_FLOAT",
        "NAMED_VALUE_INT",
        "ONBOARD_COMPUTER_STATUS",
        "RADIO_STATUS",
        "STATUSTEXT",
        "SYSTEM_TIME",
    )
)
