"""Worlds as SDF."""

import os

from . import _commands, _samples
from .common import Kind
from .sdf import mutated, odd

_LARGE = """<sdf version="1.6"><world name="w"><model name="m"><static>1</static><link name="l">
<collision name="c"><geometry><box><size>{0} {0} {0}</size></box></geometry></collision>
<visual name="v"><geometry><plane><size>{0} {0}</size></plane></geometry></visual>
</link></model></world></sdf>"""


class World(Kind):
    """The text of a world's SDF."""

    worlds = ("empty", "indoor", "outdoor")
    per_fork = 500

    def prepare(self):
        _commands.load()
        self._texts = [(_samples.ROOT / "worlds" / f"{name}.world").read_text()
                       for name in self.worlds]
        self._odd = [*odd(self._texts[0]), *(_LARGE.format(size) for size in (
            1e308, 1e30, 1e10, 0, -1, "nan")), "<sdf>" + " " * (80 << 20) + "</sdf>"]

    def start(self, folder):
        os.environ["XTDRONE_RUNS"] = str(folder / "runs")
        _samples.put_samples(folder)
        _commands.cut_flights()

    def make(self, rng, index):
        if index < len(self._odd):
            return self._odd[index]
        return mutated(rng, rng.choice(self._texts))

    def try_one(self, value):
        _samples.write("given.world", value)
        _commands.run(["sim", "--world", "given.world", "--no-log", "--duration", "0.1"])


KIND = World
