"""Parameter files of QGroundControl."""

from . import commands, samples
from .common import Kind, Nonsense, mutated_bytes, mutated_text


class Params(Kind):
    """The text of a parameter file."""

    def prepare(self):
        commands.load()

    def make(self, rng, index):
        return (
            mutated_text(rng, samples.PARAMS)
            if index % 3
            else mutated_bytes(rng, samples.PARAMS.encode())
        )

    def try_one(self, value):
        import math

        from xtdrone_autopilot.parameters import file
        from xtdrone_autopilot.parameters.store import ParameterStore, table

        samples.write("given.params", value)
        values = file.read("given.params")
        store = ParameterStore(1)
        file.load_into(store, 0, values)
        for name in values:
            if name in table() and not math.isfinite(store.get(0, name)):
                raise Nonsense(f"{name} is not finite")


KIND = Params
