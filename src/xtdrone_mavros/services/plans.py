"""Services of missions, geofences and rally points, which differ in their MAV_MISSION_TYPE only."""

import functools
from collections.abc import Iterator

from xtdrone_core.mavlink.dialect import mavlink

from ..convert import encode
from ..rows import Response, RosMessage, Service
from ..vehicle import Vehicle


def push(kind: int, vehicle: Vehicle, request: RosMessage) -> Response:
    if request.start_index:
        vehicle.log(
            mavlink.MAV_SEVERITY_WARNING, "PX4 takes whole missions only: push with start_index 0"
        )
        return False, 0
    if not request.waypoints:  # the vehicle's is cleared, but MAVROS takes its answer for a failure
        vehicle.requests.mission_clear(kind)
        return False, 1
    items = [encode.mission_item(waypoint, k == 0) for k, waypoint in enumerate(request.waypoints)]
    done, requested = vehicle.requests.mission_push(items, kind)
    if done:
        vehicle.pull_plan(kind)
    return done, requested


def pull(kind: int, vehicle: Vehicle, request: RosMessage) -> Response:
    count = vehicle.pull_plan(kind)
    return (False, 0) if count is None else (True, count)


def clear(kind: int, vehicle: Vehicle, request: RosMessage) -> Response:
    done = vehicle.requests.mission_clear(kind)
    if done:
        vehicle.plans[kind] = []
        vehicle.publish_plan(kind)
    return (done,)


def set_current(vehicle: Vehicle, request: RosMessage) -> Response:
    """Answers as MAVROS: True with the next MISSION_CURRENT, whatever its item."""
    return (vehicle.requests.mission_set_current(request.wp_seq),)


def _services(name: str, kind: int) -> Iterator[Service[Vehicle]]:
    for word, of_type, function in (
        ("push", "Push", push),
        ("pull", "Pull", pull),
        ("clear", "Clear", clear),
    ):
        yield Service(
            f"{name}/{word}", f"mavros_msgs/Waypoint{of_type}", functools.partial(function, kind)
        )


SERVICES: tuple[Service[Vehicle], ...] = (
    *_services("mission", mavlink.MAV_MISSION_TYPE_MISSION),
    *_services("geofence", mavlink.MAV_MISSION_TYPE_FENCE),
    *_services("rallypoint", mavlink.MAV_MISSION_TYPE_RALLY),
    Service("mission/set_current", "mavros_msgs/WaypointSetCurrent", set_current),
)
