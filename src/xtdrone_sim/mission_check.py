"""Checks of a plan before it is flown: distance, geofence, obstacles, terrain and battery."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtdrone_autopilot.interfaces import classes, fly_half_wings
from xtdrone_autopilot.modes.return_to_launch import RETURNS_BY_LANDING
from xtdrone_autopilot.navigation.mission_items import (
    CIRCLE_EXCLUSION,
    CIRCLE_INCLUSION,
    DO_JUMP,
    FENCE,
    FLYING,
    GIMBAL,
    GRIPPER,
    LAND,
    MISSION,
    OF_VTOLS,
    PAYLOAD,
    PLACED,
    RALLY,
    RTL,
    TAKEOFF,
    VTOL_LAND,
    Item,
    fence_of,
    polygons,
)
from xtdrone_autopilot.navigation.plan_file import Plan
from xtdrone_autopilot.navigation.route import Circle, Leg, Path, Route, route
from xtdrone_autopilot.options import EmbeddedOptions
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.fence import Fence
from xtdrone_core import FleetModel, Scenario, Vehicle
from xtdrone_dynamics.abilities.camera_mount import mount_servos
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    HALF_WINGED,
    MULTICOPTER,
    NOT_VTOL,
    ROVER,
    half_winged,
    vehicle_types,
    vtol_types,
)
from xtdrone_dynamics.earth.geodesy import to_local_array

from .rendering.scene import RenderedScene
from .vehicles.report import vehicle_figures
from .vehicles.sdf import load_vehicle
from .world import world_of, wrong_ground

_STEP = 1.0  # distance between points of a path that are compared with the geofence [m]
_CHORD = 2.0  # length of the chords by which a circle is compared with obstacles [m]
_OFF_GROUND = 0.5  # height above home below which landing and take-off may touch things [m]
_LONG_LEG = 10e3  # length of a leg that is more often a slip than meant [m]
_FAR_HOME = 1000.0  # distance of the planned home from the origin that gives a warning [m]

_BY_INDI = " by these loops: give --velocity_control indi --rate_control indi"
_KINDS = {MULTICOPTER: "a multicopter", FIXED_WING: "a fixed wing", ROVER: "a rover or boat"}
_PLANNED = {  # MAV_TYPEs as QGroundControl groups them
    "a multicopter": (2, 3, 4, 13, 14, 15, 29, 35, 43),
    "a fixed wing": (1,),
    "a rover or boat": (10, 11),
    "a VTOL": tuple(range(19, 26)),
}

Items = Sequence[Item]


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes:
        summary: Lines on the size of the plan.
        errors: Reasons for which it is refused, or does not come to its end.
        warnings: Doubtful items.
        notes: Items that the vehicle skips.
    """

    summary: list[str]
    errors: list[str]
    warnings: list[str]
    notes: list[str]

    def lines(self) -> list[str]:
        """Returns all of it, a line each."""
        return [
            *self.summary,
            *(f"ERROR: {text}" for text in self.errors),
            *(f"WARNING: {text}" for text in self.warnings),
            *(f"note: {text}" for text in self.notes),
        ]


def check_plan(plan: Plan, scenario: Scenario, i: int = 0) -> Report:
    """Checks a plan for vehicle i of a scenario, in its world and with its parameters.

    Raises:
        XtdroneError: The scenario's world, vehicle or parameters cannot be read.
    """
    world, spec = world_of(scenario), scenario.vehicles[i]
    vehicle = load_vehicle(spec.type)
    origin = world.latitude, world.longitude, world.altitude
    fleet = FleetModel.of([vehicle])
    kind, vtol = vehicle_types(fleet), vtol_types(fleet)
    half_wings = half_winged(fleet)
    if half_wings[0] and fly_half_wings(classes(**scenario.settings(EmbeddedOptions).parts())):
        vtol[0] = HALF_WINGED
    store = ParameterStore(1, kind, vtol)
    parameter_file.load_into(store, 0, parameter_file.of_model(spec.type))
    if scenario.params:
        values, _ = parameter_file.of_scenario(scenario, spec.name)
        parameter_file.load_into(store, 0, values)
    home = np.array(spec.pos, dtype=float)
    mission = plan.items[MISSION]
    way = route(mission, origin, home, lambda name: store.get(0, name), int(kind[0]), int(vtol[0]))
    paths = way.paths
    report = Report(_summary(plan, paths, home), [], [], [plan.note] if plan.note else [])
    if reason := wrong_ground(world, vehicle):
        report.errors.append(reason)
    _planned_vehicle(plan, spec.type, int(kind[0]), int(vtol[0]), report)
    if kind[0] != ROVER:
        _ends_on_ground(mission, way, store, bool(kind[0] == FIXED_WING), report)
    _reaches(mission, way, report)
    if vtol[0] == NOT_VTOL:
        report.errors.extend(
            f"item {seq} ({item.name}) is for a VTOL, which {spec.type} is not"
            + (_BY_INDI if half_wings[0] else "")
            for seq, item in enumerate(mission)
            if item.command in OF_VTOLS
        )
    if kind[0] == ROVER:
        report.errors.extend(
            f"item {seq} ({item.name}) is for what flies, which {spec.type} does not"
            for seq, item in enumerate(mission)
            if item.command in FLYING
        )
    elif kind[0] == FIXED_WING and vtol[0] == NOT_VTOL and mission:
        if not any(item.command == TAKEOFF for item in mission):
            report.errors.append("it has no take-off (NAV_TAKEOFF), which a fixed wing needs")
    _distance(mission, origin, home, store, report)
    _planned_home(plan, origin, scenario.world, report)
    if plan.items[FENCE]:
        places = {
            seq: item.position(origin, home)
            for seq, item in enumerate(mission)
            if item.command in PLACED and item.has_place
        }
        fence = fence_of(plan.items[FENCE], origin)
        if fence.discard(home[0], home[1]):
            report.warnings.append("areas of the geofence without the start in them do not count")
        _fence(fence, paths, places, report)
    report.warnings.extend(
        f"{leg.name} is {leg.length / 1000.0:.1f} km long"
        for leg in paths
        if isinstance(leg, Leg) and leg.length > _LONG_LEG
    )
    if paths:
        _battery(vehicle, paths, report)
        scene = RenderedScene(world, (spec,), (vehicle,), (16, 16))
        _obstacles(scene, paths, home, report)
    _left_out(mission, vehicle, report)
    return report


