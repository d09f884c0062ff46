"""Checks of a plan before it is flown: distance, geofence, obstacles, terrain and battery."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtdrone_autopilot.navigation.mission_items import (
    CIRCLE_EXCLUSION,
    CIRCLE_INCLUSION,
    FENCE,
    GIMBAL,
    LAND,
    MISSION,
    OF_VTOLS,
    PAYLOAD,
    PLACED,
    RALLY,
    RTL,
    VTOL_LAND,
    Item,
    fence_of,
    polygons,
)
from xtdrone_autopilot.navigation.plan_file import Plan
from xtdrone_autopilot.navigation.route import Leg, route
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.fence import Fence
from xtdrone_core import FleetModel, Scenario, Vehicle
from xtdrone_dynamics.abilities.camera_mount import mount_servos
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, NOT_VTOL, vehicle_types, vtol_types
from xtdrone_dynamics.earth.geodesy import to_local_array

from .rendering.scene import RenderedScene
from .vehicles.report import vehicle_figures
from .vehicles.sdf import load_vehicle
from .world import world_of

_STEP = 1.0  # distance between points of a leg that are compared with the geofence [m]
_MAX_STEPS = 10_000  # number of such points on a leg
_OFF_GROUND = 0.5  # height above home below which landing and take-off may touch things [m]
_LONG_LEG = 10e3  # length of a leg that is more often a slip than meant [m]
_FAR_HOME = 1000.0  # distance of the planned home from the origin that gives a warning [m]

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
    store = ParameterStore(1, kind, vtol)
    parameter_file.load_into(store, 0, parameter_file.of_model(spec.type))
    if scenario.params:
        values, _ = parameter_file.of_scenario(scenario, spec.name)
        parameter_file.load_into(store, 0, values)
    home = np.array(spec.pos, dtype=float)
    mission = plan.items[MISSION]
    legs = route(mission, origin, home, lambda name: store.get(0, name), kind[0] == FIXED_WING)
    report = Report(_summary(plan, legs, home), [], [], [plan.note] if plan.note else [])
    _ends(mission, report)
    if vtol[0] == NOT_VTOL:
        report.errors.extend(
            f"item {seq} ({item.name}) is for a VTOL, which {spec.type} is not"
            for seq, item in enumerate(mission)
            if item.command in OF_VTOLS
        )
    _distance(mission, origin, home, store, report)
    _planned_home(plan, origin, scenario.world, report)
    if plan.items[FENCE]:
        _fence(fence_of(plan.items[FENCE], origin), legs, mission, report)
    report.warnings.extend(
        f"the leg to item {leg.seq} is {length / 1000.0:.1f} km long"
        for leg in legs
        if (length := _length(leg)) > _LONG_LEG
    )
    if legs:
        _battery(vehicle, legs, report)
        scene = RenderedScene(world, (spec,), (vehicle,), (16, 16))
        _obstacles(scene, legs, home, report)
    _left_out(mission, vehicle, report)
    return report


def _summary(plan: Plan, legs: list[Leg], home: np.ndarray) -> list[str]:
    mission, fence = plan.items[MISSION], plan.items[FENCE]
    placed = sum(item.command in PLACED and item.has_place for item in mission)
    lines = [f"mission: {len(mission)} items, {placed} of them with a position"]
    if legs:
        ends = np.array([leg.end for leg in legs]) - home
        lines.append(
            f"path: {sum(map(_length, legs)):.0f} m in about {_duration(_time(legs))}, "
            f"farthest {np.hypot(*ends[:, :2].T).max():.0f} m from home, highest "
            f"{ends[:, 2].max():.0f} m above it"
        )
    circles = sum(item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION) for item in fence)
    lines.append(
        f"geofence: {len(list(polygons(fence)))} polygons, {circles} circles; "
        f"rally points: {len(plan.items[RALLY])}"
    )
    return lines


def _length(leg: Leg) -> float:
    return float(np.linalg.norm(leg.end - leg.start))


def _time(legs: list[Leg]) -> float:
    return sum(leg.seconds for leg in legs)


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _ends(mission: Items, report: Report) -> None:
    if not mission:
        report.errors.append("there is no mission in it")
    elif mission[-1].command not in (LAND, VTOL_LAND, RTL):
        report.warnings.append("it ends in the air, with a hold: add a landing or a return")


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
            f"world '{world}', where vehicles start"
        )


def _fence(fence: Fence, legs: list[Leg], mission: Items, report: Report) -> None:
    outside = sorted(
        {
            leg.seq
            for leg in legs
            if mission[leg.seq].command in PLACED and not fence.contains(leg.end[0], leg.end[1])
        }
    )
    report.errors.extend(
        f"item {seq} lies outside the geofence, so the mission will be refused" for seq in outside
    )
    for leg in legs:
        count = min(1 + int(_length(leg) / _STEP), _MAX_STEPS)
        for x, y in np.linspace(leg.start[:2], leg.end[:2], count, endpoint=False):
            if not fence.contains(x, y):
                if leg.seq not in outside:
                    report.warnings.append(
                        f"the leg to item {leg.seq} crosses the geofence at "
                        f"({x:.0f}, {y:.0f}) m, where the vehicle will act on "
                        "GF_ACTION"
                    )
                break


def _battery(vehicle: Vehicle, legs: list[Leg], report: Report) -> None:
    minutes = vehicle_figures(vehicle).get("hover_time_min")
    if minutes is not None and _time(legs) > 60.0 * minutes:
        report.errors.append(
            f"it takes about {_duration(_time(legs))}; the battery of "
            f"'{vehicle.type}' carries a hover for {_duration(60.0 * minutes)}"
        )


def _obstacles(scene: RenderedScene, legs: list[Leg], home: np.ndarray, report: Report) -> None:
    """Rays along the legs, through the centre of the vehicle only."""

    def lifted(pos: np.ndarray) -> np.ndarray:
        """Returns a point above the ground for the ends of take-off and landing, which touch it."""
        near = abs(pos[2] - home[2]) < _OFF_GROUND
        return np.array((pos[0], pos[1], home[2] + _OFF_GROUND)) if near else pos

    said = set()
    for leg in legs:
        start, end = lifted(leg.start), lifted(leg.end)
        length = float(np.linalg.norm(end - start))
        if length < 1e-3 or leg.seq in said:
            continue
        direction = (end - start) / length
        hit = float(scene.cast(0, start, direction, length)[0])
        if hit < length:
            x, y, z = start + hit * direction
            report.errors.append(
                f"the leg to item {leg.seq} meets the ground or an obstacle at "
                f"({x:.1f}, {y:.1f}, {z:.1f}) m, {hit:.0f} m along it"
            )
            said.add(leg.seq)


def _left_out(mission: Items, vehicle: Vehicle, report: Report) -> None:
    lacking = PAYLOAD if mount_servos(vehicle) else PAYLOAD | GIMBAL
    by_name: dict[str, list[int]] = {}
    for seq, item in enumerate(mission):
        if item.command in lacking:
            by_name.setdefault(item.name, []).append(seq)
    report.notes.extend(
        f"{name} (item{'s' * (len(seqs) > 1)} {', '.join(map(str, seqs))}) is "
        f"skipped: '{vehicle.type}' has no such device"
        for name, seqs in by_name.items()
    )
