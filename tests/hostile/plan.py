"""QGroundControl's plans: wrong types, numbers that are none, deep nesting, any bytes."""

import json

from . import commands, samples
from .common import Kind, mutated_bytes, mutated_text, mutated_tree, nested

_FILES = ("square.plan", "survey.plan")


class Plan(Kind):
    """The text of a plan."""

    def prepare(self):
        commands.load()
        texts = [(samples.ROOT / "docs" / "missions" / name).read_text() for name in _FILES]
        self._texts, self._trees = texts, [json.loads(each) for each in texts]

    def make(self, rng, index):
        if index < 4:
            return json.dumps({"fileType": "Plan", "mission": nested(900)}).replace(
                "[]", ("[" * 4000, "[]", "1e999", "9" * 5000)[index]
            )
        action, which = rng.randrange(4), rng.randrange(len(_FILES))
        if action == 0:
            return mutated_text(rng, self._texts[which])
        if action == 1:
            return mutated_bytes(rng, self._texts[which].encode())
        try:
            tree = mutated_tree(rng, self._trees[which])
            return json.dumps(mutated_tree(rng, tree) if action == 2 else tree)
        except (RecursionError, ValueError):
            return "[" * 5000

    def try_one(self, value):
        samples.write("given.plan", value)
        commands.run(["mission", "check", "given.plan"])


KIND = Plan
