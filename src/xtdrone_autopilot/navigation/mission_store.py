"""What missions are flown from: mission, geofence and rally points of each vehicle."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import NOT_VTOL, ROVER

from ..parameters.store import ParameterStore
from ..state.fence import Fence
from ..state.outbox import CRITICAL, Outbox
from ..state.vehicle_status import runs_off
from . import mission_items as items_of
from .mission_items import FENCE, FLYING, LAND, MISSION, PLACED, RALLY, TAKEOFF, Item, fence_of

_ID = {MISSION: "mission_id", FENCE: "fence_id", RALLY: "rally_points_id"}

MISSION_STATUS = np.dtype(
    [
        ("seq", "u2"),  # the current item
        ("total", "u2"),  # items of the mission
        ("last_reached", "i4"),  # the item that was reached last, -1 = none yet
        ("reached_t", "i8"),  # when that was [us]
        ("finished", "?"),
        ("valid", "?"),  # there is a mission, and it can be flown from home
        ("mission_id", "u4"),  # checksum of its items, as in PX4,
        ("fence_id", "u4"),  # the geofence's,
        ("rally_points_id", "u4"),  # and of the rally points
    ],
    align=True,
)


class StoredItems(Memory):
    """Items of each vehicle.

    Attributes:
        records: (N,) of MISSION_STATUS; its fields are attributes as well.
        fences: For each vehicle a Fence, or None.
    """

    records: np.ndarray
    seq: np.ndarray
    total: np.ndarray
    last_reached: np.ndarray
    reached_t: np.ndarray
    finished: np.ndarray
    valid: np.ndarray
    mission_id: np.ndarray
    fence_id: np.ndarray
    rally_points_id: np.ndarray

    MEMORY = ("records",)

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        origin: Sequence[float],
        outbox: Outbox,
    ) -> None:
        """No mission, no geofence, no rally points; see Missions."""
        self._status, self._parameters = status, parameters
        self._origin, self._outbox = origin, outbox
        n = len(status)
        self._items: dict[int, list[list[Item]]] = {
            MISSION: [[] for _ in range(n)],
            FENCE: [[] for _ in range(n)],
            RALLY: [[] for _ in range(n)],
        }
        self.fences: list[Fence | None] = [None] * n  # a Fence where there is one
        self.records = np.zeros(n, dtype=MISSION_STATUS)
        for name in MISSION_STATUS.names or ():
            setattr(self, name, self.records[name])
        self.last_reached[:] = -1

    def items(self, i: int, kind: int) -> list:
        """The items of vehicle i; kind is MISSION, FENCE or RALLY of mission_items."""
        return self._items[kind][i]

    def replace(self, i: int, kind: int, items: list) -> None:
        """Puts checked items in place of the old ones."""
        self._items[kind][i] = list(items)
        self.records[_ID[kind]][i] = items_of.opaque_id(items)
        if kind == FENCE:
            self._make_fence(i, tells=True)
        self.validate(i)
        if kind == MISSION:
            self.last_reached[i], self.finished[i] = -1, False
            self.total[i] = len(items)
            self._parameters.mission_checked[i] |= bool(items)

    def remember_start(self) -> None:
        """Stores the present items for reset()."""
        super().remember_start()
        self._start_items = {
            kind: [list(one) for one in group] for kind, group in self._items.items()
        }

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have the items of remember_start(), and have flown none."""
        super().reset(mask)
        for i in self._chosen(mask):
            for kind, group in self._start_items.items():
                self._items[kind][i] = list(group[i])
            self._make_fence(i)

    def save(self) -> dict:
        """Returns copies of the state, with the items of each vehicle."""
        items = [
            [kind, [[dataclasses.astuple(item) for item in one] for one in group]]
            for kind, group in self._items.items()
        ]
        return {**super().save(), "items": items}

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._items = {
            kind: [[items_of.Item(*item) for item in one] for one in group]
            for kind, group in snapshot["items"]
        }
        for i in range(len(self.fences)):
            self._make_fence(i)

    def _chosen(self, mask: np.ndarray | None) -> list[int]:
        """Returns the numbers of the vehicles of a mask (N,) bool; None = all."""
        return list(range(len(self.fences)) if mask is None else np.flatnonzero(mask).tolist())

    def validate(self, i: int) -> None:
        """Finds out anew whether the mission of vehicle i can be flown; as from another home."""
        self.valid[i] = bool(self._items[MISSION][i]) and not self.why_not(i)

    def load_items(self, i: int, items: dict) -> None:
        """Items from a file, {kind: list}; kinds that are not given are emptied.

        Raises:
            ItemError: An item that cannot be flown; nothing has changed then.
        """
        for kind, group in items.items():
            for seq, item in enumerate(group):
                items_of.check_item(kind, seq, item, self.is_for_vtol(i))
            items_of.check_all(kind, group)
        for kind in (FENCE, RALLY, MISSION):
            self.replace(i, kind, items.get(kind, []))

    def is_for_vtol(self, i: int) -> bool:
        """Returns whether the missions of vehicle i may hold items of VTOLs."""
        return bool(self._status["vtol_type"][i] != NOT_VTOL)

    def rally_points(self, i: int) -> np.ndarray:
        """(K, 3) rally points of vehicle i [m]."""
        home = self._status["home"][i]
        points = [item.position(self._origin, home) for item in self._items[RALLY][i]]
        return np.array(points).reshape(-1, 3)

    def _make_fence(self, i: int, tells: bool = False) -> None:
        """Makes the fence of vehicle i; areas without its home do not count, as in PX4."""
        items = self._items[FENCE][i]
        self.fences[i] = fence = fence_of(items, self._origin) if items else None
        status = self._status[i]
        if fence is not None and status["home_set"]:
            if fence.discard(status["home"][0], status["home"][1]) and tells:
                self._outbox.say(i, CRITICAL, "Geofence invalid, doesn't contain Home position")

    def why_not(self, i: int) -> str:
        """Why the mission of vehicle i cannot be flown, or an empty string."""
        items = self._items[MISSION][i]
        if not items:
            return "there is no mission: upload one first"
        status = self._status[i]
        fence = self.fences[i]
        acts = fence is not None and self._parameters.get(i, "GF_ACTION") > 0
        first = True
        for seq, item in enumerate(items):
            if item.command in FLYING and status["vehicle_type"] == ROVER:
                return (
                    f"mission item {seq} is for what flies: give a rover waypoints and places "
                    "to loiter at"
                )
            if item.command not in PLACED or not item.has_place:
                continue
            position = item.position(self._origin, status["home"])
            if acts and fence is not None and not fence.contains(position[0], position[1]):
                return f"mission item {seq} lies outside the geofence"
            far = math.hypot(*(position - status["home"])[:2])
            limit = self._parameters.get(i, "MIS_DIST_1WP")
            if first and 0 <= limit < far:
                return (
                    f"mission item {seq} is {far:.0f} m from home, MIS_DIST_1WP allows "
                    f"{limit:g} m for the first waypoint"
                )
            first = False
        if (
            runs_off(status)
            and status["landed"]
            and not any(item.command == TAKEOFF for item in items)
        ):
            return "a fixed wing on the ground needs a mission with a take-off (NAV_TAKEOFF)"
        return ""

    def landing(self, i: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns start and end of the landing in vehicle i's mission, (3,) each [m]; or None."""
        before = None
        for item in self._items[MISSION][i]:
            if item.command not in PLACED or not item.has_place:
                continue
            position = item.position(self._origin, self._status["home"][i])
            if item.command == LAND and before is not None:
                return before, position
            before = position
        return None
