"""Publishes the topics of a fleet, the clock and the transforms where there are subscribers."""

from collections.abc import Callable, Sequence

import numpy as np

from .topics import pegasus
from .topics.row import STATE_RATE, Fleet, FleetTopic, Step, numbered
from .wire.layout import Batch, Layout
from .wire.node import Node, Writer
from .wire.quality import CLOCK, LATCHED, TF
from .wire.types import Fields, Message, ros2_name

_TO_NED = {"x": -(0.5**0.5), "y": -(0.5**0.5), "z": 0.0, "w": 0.0}  # Pegasus's signs
_TO_FRD = {"x": 1.0, "y": 0.0, "z": 0.0, "w": 0.0}


class RowPublisher:
    """One row's publishers, one for each vehicle."""

    def __init__(self, node: Node, row: FleetTopic, names: Sequence[str], state_period_us: int):
        """Creates the publishers.

        Args:
            node: Node of the publishers.
            row: Row of the table of topics.
            names: Names of the topics.
            state_period_us: Period of rows at STATE_RATE [us].
        """
        kind = ros2_name(row.type)
        self._row = row
        self._writers = [node.writer(name, kind, row.quality) for name in names]
        self._batch = Batch(
            node.types,
            [node.types.message(kind, **numbered(row.constants, i)) for i in range(len(names))],
        )
        self._period_us = state_period_us if row.period_us == STATE_RATE else row.period_us
        self._due_us = 0
        self._last: list[np.ndarray] = []

    def publish(self, step: Step) -> None:
        """Publishes what is due at a step."""
        row = self._row
        fresh = step[row.new] if row.new else None
        if fresh is not None and not fresh.any():
            return
        if not self._due(step):
            return
        wanted = [
            i
            for i, writer in enumerate(self._writers)
            if writer.wanted and (fresh is None or fresh[i])
        ]
        if wanted:
            row.fill(step, self._batch)
            for i in wanted:
                self._writers[i].write(self._batch.data(i))

    def _due(self, step: Step) -> bool:
        changed = False
        if self._row.changes:
            now = [step[name].copy() for name in self._row.changes]
            changed = not all(map(np.array_equal, now, self._last)) or not self._last
            self._last = now
        if step.t_us < self._due_us and not changed:
            return False
        if self._period_us:
            self._due_us = (step.t_us // self._period_us + 1) * self._period_us
        return True

    def restart(self) -> None:
        """Starts over after simulated time has gone back."""
        self._due_us = 0


class Publisher:
    """Publishes the steps of a simulation.

    Attributes:
        frames: /tf and /tf_static.
    """

    def __init__(
        self,
        node: Node,
        fleet: Fleet,
        state_period_us: int,
        tables: Sequence[tuple[Sequence[FleetTopic], Callable[[int], str]]],
        moving_frames: bool = True,
    ):
        """Creates the publishers.

        Args:
            node: Node of the publishers.
            fleet: The simulated fleet.
            state_period_us: Period of rows at STATE_RATE, and of tf [us].
            tables: Rows, and a function that returns the namespace of vehicle i.
            moving_frames: Whether /tf has the true poses.
        """
        self._fleet, self._t_us, self._moving_frames = fleet, -1, moving_frames
        self._rows = [
            RowPublisher(
                node, row, [f"{begin(i)}/{row.name}" for i in range(fleet.n)], state_period_us
            )
            for rows, begin in tables
            for row in rows
        ]
        self._clock = Clock(node)
        self.frames = Frames(node, fleet, state_period_us)

    def publish(self, t_us: int, vehicles: np.ndarray) -> None:
        """Publishes a step.

        Args:
            t_us: Simulated time [us].
            vehicles: (N,) of feed.VEHICLE.
        """
        if t_us < self._t_us:  # a saved state was loaded
            for row in self._rows:
                row.restart()
            self.frames.restart()
        self._t_us = t_us
        step = Step(t_us, vehicles, self._fleet)
        self._clock.publish(t_us)
        for row in self._rows:
            row.publish(step)
        if self._moving_frames:
            self.frames.publish(step)


class Clock:
    """/clock, at each step."""

    def __init__(self, node: Node):
        self._writer = node.writer("/clock", "rosgraph_msgs/msg/Clock", CLOCK)
        self._layout = Layout(node.types, node.types.message("rosgraph_msgs/msg/Clock"))
        self._record = self._layout.records(1)

    def publish(self, t_us: int) -> None:
        """Publishes the time [us]."""
        if self._writer.wanted:
            self._record["clock.sec"] = t_us // 1_000_000
            self._record["clock.nanosec"] = t_us % 1_000_000 * 1000
            self._writer.write(self._record.tobytes())


class Frames:
    """/tf of the vehicles' true poses, and /tf_static."""

    def __init__(self, node: Node, fleet: Fleet, period_us: int):
        self._node, self._fleet, self._period_us, self._due_us = node, fleet, period_us, 0
        self._writer: Writer = node.writer("/tf", "tf2_msgs/msg/TFMessage", TF)
        self._static: Writer = node.writer("/tf_static", "tf2_msgs/msg/TFMessage", LATCHED)
        names = [numbered(pegasus.BODY, i) for i in range(fleet.n)]
        self._layout = Layout(
            node.types, self._message([(pegasus.MAP, name, {}) for name in names])
        )
        self._record = self._layout.records(1)
        self._fixed: list[tuple[str, str, Fields]] = [
            (pegasus.MAP, pegasus.MAP_NED, {"rotation": _TO_NED})
        ]
        for i, name in enumerate(names):
            self._fixed.append((name, numbered(pegasus.BODY_FRD, i), {"rotation": _TO_FRD}))
        self.publish_static([])

    def publish_static(self, more: Sequence[tuple[str, str, Fields]]) -> None:
        """Publishes the fixed transforms.

        Args:
            more: Parent, child and fields of the transform, beside those of the vehicles.
        """
        self._static.write(self._node.types.serialised(self._message([*self._fixed, *more])))

    def _message(self, items: Sequence[tuple[str, str, Fields]]) -> Message:
        return self._node.types.message(
            "tf2_msgs/msg/TFMessage",
            transforms=[
                {
                    "header": {"frame_id": parent},
                    "child_frame_id": child,
                    "transform": {"rotation": {"w": 1.0}, **transform},
                }
                for parent, child, transform in items
            ],
        )

    def publish(self, step: Step) -> None:
        """Publishes the poses, if they are due."""
        if step.t_us < self._due_us:
            return
        self._due_us = (step.t_us // self._period_us + 1) * self._period_us
        if not self._writer.wanted:
            return
        for i in range(self._fleet.n):
            at = f"transforms.{i}."
            self._record[f"{at}header.stamp.sec"] = step.t_us // 1_000_000
            self._record[f"{at}header.stamp.nanosec"] = step.t_us % 1_000_000 * 1000
            self._record[f"{at}transform.translation"] = step["pos"][i]
            self._record[f"{at}transform.rotation"] = step["quat"][i]
        self._writer.write(self._record.tobytes())

    def restart(self) -> None:
        """Starts over after simulated time has gone back."""
        self._due_us = 0
