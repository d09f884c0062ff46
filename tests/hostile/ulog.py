"""Flight logs (ULog) with flipped, missing and additional bytes."""

import os

from . import commands, samples
from .common import Kind, mutated_bytes


class Ulog(Kind):
    """The bytes of a log."""

    share = 15
    per_fork = 500

    def prepare(self):
        commands.load()
        import pyulog  # noqa: F401

        import xtdrone_autopilot.ulog.plots  # noqa: F401

        self._log = samples.ulog()

    def start(self, folder):
        os.environ["XTDRONE_RUNS"] = str(folder / "runs")

    def make(self, rng, index):
        data = self._log[: rng.choice((20_000, 60_000, len(self._log)))]
        return mutated_bytes(rng, mutated_bytes(rng, data))

    def try_one(self, value):
        samples.write("given.ulg", value)
        commands.run(["log", "info", "given.ulg"])
        if value[-1] % 8 == 0:  # drawing takes half a second
            commands.run(["plot", "given.ulg", "--out", "plots"])


KIND = Ulog
