"""Every option and argument of every subcommand, with any text."""

import argparse
import os

from . import commands, samples
from .common import EXTREMES, Kind, number, text

# Not run, whatever their options: they open windows, install packages, or speak to a network.
LEFT_OUT = {
    "slam install",
    "warmup",
    "doctor",
    "formation view",
    "slam watch",
    # These go on until Ctrl-C.
    "web",
    "replay",
    "ros2 keyboard",
    "ros2 formation",
    "ros2 director",
    "ros2 agent",
    "perception ros2",
}
SERVES = {("tune", "web")}  # options with which a subcommand goes on until Ctrl-C
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")  # with one, a window stays open
# What makes an action run where the input leaves its required arguments alone.
_USUAL = {
    "agent": "square",
    "subject": "square",
    "vary": "side=2,3",
    "vehicle": "iris",
    "preset": "m8n",
    "kind": "engines",
    "value": "1",
    "name": "MPC_XY_CRUISE",
    "estimate": "est.tum",
    "reference": "est.tum",
    "system": "klt",
    "dataset": "run",
    "format": "csv",
    "output": "out",
    "source": "run",
    "bag": "x.bag",
    "calibration": "c.yaml",
    "imu": "i.yaml",
    "truth": "est.tum",
    "folder": "run",
    "folders": "run",
    "path": "model.sdf",
    "action": "status",
    "file": "file",
}
_FILE = {
    "mission": "square.plan",
    "params": "iris.params",
    "log": "log.ulg",
    "slam": "campaign.yaml",
}
_PATHS = (
    "precious.txt",
    "fifo",
    ".",
    "/",
    "/dev/zero",
    "/dev/full",
    "/dev/null",
    "nowhere/x.png",
    "link.png",
    "x" * 300 + ".csv",
    "run/summary.json",
    "est.tum",
    "square.plan",
    "log.ulg",
    "/proc/self/mem",
    "binary.bin",
    "empty",
)
_WORDS = (
    "iris@1e308,0",
    "iris@1,2,3,nan",
    "iris*99999999999999999999",
    "iris@0,0;iris@1e300,1e300",
    "os:system",
    "json:JSONDecoder",
    "builtins:dict",
    "builtins:print",
    "json.decoder:",
    ":",
    "xtdrone_core:Scenario",
    "this_is:nothing",
    "side=1e308",
    "side=[[",
    "side=&a [*a]",
    "=1",
    "n=1",
    "side={a: b}",
    "side=nan",
    "formations=cube",
    "1e308,1e308,1e308",
    "1,2,3",
    "mean=1e308,0,0",
    "gust=-1",
    "field=precious.txt",
    "field=fifo",
    "12: payload iris_0 1e308",
    "1e308: rotor iris_0 0 0",
    "0: payload iris_0 1e30",
    "cube,nowhere.csv",
    "table.csv",
    "0,1e308",
    "1,",
    "cube",
    "consensus",
    "ring",
    "0: charge iris_0 nan",
    "a\nb",
    "٣",
    "run",
    "iris=iris",
    "reference",
    "precious.txt,precious.txt",
)


def usual(leaf, action):
    """A value of an argument or option with which its command runs."""
    if action.dest == "file":
        return _FILE[leaf.split()[0]]
    if leaf == "formation show" and action.dest == "name":
        return "cube"
    return _USUAL.get(action.dest, "1")


class Command(Kind):
    """Words of a command line."""

    share = 60
    per_fork = 400

    def prepare(self):
        self.leaves = {
            words: parser for words, parser in commands.load().items() if words not in LEFT_OUT
        }

    def start(self, folder):
        os.environ.update(XTDRONE_RUNS=str(folder / "runs"), XTDRONE_SYSTEMS=str(folder / "s"))
        for name in DISPLAYS:
            os.environ.pop(name, None)
        samples.put_samples(folder)
        commands.cut_flights()

    def make(self, rng, index):
        leaf = sorted(self.leaves)[index % len(self.leaves)]
        actions = [
            action
            for action in self.leaves[leaf]._actions
            if not isinstance(action, argparse._HelpAction) and (leaf, action.dest) not in SERVES
        ]
        chosen = rng.sample(actions, min(len(actions), rng.choice((1, 1, 1, 2, 3))))
        words = leaf.split()
        for action in actions:
            mutated = action in chosen
            if mutated or action.required or not action.option_strings:
                words += self._words(rng, leaf, action, mutated)
        return words

    def try_one(self, value):
        commands.run(value)

    def _words(self, rng, leaf, action, mutated):
        flag = rng.choice(action.option_strings) if action.option_strings else None
        if action.nargs == 0:
            return [flag]
        usually = usual(leaf, action)
        if not mutated:
            if action.option_strings:
                return [flag, usually]
            return [usually] if action.nargs not in ("?", "*") else []
        value = self._value(rng, action, usually).replace("\0", "0")
        if flag is None:
            return [value] if not value.startswith("-") or rng.random() < 0.2 else ["--", value]
        return [f"{flag}={value}"]

    def _value(self, rng, action, usual):
        choice = rng.random()
        if choice < 0.35:
            return str(number(rng))
        if choice < 0.5:
            return str(rng.choice(EXTREMES))
        if choice < 0.65:
            return text(rng)
        if choice < 0.85:
            return rng.choice(_WORDS)
        return rng.choice((*_PATHS, usual))


KIND = Command
