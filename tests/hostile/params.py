"""Parameter files of QGroundControl."""

from . import _commands, _samples
from .common import Kind, Nonsense, mutated_bytes, mutated_text


class Params(Kind):
    """The text of a parameter file."""

    def prepare(self):
        _commands.load()

    def make(self, rng, index):
        return (
            mutated_text(rng, _samples.PARAMS)
            if index % 3
            else mutated_bytes(rng, _samples.PARAMS.encode())
        )

    def try_one(self, value):
        import math

        from xtdrone_autopilot.parameters import file
        from xtdrone_autopilot.parameters.store import ParameterStore, table

        _samples.write("given.params", value)
        values = file.read("given.params")
        store = ParameterStore(1)
        file.load_into(store, 0, values)
        for name in values:
            if name in table() and not math.isfinite(store.get(0, name)):
                raise Nonsense(f"{name} is not finite")


KIND = Params
