"""Steps of a batch on the threads of the CPU."""

import threading

import numpy as np

from xtdrone_autopilot.state.clock import LOOP_US

from .arrays import STEP_US, BatchState, Variation
from .description import BatchDescription, repeated, repeated_records
from .physics import steps
from .physics.contacts import find_clear
from .physics.lanes.fly import FLY, flat
from .randomisation import draw
from .threads import Threads

PIECE = 5  # sub-steps after which it is judged anew whether anything is in reach


class _OfThread(threading.local):
    """Scratch arrays of each thread, made when it first needs them."""

    own: steps.Chunk | None = None


class CpuBackend:
    """Steps the arrays of a BatchDescription in place; see description.Backend."""

    def __init__(self, batch: BatchDescription, threads: Threads):
        """Allocates scratch arrays for each thread.

        Args:
            batch: Its arrays are stepped.
            threads: They step.
        """
        self._batch, self._threads = batch, threads
        environments = max(1, steps.CHUNK // batch.vehicles)
        self._chunk_records = repeated_records(batch.records, environments)
        loops = batch.loops
        self._chunk_loops = loops._replace(
            status=np.tile(loops.status, environments),
            parameters=np.tile(loops.parameters, environments),
            allocation=repeated(loops.allocation, environments),
            indi_model=repeated(loops.indi_model, environments),
        )
        self._chunks = _OfThread()
        self._flat = (
            flat(batch.state),
            flat(batch.variation),
            batch.loop_state.memory.reshape(-1),
            batch.loop_state.indi.reshape(-1),
            batch.action.reshape(-1),
        )
        self._t_us = 0

    @property
    def state(self) -> BatchState:
        """The state of the description."""
        return self._batch.state

    @property
    def variation(self) -> Variation:
        """The variation of the description."""
        return self._batch.variation

    def step(self, action: np.ndarray, t_us: int, wind: np.ndarray | None = None) -> None:
        """Advances all environments; the action and the wind are those of the description."""
        self._t_us = t_us
        self._threads.over(self._batch.environments, self._advance)

    def reset(self, which: np.ndarray, seeded: bool) -> None:
        """Puts environments (indices) back to their start."""
        batch = self._batch
        for array, start in zip(
            (*batch.state, *batch.loop_state), (*batch.start, *batch.start_loops), strict=True
        ):
            array[which] = start
        draw(which, batch.widths, batch.streams, batch.state, batch.variation)

    def set_widths(self, widths: np.ndarray) -> None:
        """Randomises by these widths (10,) from the next reset on."""
        self._batch.widths[:] = widths

    def update_objects(self) -> None:
        """Does nothing: the objects are those of the description."""

    def host_state(self) -> BatchState:
        """Returns the state."""
        return self._batch.state

    def owns(self, action: object) -> bool:
        """No action lies on a device."""
        return False

    def checked(self, action: np.ndarray) -> np.ndarray:
        """Returns the action."""
        return action

    def wait(self) -> None:
        """Does nothing: step() and reset() return when they have finished."""

    def _advance(self, first: int, last: int) -> None:
        """Advances environments first..last-1 by one step: in lanes where all is clear.

        What is not clear for the whole step is judged anew in the course of it.
        """
        batch = self._batch
        clear = self._clear(first, last, batch.sub_steps)
        self._fly(first + np.flatnonzero(clear), 0, batch.sub_steps)
        rest = first + np.flatnonzero(~clear)
        if not batch.lanes.fits.any() or batch.sub_steps <= PIECE:
            self._step_near(rest, 0, batch.sub_steps)
        elif len(rest):
            force = np.zeros_like(batch.state.contact[rest])
            for begin in range(0, batch.sub_steps, PIECE):
                count = min(PIECE, batch.sub_steps - begin)
                clear = self._clear(first, last, count)[rest - first]
                self._fly(rest[clear], begin, count)
                self._step_near(rest[~clear], begin, count)
                force += count * batch.state.contact[rest]
            batch.state.contact[rest] = force / batch.sub_steps

    def _clear(self, first: int, last: int, count: int) -> np.ndarray:
        """Returns which of environments first..last-1 are clear for so many sub-steps."""
        batch = self._batch
        if batch.lanes.fits.any():
            find_clear(
                batch.records,
                batch.objects,
                batch.state.pos,
                batch.state.vel,
                first,
                last,
                count * STEP_US * 1e-6,
                batch.clear,
            )
        return batch.clear[first:last].copy()

    def _fly(self, which: np.ndarray, begin: int, count: int) -> None:
        """Advances environments in lanes by some sub-steps."""
        batch = self._batch
        if len(which):
            firsts = which.astype(np.uint64) * np.uint64(batch.vehicles)
            for i, columns in batch.types:
                FLY[batch.real](
                    batch.lanes,
                    i,
                    (firsts[:, None] + columns).ravel(),
                    *self._flat,
                    batch.loops.level,
                    batch.loops.controller,
                    batch.real(STEP_US * 1e-6),
                    batch.real(LOOP_US * 1e-6),
                    self._t_us + begin * STEP_US,
                    STEP_US,
                    count,
                )

    def _step_near(self, which: np.ndarray, begin: int, count: int) -> None:
        """Advances environments in which something may be touched by some sub-steps."""
        batch = self._batch
        if len(which):
            steps.step(
                self._chunk_records,
                batch.air,
                batch.state,
                batch.variation,
                self._chunk_loops,
                batch.loop_state,
                batch.objects,
                batch.action,
                self._t_us + begin * STEP_US,
                STEP_US,
                count,
                which,
                self._chunk(),
            )

    def _chunk(self) -> steps.Chunk:
        """Returns the scratch arrays of the calling thread."""
        if self._chunks.own is None:
            self._chunks.own = steps.new_chunk(
                self._chunk_records,
                self._chunk_loops,
                self._batch.loop_state,
                self._batch.action.shape[2],
            )
        return self._chunks.own