def _summary(plan: Plan, paths: list[Path], home: np.ndarray) -> list[str]:
    mission, fence = plan.items[MISSION], plan.items[FENCE]
    placed = sum(item.command in PLACED and item.has_place for item in mission)
    lines = [f"mission: {len(mission)} items, {placed} of them with a position"]
    if paths:
        points = np.concatenate(
            [path.points(math.inf if isinstance(path, Leg) else _STEP) for path in paths]
        )
        away = points - home
        lines.append(
            f"path: {sum(path.length for path in paths):.0f} m in about "
            f"{_duration(_time(paths))}, farthest {np.hypot(*away[:, :2].T).max():.0f} m from "
            f"home, highest {away[:, 2].max():.0f} m above it"
        )
    circles = sum(item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION) for item in fence)
    lines.append(
        f"geofence: {len(list(polygons(fence)))} polygons, {circles} circles; "
        f"rally points: {len(plan.items[RALLY])}"
    )
    return lines


def _time(paths: list[Path]) -> float:
    return sum(path.seconds for path in paths)


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _ends_on_ground(
    mission: Items, way: Route, store: ParameterStore, fixed_wing: bool, report: Report
) -> None:
    """A return may end in the air, too: above its home, where a fixed wing has no landing."""
    if not mission or _goes_round(mission, way):
        return
    last = None if way.last is None else mission[way.last].command
    if last not in (LAND, VTOL_LAND, RTL):
        report.warnings.append("it ends in the air, with a hold: add a landing or a return")
    elif last == RTL and store.get(0, "RTL_LAND_DELAY") < 0:
        lands = any(item.command == LAND for item in mission)
        if not (fixed_wing and lands and store.get(0, "RTL_TYPE") in RETURNS_BY_LANDING):
            report.warnings.append(
                "it ends in the air, above its home, as RTL_LAND_DELAY says: add a landing"
            )


def _goes_round(mission: Items, way: Route) -> bool:
    return way.stays is not None and mission[way.stays].command == DO_JUMP


def _reaches(mission: Items, way: Route, report: Report) -> None:
    """What is never reached behind items that the mission does not leave."""
    if not mission:
        report.errors.append("there is no mission in it")
        return
    stays = None if way.stays is None else f"item {way.stays} ({mission[way.stays].name})"
    if _goes_round(mission, way):
        report.warnings.append(f"it goes round for ever, by {stays}")
    missed = [seq for seq in range(len(mission)) if seq not in way.begun]
    if missed:
        report.warnings.append(
            f"item{'s' * (len(missed) > 1)} {', '.join(map(str, missed))} "
            f"{'are' if len(missed) > 1 else 'is'} never reached"
            + (f" behind {stays}" if stays else ": jumps lead past")
        )


def _distance(
    mission: Items, origin: Sequence[float], home: np.ndarray, store: ParameterStore, report: Report
) -> None:
    """The first waypoint may not be farther than MIS_DIST_1WP, as when arming."""
    for seq, item in enumerate(mission):
        if item.command in PLACED and item.has_place:
            far = math.hypot(*(item.position(origin, home) - home)[:2])
            limit = store.get(0, "MIS_DIST_1WP")
            if 0 <= limit < far:
                report.errors.append(
                    f"item {seq} is {far / 1000.0:.1f} km from the start; MIS_DIST_1WP allows "
                    f"{limit:g} m for the first waypoint, so the mission will be refused"
                )
            return


