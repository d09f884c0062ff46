"""Vehicles and controllers chosen together: docs/validation/optimisation.md.

    python scripts/validation/optimisation.py --only tail_sitter   runs or goes on with one study
    python scripts/validation/optimisation.py --runs 0             the page of what was run

Each evaluation is a line of runs/optimisation/STUDY_SEED/evaluations.jsonl as soon as it is done;
the command may be interrupted and goes on when it is given again. The results of each study are a
line of scripts/validation/optimisation.jsonl.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import yaml

from _report import Page
from xtdrone_campaign.runners import ProcessRunner
from xtdrone_core.runs import run_folder
from xtdrone_optimise import optimisation, report
from xtdrone_optimise.evaluation import evaluate
from xtdrone_optimise.journal import Journal
from xtdrone_optimise.study import read

FILE = Path(__file__).with_suffix(".jsonl")
STUDIES = Path(__file__).with_name("studies")
SEEDS = {"tail_sitter": (1,), "hexarotor": (1, 2, 3, 4, 5)}
BETTER = {"tail_sitter": 0.0, "hexarotor": 0.30}  # by which the energy has to fall
OVERSHOOT_M = 30.0


def lines():
    """Returns the lines of the file."""
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def run(name, seed, workers):
    """Runs a study with a seed, of the search and of the flights; returns a line for the file."""
    folder = run_folder.runs_root() / "optimisation" / f"{name}_{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    content = yaml.safe_load((STUDIES / f"{name}.yaml").read_text())
    for flight in content["flights"].values():
        flight["seeds"] = [seed]
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**content, "seed": seed}, sort_keys=False))
    study = read(path)
    runner = ProcessRunner(evaluate, workers, 600.0) if workers else None
    runner = runner or optimisation.SerialRunner(evaluate)
    begun = time.perf_counter()
    with Journal(folder, study.definition) as journal:
        graded = optimisation.run(study, path, runner, journal)
    seconds = time.perf_counter() - begun
    front = optimisation.best(graded)
    best = front[0] if front else graded[0]
    print("\n".join(report.lines(study, graded, front)), f"{seconds:.0f} s", sep="\n", flush=True)
    return {
        "study": name,
        "seed": seed,
        "evaluations": len(graded),
        "start": [dict(graded[0].values), graded[0].objectives[0], *_overshoot(graded[0])],
        "best": [dict(best.values), best.objectives[0], *_overshoot(best)],
        "shown": [
            [one.number, float(one.objectives[0]), one.is_allowed]
            for one in graded
            if not one.measured.reason
        ],
    }


def _overshoot(one):
    return [max(one.measured.figures.get("lap.overshoot_m", [0.0]))]


def work(name, workers):
    """Runs what is missing of a study."""
    done = {(line["study"], line["seed"]) for line in lines()}
    for seed in SEEDS[name]:
        if (name, seed) not in done:
            line = run(name, seed, workers)
            with FILE.open("a") as file:
                file.write(json.dumps(line) + "\n")


def table(page, name):
    """Adds the results of a study."""
    own = [line for line in lines() if line["study"] == name]
    page.add(
        f"## {name.replace('_', '-')}",
        "",
        "```yaml",
        (STUDIES / f"{name}.yaml").read_text().rstrip(),
        "```",
    )
    page.table("seed", "evaluations", "energy [kJ]", "less by", "off the path [m]", "best", "holds")
    for line in own:
        start, best = line["start"], line["best"]
        less = 1.0 - best[1] / start[1]
        good = less > BETTER[name] if name == "tail_sitter" else less >= BETTER[name]
        off = f"{start[2]:.1f} → {best[2]:.1f}" if best[2] else "-"
        good = good and best[2] <= OVERSHOOT_M
        page.row(
            line["seed"],
            line["evaluations"],
            f"{start[1]:.4g} → {best[1]:.4g}",
            f"{less:.0%}",
            off,
            ", ".join(f"{key} {value:.3g}" for key, value in best[0].items()),
            page.holds(f"{name} {line['seed']}: {less:.1%} less energy", good),
        )
    page.add("")


def write():
    """Writes the page; returns 1 if a bound is broken."""
    page = Page("optimisation")
    page.add(
        "# Optimisation",
        "",
        "Made by `scripts/validation.sh optimisation`, which runs the studies below by "
        "`xtdrone optimise`'s functions ([how to](../optimise.md)). Bounds: the tail-sitter's lap "
        "in wind with less energy and at most 30 m off the circle; the hexarotor at least 30 % "
        f"better than its start with each of {len(SEEDS['hexarotor'])} seeds of search and flight.",
    )
    for name in SEEDS:
        table(page, name)
    page.add(*Path(__file__).with_name("_optimisation.md").read_text().splitlines())
    return page.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=tuple(SEEDS))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    here = str(Path(__file__).parent)  # workers find _lap there, too
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, sys.path)])
    for study in (args.only,) if args.only else SEEDS:
        if args.runs:
            work(study, args.workers)
    sys.exit(0 if args.only else write())
