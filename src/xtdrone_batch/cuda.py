"""Steps of a batch on a graphics card: the functions of physics/, compiled by numba-cuda.

A block of 128 threads is a block of lanes, and thread k has lane k of it. What is near something,
or does not run in lanes, is stepped by steps.step(), one thread for each environment.
"""

import functools
import types
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import cuda

from xtdrone_autopilot.control.allocation import vector_fleet
from xtdrone_autopilot.state.clock import LOOP_US
from xtdrone_dynamics.compiled import Kernel
from xtdrone_dynamics.lanes import LANES, Target
from xtdrone_guidance.indi.wrench import turn_columns

from .arrays import STEP_US, BatchState, Variation
from .description import BatchDescription
from .device_array import DeviceArray
from .device_functions import (
    Call,
    DeviceFunctions,
    OnDevice,
    Place,
    compile_for_device,
    copy_arrays,
    launch,
    replace_range,
    view,
)
from .errors import BatchError
from .physics import steps
from .physics.contacts import find_clear
from .physics.control import LoopState
from .physics.lanes.fly import fly_block
from .physics.lanes.layout import ROTOR_ROWS, ROWS
from .physics.steps import Chunk, new_chunk
from .randomisation import draw

BLOCKS = 1056  # blocks of lanes that have a scratch; more take turns
THREADS, WORKERS = 64, 64 * 528  # threads of a block and in all, one for each environment

_Arrays = TypeVar("_Arrays", bound=NamedTuple)


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _own(count: int) -> range:
    """Returns the part of range(count) that the lane of this thread does."""
    return range(cuda.threadIdx.x, count, LANES)


def _no_vectoring(*_: object) -> None:
    """Stands for vector_fleet() and turn_columns(), which no vehicle on the device needs."""


class _Functions(DeviceFunctions):
    """Functions of the device, without linear algebra, which is lacking there."""

    def _value(self, value: Any, names: set[str]) -> Any:  # as Target's
        if value in (vector_fleet, turn_columns):  # of tilting rotors
            return compile_for_device(_no_vectoring)
        return super()._value(value, names)


class _Lanes(_Functions):
    """Functions of lanes; a loop over lanes becomes the one lane of a thread."""

    _math = Target._math

    def _compile_loop(self, plain: types.FunctionType) -> Kernel:
        replace_range(plain, _own)
        return compile_for_device(plain)


