"""Run folders and tables: truth.bin, events.jsonl, summary.json, CSV files of formations."""

import json
import os
from pathlib import Path

import numpy as np

from . import commands, samples
from .common import Kind, Nonsense, mutated_bytes, mutated_text, mutated_tree


class Tables(Kind):
    """(name of a file, its content)."""

    def prepare(self):
        commands.load()
        import xtdrone_formation.evaluation.plots  # noqa: F401
        import xtdrone_plots.figures  # noqa: F401
        import xtdrone_sim.viewing.flights  # noqa: F401

    def start(self, folder):
        os.environ["XTDRONE_RUNS"] = str(folder / "runs")
        samples.put_samples(folder)

    def make(self, rng, index):
        name = ("events.jsonl", "summary.json", "truth.bin", "table.csv")[index % 4]
        if name == "truth.bin":
            return name, mutated_bytes(rng, samples.truth())
        source = {
            "events.jsonl": samples.events,
            "summary.json": samples.summary,
            "table.csv": samples.formation,
        }[name]()
        if name == "table.csv" or rng.random() < 0.3:
            return name, mutated_text(rng, source)
        if rng.random() < 0.3:
            return name, mutated_bytes(rng, source.encode())
        try:
            if name == "summary.json":
                return name, json.dumps(mutated_tree(rng, json.loads(source)))
            lines = [json.loads(line) for line in source.splitlines()]
            return name, "".join(
                json.dumps(line) + "\n"
                for line in mutated_tree(rng, {"lines": lines}).get("lines", [5])
            )
        except (RecursionError, ValueError, AttributeError, TypeError):
            return name, "[" * 5000

    def try_one(self, value):
        from xtdrone_formation.evaluation import analysis
        from xtdrone_sim.viewing.flights import Replay
        from xtdrone_slam.flight import trajectories

        name, content = value
        if name == "table.csv":
            samples.write("given.csv", content)
            commands.run(["formation", "show", "given.csv", "--n", "9", "--out", "f.png"])
            return
        run = samples.put_run(Path.cwd())
        samples.write(str(run / name), content)
        commands.run(["formation", "table", "run"])
        if content and content[-1] in ("}", 0) and len(content) % 20 == 0:  # drawing takes long
            commands.run(["formation", "report", "run"])
            commands.run(["plot", "run", "--figures", "position"])
        else:
            summary = analysis.load("run").summary()
            json.dumps(summary, allow_nan=False)
        if name == "truth.bin":
            trajectories.read_flown(run)
        replay = Replay(run)
        replay.caption(replay.end_s)
        if not np.isfinite(replay.state(0.5 * replay.end_s).pos).all():
            raise Nonsense("a replay shows vehicles nowhere")


KIND = Tables
