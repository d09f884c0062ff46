"""Services of missions, geofences and rally points, which differ in their MAV_MISSION_TYPE only."""

from collections.abc import Iterator
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from .. import convert
from .row import Service


def push(kind: int, v: Any, q: Any) -> tuple:
    if q.start_index:
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_WARNING,
            "PX4 takes whole missions only: push with start_index 0",
        )
        return False, 0
    if not q.waypoints:  # the vehicle's is cleared, but MAVROS takes its answer for a failure
        v.requests.mission_clear(kind)
        return False, 1
    items = [convert.mission_item(waypoint, k == 0) for k, waypoint in enumerate(q.waypoints)]
    done, requested = v.requests.mission_push(items, kind)
    if done:
        v.pull_plan(kind)
    return done, requested


def pull(kind: int, v: Any, q: Any) -> tuple:
    count = v.pull_plan(kind)
    return (False, 0) if count is None else (True, count)


def clear(kind: int, v: Any, q: Any) -> tuple:
    done = v.requests.mission_clear(kind)
    if done:
        v.plans[kind] = []
        v.publish_plan(kind)
    return (done,)


def set_current(v: Any, q: Any) -> tuple:
    """As MAVROS: True with the next MISSION_CURRENT, whatever its item."""
    return (v.requests.mission_set_current(q.wp_seq),)


def _services(name: str, kind: int) -> Iterator[Service]:
    for word, of_type, function in (
        ("push", "Push", push),
        ("pull", "Pull", pull),
        ("clear", "Clear", clear),
    ):
        yield Service(
            f"{name}/{word}",
            f"mavros_msgs/Waypoint{of_type}",
            lambda v, q, function=function: function(kind, v, q),
        )


SERVICES = (
    *_services("mission", mavlink.MAV_MISSION_TYPE_MISSION),
    *_services("geofence", mavlink.MAV_MISSION_TYPE_FENCE),
    *_services("rallypoint", mavlink.MAV_MISSION_TYPE_RALLY),
    Service("mission/set_current", "mavros_msgs/WaypointSetCurrent", set_current),
)