def fly_lanes(
    model: OnDevice,
    i: int,
    rows: np.ndarray,
    clear: np.ndarray,
    vehicles: int,
    scratch: np.ndarray,
    rotor_scratch: np.ndarray,
    state: OnDevice,
    variation: OnDevice,
    memory: np.ndarray,
    indi: np.ndarray,
    action: np.ndarray,
    level: int,
    controller: int,
    dt: float,
    loop_s: float,
    t_us: int,
    dt_us: int,
    sub_steps: int,
) -> None:
    """Kernel: advances vehicles of one type in lanes, those of the environments in `clear`.

    Args:
        scratch, rotor_scratch: (blocks, ROWS) and (blocks, A, ROTOR_ROWS).
        vehicles: Number of vehicles of one environment.

    The others are those of physics.lanes.fly.fly().
    """
    begin = cuda.blockIdx.x * LANES
    while begin + cuda.threadIdx.x < rows.size:
        if clear[rows[begin + cuda.threadIdx.x] // np.uintp(vehicles)]:
            fly_block(
                scratch[cuda.blockIdx.x],
                rotor_scratch[cuda.blockIdx.x],
                model.vehicle[i],
                model.rotor[i],
                model.rotors[i],
                rows[begin : begin + LANES],
                state,
                variation,
                memory,
                indi,
                action,
                level,
                controller,
                dt,
                loop_s,
                t_us,
                dt_us,
                sub_steps,
            )
        begin += cuda.gridDim.x * LANES


def mark_clear(
    records: OnDevice,
    objects: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    seconds: float,
    clear: np.ndarray,
) -> None:
    """Kernel: find_clear(), a thread for each environment."""
    for e in range(cuda.grid(1), clear.size, cuda.gridsize(1)):
        find_clear(records, objects, pos, vel, e, e + 1, seconds, clear)


def step_others(
    records: OnDevice,
    air: OnDevice,
    state: OnDevice,
    variation: OnDevice,
    loops: OnDevice,
    loop_state: OnDevice,
    objects: np.ndarray,
    action: np.ndarray,
    t_us: int,
    dt_us: int,
    sub_steps: int,
    which: np.ndarray,
    clear: np.ndarray,
    chunks: OnDevice,
) -> None:
    """Kernel: steps.step() of the environments that are not `clear`; `chunks`: (workers, ...)."""
    own = cuda.grid(1)
    if own >= chunks.pos.shape[0]:
        return
    chunk = Chunk(
        chunks.status[own],
        chunks.estimate[own],
        chunks.commands[own],
        chunks.thrust[own],
        chunks.values[own],
        chunks.servo_pos[own],
        chunks.action[own],
        chunks.pos[own],
        chunks.quat[own],
        chunks.vel[own],
        chunks.ang_vel[own],
        chunks.acc[own],
        chunks.actuator[own],
        chunks.joint_pos[own],
        chunks.joint_vel[own],
        chunks.contact[own],
        chunks.tyre_load[own],
        chunks.tread[own],
        chunks.wind[own],
        chunks.air[own],
        chunks.mass[own],
        chunks.effectiveness[own],
        chunks.body_pos[own],
        chunks.body_quat[own],
        chunks.body_vel[own],
        chunks.body_rate[own],
        chunks.wrench[own],
        chunks.targets[own],
        chunks.old_joint_vel[own],
        chunks.joint_acc[own],
        chunks.body_acc[own],
        chunks.body_spin[own],
        chunks.system[own],
        chunks.unknowns[own],
        chunks.power[own],
        chunks.speed_limit[own],
        chunks.density[own],
        chunks.rows[own],
        chunks.indi[own],
        chunks.columns[own],
        chunks.poses[own],
        chunks.indi_joint_pos[own],
        chunks.exerted[own],
    )
    for e in range(own, which.size, chunks.pos.shape[0]):
        if not clear[e]:
            steps.step(
                records,
                air,
                state,
                variation,
                loops,
                loop_state,
                objects,
                action,
                t_us,
                dt_us,
                sub_steps,
                which[e : e + 1],
                chunk,
            )


def copy_rows(which: np.ndarray, start: np.ndarray, target: np.ndarray) -> None:
    """Kernel: start (W,) into some rows of target (E, W)."""
    for k in range(cuda.grid(1), which.size, cuda.gridsize(1)):
        for n in range(start.size):
            target[which[k], n] = start[n]


def draw_starts(
    which: np.ndarray, widths: np.ndarray, streams: np.ndarray, state: OnDevice, variation: OnDevice
) -> None:
    """Kernel: randomisation.draw(), a thread for each environment."""
    for k in range(cuda.grid(1), which.size, cuda.gridsize(1)):
        draw(which[k : k + 1], widths, streams, state, variation)


@functools.cache
def kernels(real: type) -> types.SimpleNamespace:
    """Returns the kernels for a state of np.float32 or np.float64."""
    own, double = _Lanes(real), _Functions(np.float64)
    return types.SimpleNamespace(
        fly_lanes=cuda.jit(own.typed(cast(types.FunctionType, fly_lanes))),
        **{
            kernel.__name__: cuda.jit(double.typed(cast(types.FunctionType, kernel)))
            for kernel in (mark_clear, step_others, copy_rows, draw_starts)
        },
    )


class DeviceCopies(NamedTuple):
    """Copies of a batch on the device; names as in BatchDescription."""

    state: BatchState
    flat_state: BatchState
    variation: Variation
    flat_variation: Variation
    loop_state: LoopState
    memory: OnDevice  # flat memory of loop_state
    indi: OnDevice  # and that of INDI
    action: OnDevice  # (E, V, K)
    flat_action: OnDevice
    model: OnDevice
    records: OnDevice
    objects: OnDevice
    loops: OnDevice
    chunks: Chunk
    scratch: OnDevice  # (blocks, ROWS)
    rotor_scratch: OnDevice  # (blocks, A, ROTOR_ROWS)
    which: OnDevice  # (E,)
    clear: OnDevice  # (E,)
    streams: OnDevice  # (E, 4)


def copy_to_device(batch: BatchDescription, place: Place) -> DeviceCopies:
    """Copies a batch to the device, with place(array)."""
    real, environments = batch.real, batch.environments

    def both(arrays: _Arrays) -> tuple[_Arrays, _Arrays]:
        placed = [place(array) for array in arrays]
        views = [array.reshape(array.size) for array in placed]
        return type(arrays)._make(placed), type(arrays)._make(views)

    state, flat_state = both(batch.state)
    variation, flat_variation = both(batch.variation)
    loop_state, flat_loops = both(batch.loop_state)
    action = place(batch.action)
    blocks = min(BLOCKS, -(-environments * batch.vehicles // LANES))
    rotor_rows = batch.lanes.rotor.shape[1], ROTOR_ROWS
    one = new_chunk(batch.records, batch.loops, batch.loop_state, action.shape[2])
    workers = min(WORKERS, -(-environments // THREADS) * THREADS)
    # With threads side by side in memory, so that what they read lies together.
    chunks = Chunk(
        *(
            place(np.asfortranarray(np.broadcast_to(array, (workers, *array.shape))))
            for array in one
        )
    )
    return DeviceCopies(
        state,
        flat_state,
        variation,
        flat_variation,
        loop_state,
        flat_loops.memory,
        flat_loops.indi,
        action,
        action.reshape(action.size),
        copy_arrays(batch.lanes, place),
        copy_arrays(batch.records, place),
        place(batch.objects),
        copy_arrays(batch.loops, place),
        chunks,
        place(np.zeros((blocks, ROWS), dtype=real)),
        place(np.zeros((blocks, *rotor_rows), dtype=real)),
        place(np.arange(environments)),
        place(np.zeros(environments, dtype=np.bool_)),
        place(batch.streams),
    )


class CudaBackend:
    """Steps copies of a batch on the device; see description.Backend."""

    def __init__(self, batch: BatchDescription, place: Place = cuda.to_device):
        """Copies a batch to the device.

        Args:
            batch: The batch, before its first reset.
            place: Copies an array to the device.
        """
        self._batch, self._place = batch, place
        self._kernels = kernels(batch.real)  # type: ignore[arg-type]  # a type is hashable
        self.held = copy_to_device(batch, place)
        first = np.arange(batch.environments, dtype=np.uint64)[:, None] * np.uint64(batch.vehicles)
        self._rows = [(i, place((first + columns).ravel())) for i, columns in batch.types]
        self.set_widths(batch.widths)

    @property
    def state(self) -> BatchState:
        """Views of the state on the device."""
        return BatchState(*cast(Any, map(view, self.held.state)))

    @property
    def variation(self) -> Variation:
        """Views of the variation on the device."""
        return Variation(*cast(Any, map(view, self.held.variation)))

    def step(
        self, action: np.ndarray | OnDevice, t_us: int, wind: np.ndarray | None = None
    ) -> None:
        """Advances all environments; see Backend."""
        self.held.action.copy_to_device(action)
        if wind is not None:
            cast(OnDevice, self.held.state.wind).copy_to_device(wind)
        for kernel, blocks, threads, arguments in self.step_calls(t_us):
            launch(kernel, blocks, threads, arguments)

    def reset(self, which: np.ndarray, seeded: bool) -> None:
        """Puts environments (indices) back to their start, among objects that may be new."""
        self.update_objects()
        if seeded:
            streams = self.held.streams.copy_to_host()
            streams[which] = self._batch.streams[which]
            self.held.streams.copy_to_device(streams)
        for kernel, blocks, threads, arguments in self.reset_calls(self._place(which)):
            launch(kernel, blocks, threads, arguments)

    def set_widths(self, widths: np.ndarray) -> None:
        """Randomises by these widths (10,) from the next reset on."""
        self._widths = self._place(widths)

    def update_objects(self) -> None:
        """Copies the objects to the device."""
        self.held.objects.copy_to_device(self._batch.objects)

    def host_state(self) -> BatchState:
        """Copies the state into the arrays of the description, and returns them."""
        for array, here in zip(self.held.state, self._batch.state, strict=True):
            cast(OnDevice, array).copy_to_host(here)
        return self._batch.state

    def owns(self, action: object) -> bool:
        """Whether an action lies on a device."""
        # As numba.cuda.is_cuda_array(), which its simulator lacks.
        return hasattr(action, "__cuda_array_interface__")

    def checked(self, action: object) -> OnDevice:
        """Returns an action on the device as numba.cuda takes it; see Backend."""
        ours = action.on_device if isinstance(action, DeviceArray) else action
        array = cuda.as_cuda_array(ours)
        if array.dtype != self._batch.real:
            raise BatchError(
                f"an action of type {array.dtype} on the device is not allowed: give "
                f"{np.dtype(self._batch.real)}"
            )
        return array

    def wait(self) -> None:
        """Waits for all kernels."""
        cuda.synchronize()

    def step_calls(self, t_us: int) -> list[Call]:
        """Returns the kernels of a step: (kernel, blocks, threads of each, arguments)."""
        held, batch, kernel = self.held, self._batch, self._kernels
        clock = t_us, STEP_US, batch.sub_steps
        calls: list[Call] = []
        if batch.in_lanes:
            calls.append(
                (
                    kernel.mark_clear,
                    -(-batch.environments // THREADS),
                    THREADS,
                    (
                        held.records,
                        held.objects,
                        held.state.pos,
                        held.state.vel,
                        batch.step_s,
                        held.clear,
                    ),
                )
            )
            calls += [
                (
                    kernel.fly_lanes,
                    held.scratch.shape[0],
                    LANES,
                    (
                        held.model,
                        i,
                        rows,
                        held.clear,
                        batch.vehicles,
                        held.scratch,
                        held.rotor_scratch,
                        held.flat_state,
                        held.flat_variation,
                        held.memory,
                        held.indi,
                        held.flat_action,
                        batch.loops.level,
                        batch.loops.controller,
                        batch.real(STEP_US * 1e-6),
                        batch.real(LOOP_US * 1e-6),
                        *clock,
                    ),
                )
                for i, rows in self._rows
            ]
        calls.append(
            (
                kernel.step_others,
                held.chunks.pos.shape[0] // THREADS,
                THREADS,
                (
                    held.records,
                    batch.air,
                    held.state,
                    held.variation,
                    held.loops,
                    held.loop_state,
                    held.objects,
                    held.action,
                    *clock,
                    held.which,
                    held.clear,
                    held.chunks,
                ),
            )
        )
        return calls

    def reset_calls(self, which: OnDevice) -> list[Call]:
        """Returns the kernels of a reset, as step_calls(); which: indices, on the device."""
        held, batch, kernel = self.held, self._batch, self._kernels
        blocks, environments = -(-len(which) // THREADS), batch.environments
        calls = [
            (
                kernel.copy_rows,
                blocks,
                THREADS,
                (which, self._place(start.reshape(-1)), array.reshape((environments, start.size))),
            )
            for array, start in zip(
                (*held.state, *held.loop_state), (*batch.start, *batch.start_loops), strict=True
            )
            if start.size
        ]
        return [
            *calls,
            (
                kernel.draw_starts,
                blocks,
                THREADS,
                (which, self._widths, held.streams, held.state, held.variation),
            ),
        ]