def _planned_home(plan: Plan, origin: Sequence[float], world: str, report: Report) -> None:
    if plan.home is None:
        return
    geodetic = [[math.radians(plan.home[0]), math.radians(plan.home[1]), origin[2]]]
    far = float(np.hypot(*to_local_array(geodetic, *origin)[0, :2]))
    if far > _FAR_HOME:
        report.warnings.append(
            f"its planned home is {far / 1000.0:.1f} km from the origin of "
            f"world '{world}', where vehicles start: PLAN*1 moves it there"
        )


def _planned_vehicle(plan: Plan, name: str, kind: int, vtol: int, report: Report) -> None:
    """Notes a plan that was made for another kind of vehicle."""
    planned = next((words for words, types in _PLANNED.items() if plan.mav_type in types), None)
    flown = "a VTOL" if vtol != NOT_VTOL else _KINDS[kind]
    if planned is not None and planned != flown:
        report.notes.append(
            f"it was planned for {planned} (vehicleType {plan.mav_type}), and is checked for "
            f"'{name}', {flown}: choose another by --vehicle"
        )


def _fence(fence: Fence, paths: list[Path], places: dict[int, np.ndarray], report: Report) -> None:
    """Items outside, by their places, (3,) each [m]; and paths that leave it."""
    outside = [seq for seq, place in places.items() if not fence.contains(place[0], place[1])]
    report.errors.extend(
        f"item {seq} lies outside the geofence, so the mission will be refused" for seq in outside
    )
    said = set(outside)
    for path in paths:
        if path.seq in said:
            continue
        points = path.points(_STEP)
        beyond = [not fence.contains(x, y) for x, y in points[:, :2]]
        if any(beyond):
            said.add(path.seq)
            x, y = points[_crossing(beyond, isinstance(path, Circle)), :2].round() + 0.0  # no -0
            report.warnings.append(
                f"{path.name} crosses the geofence at ({x:.0f}, {y:.0f}) m, where the vehicle "
                "will act on GF_ACTION"
            )


def _crossing(beyond: list[bool], middle: bool) -> int:
    """The first point beyond the fence, or the middle of the first points there."""
    first = beyond.index(True)
    if not middle:
        return first
    last = beyond.index(False, first) if False in beyond[first:] else len(beyond)
    return (first + last - 1) // 2


def _battery(vehicle: Vehicle, paths: list[Path], report: Report) -> None:
    minutes = vehicle_figures(vehicle).get("hover_time_min")
    if minutes is not None and _time(paths) > 60.0 * minutes:
        report.errors.append(
            f"it takes about {_duration(_time(paths))}; the battery of "
            f"'{vehicle.type}' carries a hover for {_duration(60.0 * minutes)}"
        )


def _obstacles(scene: RenderedScene, paths: list[Path], home: np.ndarray, report: Report) -> None:
    """Rays along legs and chords of circles, through the centre of the vehicle only."""

    def lifted(pos: np.ndarray) -> np.ndarray:
        """Returns a point above the ground for the ends of take-off and landing, which touch it."""
        near = abs(pos[2] - home[2]) < _OFF_GROUND
        return np.array((pos[0], pos[1], home[2] + _OFF_GROUND)) if near else pos

    said = set()
    for path in paths:
        if path.seq in said:
            continue
        along = 0.0
        points = path.points(math.inf if isinstance(path, Leg) else _CHORD)
        for start, end in itertools.pairwise(map(lifted, points)):
            length = float(np.linalg.norm(end - start))
            if length < 1e-3:
                continue
            direction = (end - start) / length
            hit = float(scene.cast(0, start, direction, length)[0])
            if hit < length:
                x, y, z = start + hit * direction
                report.errors.append(
                    f"{path.name} meets the ground or an obstacle at "
                    f"({x:.1f}, {y:.1f}, {z:.1f}) m, {along + hit:.0f} m along it"
                )
                said.add(path.seq)
                break
            along += length


def _left_out(mission: Items, vehicle: Vehicle, report: Report) -> None:
    lacking = PAYLOAD | (frozenset() if mount_servos(vehicle) else GIMBAL)
    lacking |= frozenset() if vehicle.grippers else GRIPPER
    by_name: dict[str, list[int]] = {}
    for seq, item in enumerate(mission):
        if item.command in lacking:
            by_name.setdefault(item.name, []).append(seq)
    report.notes.extend(
        f"{name} (item{'s' * (len(seqs) > 1)} {', '.join(map(str, seqs))}) is "
        f"skipped: '{vehicle.type}' has no such device"
        for name, seqs in by_name.items()
    )
