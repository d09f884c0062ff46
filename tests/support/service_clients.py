"""Clients of ROS 2's services as its two middlewares make them."""

import itertools
import subprocess
import time
from pathlib import Path
from typing import Any

from xtdrone_core.runs.parent import tied
from xtdrone_ros2.wire.node import Node, Reader, Writer
from xtdrone_ros2.wire.quality import DEFAULT
from xtdrone_ros2.wire.types import Types

LIMIT_S = 60.0


class CycloneClient:
    """As rmw_cyclonedds_cpp calls: 16 bytes before the request say whose it is."""

    def __init__(self, node: Node):
        self.node, self._numbers = node, itertools.count(1)
        self._ends: dict[str, tuple[Writer, Reader, list[bytes]]] = {}

    def until(self, condition) -> None:
        """Handles what comes until a condition is met."""
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, "it has not come"
            self.node.handle()
            time.sleep(0.002)

    def _end(self, name, kind):
        if name not in self._ends:
            got: list[bytes] = []
            self._ends[name] = (
                Writer(self.node, f"rq{name}Request", f"{kind}_Request", DEFAULT),
                Reader(self.node, f"rr{name}Reply", f"{kind}_Response", DEFAULT, got.append),
                got,
            )
        return self._ends[name]

    def call(self, name: str, kind: str, /, **fields: Any) -> Any:
        """The response to a call."""
        types = self.node.types
        asking, answers, got = self._end(name, kind)
        self.until(
            lambda: asking.wanted and answers.entity.get_subscription_matched_status().current_count
        )
        whose = next(self._numbers).to_bytes(16, "little")
        request = types.serialised(types.message(f"{kind}_Request", **fields))
        asking.write(request[:4] + whose + request[4:])
        self.until(lambda: any(data[4:20] == whose for data in got))
        data = next(data for data in got if data[4:20] == whose)
        return types.read(data[:4] + data[20:], f"{kind}_Response")

    def close(self) -> None:
        """Leaves the domain."""
        self.node.close()


class FastClient:
    """As rmw_fastrtps_cpp calls: tests/ros2/fast_dds_caller.cpp, on Fast DDS."""

    def __init__(self, program: Path, domain: int, types: Types):
        self._types = types
        self._process = subprocess.Popen(
            [str(program), str(domain)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=tied(),
        )

    def call(self, name: str, kind: str, /, **fields: Any) -> Any:
        """The response to a call."""
        types = self._types
        data = types.serialised(types.message(f"{kind}_Request", **fields))
        self._process.stdin.write(f"{name} {kind.replace('/srv/', '/')} {data.hex()}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().strip()
        assert not line.startswith("no"), f"{name}: {line}"
        return types.read(bytes.fromhex(line), f"{kind}_Response")

    def close(self) -> None:
        """Ends it."""
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
