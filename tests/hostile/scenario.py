"""Scenario files: wrong types, alias bombs, deep nesting, any bytes."""

import os

import yaml

from . import commands, samples
from .common import Kind, Nonsense, mutated_bytes, mutated_text, mutated_tree, text

_BOMB = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 40))]
)
_FIXED = (
    _BOMB,
    "a: &a [*a]",
    "vehicles: &a [*a]",
    "<<: *x",
    "[" * 5000,
    "{a: " * 5000,
    "vehicles: iris\nvehicles: iris*2",
    "speed: 2001-99-99",
    "seed: 0b",
    "seed: 0x",
    "seed: 1:99:99",
    "seed: !!python/object:os.system x",
    "!!set {a}",
    "speed: 1_0",
    "\t",
    "a: !!binary x",
    "? [a]\n: b",
    "seed: 1e999",
    f"seed: {'9' * 5000}",
    f"vehicles: [{{type: {'x' * 300}}}]",
    f"world: {'x' * 300}",
    "--- a\n--- b",
    "%YAML 9.9",
)


class ScenarioFile(Kind):
    """The text of a scenario file."""

    per_fork = 1000

    def prepare(self):
        commands.load()
        self._tree = yaml.safe_load(samples.SCENARIO)

    def start(self, folder):
        os.environ["XTDRONE_RUNS"] = str(folder / "runs")
        samples.put_samples(folder)
        commands.cut_flights()

    def make(self, rng, index):
        if index < len(_FIXED):
            return _FIXED[index]
        action = rng.randrange(4)
        if action == 0:
            return mutated_text(rng, samples.SCENARIO)
        if action == 1:
            return mutated_bytes(rng, samples.SCENARIO.encode())
        try:
            tree = mutated_tree(rng, self._tree)
            return yaml.safe_dump(
                mutated_tree(rng, tree) if action == 2 else tree, allow_unicode=True
            )
        except (yaml.YAMLError, RecursionError, ValueError):
            return text(rng)

    def try_one(self, value):
        samples.write("given.yaml", value)
        status = commands.run(
            ["sim", "--scenario", "given.yaml", "--duration", "0.02", "--no_run_folder"]
        )
        if status == 0:
            raise Nonsense("it ended with status 0 without a flight")


KIND = ScenarioFile
