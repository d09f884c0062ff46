"""The description of a batch: the arrays and settings that its CPU and CUDA backends share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import packed

from .arrays import BASE, STEP_US, Air, BatchState, Records, Variation
from .physics.contacts import POINT, bounding_radius, points_of
from .physics.control import Loops, LoopState
from .physics.lanes.layout import LaneModel
from .physics.meshes import MeshTables, mesh_tables
from .scenes import TriangleMesh

Real = type[np.float32] | type[np.float64]
_Arrays = TypeVar("_Arrays", bound=NamedTuple)


@dataclass(frozen=True, eq=False)
class BatchDescription:
    """Arrays and settings of a batch, on the host: E environments of V vehicles with A actuators.

    The CPU steps these arrays in place. A device copies them and steps its copies.
    """

    sub_steps: int  # number of sub-steps of 4 ms in one step
    real: Real  # type of the numbers, np.float32 or np.float64
    state: BatchState
    variation: Variation
    loops: Loops
    loop_state: LoopState
    action: np.ndarray  # (E, V, K) the last action that was given as a host array
    lanes: LaneModel
    records: Records
    air: Air
    objects: np.ndarray  # (E, O) or (1, O) scenes.object_dtype
    start: BatchState  # (V, ...) state after a reset
    start_loops: LoopState  # (V, ...) state of the control loops after a reset
    # For each type of vehicle, indices in an environment: of its first, and of all (uint64).
    types: tuple[tuple[int, np.ndarray], ...]
    streams: np.ndarray  # (E, 4) uint64, random number generators
    widths: np.ndarray  # (10,) fields of randomisation.Randomisation
    clear: np.ndarray  # (E,) bool, whether nothing was in reach of the vehicles in the last step

    @property
    def environments(self) -> int:
        """Number of environments."""
        return self.state.pos.shape[0]

    @property
    def vehicles(self) -> int:
        """Number of vehicles in one environment."""
        return self.state.pos.shape[1]

    @property
    def step_s(self) -> float:
        """Simulated time of one step [s]."""
        return self.sub_steps * STEP_US * 1e-6

    @property
    def in_lanes(self) -> bool:
        """Whether environments run in lanes while nothing in them can touch anything."""
        return bool(self.lanes.fits.all())


class Backend(Protocol):
    """Steps a batch on the CPU or on a device."""

    @property
    def state(self) -> BatchState:
        """The state, where the backend keeps it."""

    @property
    def variation(self) -> Variation:
        """How each vehicle differs from its model, where the backend keeps it."""

    def step(self, action: np.ndarray, t_us: int, wind: np.ndarray | None = None) -> None:
        """Advances all environments by one step.

        Args:
            action: (E, V, K) action of the description, or an array that checked() returned.
            t_us: Simulated time at the start [us].
            wind: (E, V, 3) new wind, a host array; None keeps the last one.
        """

    def reset(self, which: np.ndarray, seeded: bool) -> None:
        """Puts environments back to their start.

        Args:
            which: Indices of the environments.
            seeded: Whether the description has new random streams for them.
        """

    def set_widths(self, widths: np.ndarray) -> None:
        """Randomises by these widths (10,) from the next reset on."""

    def update_objects(self) -> None:
        """Takes over changes of the description's objects."""

    def host_state(self) -> BatchState:
        """Returns the state as NumPy arrays."""

    def owns(self, action: object) -> bool:
        """Whether an action lies on the device."""

    def checked(self, action: np.ndarray) -> np.ndarray:
        """Returns an action that lies on the device, as step() takes it.

        Raises:
            BatchError: Its type is not that of the batch.
        """

    def wait(self) -> None:
        """Returns when the device has finished."""


def repeated(arrays: _Arrays, times: int, shared: tuple[str, ...] = ()) -> _Arrays:
    """Returns a tuple of arrays (V, ...) repeated along the first axis: (times V, ...).

    The fields named in `shared` stay as they are.
    """
    return type(arrays)._make(
        array if name in shared else np.concatenate([array] * times)
        for name, array in zip(arrays._fields, arrays)
    )


def repeated_records(records: Records, times: int) -> Records:
    """Returns the records of several environments; meshes and propellers are shared."""
    return repeated(records, times, (*MeshTables._fields, "propellers"))


def types_of(model: FleetModel) -> tuple[tuple[int, np.ndarray], ...]:
    """Returns the first vehicle of each type in an environment, and all of that type."""
    columns: dict[int, list[int]] = {}
    for i, vehicle in enumerate(model.vehicles):
        columns.setdefault(id(vehicle), []).append(i)
    return tuple((same[0], np.array(same, dtype=np.uint64)) for same in columns.values())


def records_of(model: FleetModel, meshes: Sequence[TriangleMesh]) -> Records:
    """Returns the records of the vehicles of one environment, which may touch these meshes."""
    points = [points_of(vehicle) for vehicle in model.vehicles]
    padded = np.zeros((model.n, max(1, *map(len, points), 1)), dtype=POINT)
    base = np.zeros(model.n, dtype=BASE)
    for i, (vehicle, contacts) in enumerate(zip(model.vehicles, points)):
        padded[i, : len(contacts)] = contacts
        base[i]["inertia"] = packed(vehicle.inertia)
        base[i]["inverse"] = packed(np.linalg.inv(np.array(vehicle.inertia)).tolist())
        base[i]["radius"] = bounding_radius(contacts)
        base[i]["points"] = len(contacts)
        base[i]["moves"] = bool(vehicle.joints)
        base[i]["wakes"] = bool(model.effects["wake_radius"].any())
    return Records(
        model.vehicle,
        model.body,
        model.joint,
        model.actuator,
        model.wing,
        model.half_wing,
        model.tyre,
        model.hull,
        model.effects,
        model.propellers,
        base,
        padded,
        *mesh_tables(meshes),
    )
