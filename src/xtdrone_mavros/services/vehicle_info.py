"""Service of what is known about the vehicle and about MAVROS itself."""

from xtdrone_core import modes
from xtdrone_core.mavlink.dialect import mavlink

from ..inputs.fields import target
from ..mavlink_link import COMPONENT_ID, SYSTEM_ID, unpack
from ..rows import Fields, Response, RosMessage, Service, ServiceFailed
from ..vehicle import Vehicle

_HEARTBEAT = mavlink.MAVLINK_MSG_ID_HEARTBEAT
_HAVE_HEARTBEAT, _HAVE_VERSION = 1, 2  # VehicleInfo.HAVE_INFO_...
_CUSTOM_MODE_ENABLED = mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED


def vehicle_info(vehicle: Vehicle, request: RosMessage) -> Response:
    if request.get_all:
        return True, [fields for fields in (_own_fields(), _fields(vehicle)) if fields]
    system, component = target(vehicle)
    if request.sysid or request.compid:
        system, component = request.sysid, request.compid
    known = {(SYSTEM_ID, COMPONENT_ID): _own_fields(), target(vehicle): _fields(vehicle)}
    fields = known.get((system, component))
    if fields is None:
        raise ServiceFailed(f"system {system}, component {component} is not known")
    return True, [fields]


def _own_fields() -> Fields:
    """Returns what MAVROS's own heartbeat contains."""
    return dict(
        available_info=_HAVE_HEARTBEAT,
        sysid=SYSTEM_ID,
        compid=COMPONENT_ID,
        autopilot=mavlink.MAV_AUTOPILOT_INVALID,
        type=mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
        system_status=mavlink.MAV_STATE_ACTIVE,
    )


def _fields(vehicle: Vehicle) -> Fields | None:
    """Returns the fields of mavros_msgs/VehicleInfo; None before the first heartbeat."""
    beat = vehicle.latest.get(_HEARTBEAT)
    version = vehicle.latest.get(mavlink.MAVLINK_MSG_ID_AUTOPILOT_VERSION)
    if beat is None:
        return None
    system, component = target(vehicle)
    custom, kind, autopilot, base, status, _ = unpack(_HEARTBEAT, beat)
    fields: Fields = dict(
        header={
            "stamp": {
                "secs": vehicle.heard_us // 1_000_000,
                "nsecs": vehicle.heard_us % 1_000_000 * 1000,
            }
        },
        available_info=_HAVE_HEARTBEAT,
        sysid=system,
        compid=component,
        autopilot=autopilot,
        type=kind,
        system_status=status,
        base_mode=base,
        custom_mode=custom,
        mode=modes.ros_name(custom),
        mode_id=custom if base & _CUSTOM_MODE_ENABLED else base,
    )
    if version is not None:
        (
            capabilities,
            uid,
            flight,
            middleware,
            os_version,
            board,
            vendor,
            product,
            *custom_version,
        ) = unpack(148, version)
        fields.update(
            available_info=_HAVE_HEARTBEAT | _HAVE_VERSION,
            capabilities=capabilities,
            uid=uid,
            flight_sw_version=flight,
            middleware_sw_version=middleware,
            os_sw_version=os_version,
            board_version=board,
            vendor_id=vendor,
            product_id=product,
            flight_custom_version=bytes(custom_version[7::-1]).hex(),
        )
    return fields


SERVICES: tuple[Service[Vehicle], ...] = (
    Service("vehicle_info_get", "mavros_msgs/VehicleInfoGet", vehicle_info),
)
