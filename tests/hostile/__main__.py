"""Tries hostile inputs of every kind for some time, prints a table and saves those that do harm.

examples:
  make hostile
  make hostile ARGS="--seconds 60 --seed 3"
  make hostile ARGS="--kinds sdf,scenario --only 100-200"
"""

import argparse
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from pathlib import Path

from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import INSTANCES, VARIABLE, Ports
from xtdrone_core.runs.run_folder import runs_root
from xtdrone_core.scenario.options import number_type

from .common import FAILURES, load, names
from .runner import Found, Result, run

COLUMNS = [failure.column for failure in FAILURES]
SAVED = 3  # inputs of one cause
_FORK = multiprocessing.get_context("fork")


def _arguments():
    usage, _, examples = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        "hostile",
        description=usage,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds",
        type=number_type("seconds", 1, 86400),
        default=600,
        help="for all kinds together (600)",
    )
    parser.add_argument(
        "--seed",
        type=number_type("seed", 0, 2**53, whole=True),
        default=1,
        help="the inputs follow from it (1)",
    )
    parser.add_argument(
        "--kinds",
        type=_kinds,
        default=names(),
        metavar="NAME,...",
        help=f"of {', '.join(names())} (all)",
    )
    parser.add_argument(
        "--only",
        type=_indices,
        metavar="I[-J]",
        default=(0, None),
        help="number of the input, or of the first and the last",
    )
    parser.add_argument(
        "--jobs",
        type=number_type("jobs", 1, INSTANCES, whole=True),
        default=min(os.cpu_count() or 1, 4),
        help="kinds at a time (cores, at most 4)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=runs_root() / "hostile",
        help="folder of the inputs that do harm (runs/hostile)",
    )
    return parser.parse_args()


def _kinds(text):
    unknown = set(text.split(",")) - set(names())
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown kind '{min(unknown)}': choose of {', '.join(names())}"
        )
    return text.split(",")


def _indices(text):
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of an input, as 17, or 10-17")
    return int(first), int(last or first)


def _host(tie, name, instance, args, seconds, results):
    """Runs one kind in this process on an instance of its own."""
    tie()
    os.environ[VARIABLE] = str(instance)
    results.send(run(load(name), args.seed, seconds, *args.only))
    results.close()


def _try_all(args) -> dict[str, Result]:
    """Runs the kinds, some at a time; the longest wait is for the slowest."""
    free = [k for k in range(INSTANCES) if Ports(k).free()][: args.jobs]
    if not free:
        raise SystemExit("no instance is free: stop the simulations that run here")
    seconds = args.seconds * min(len(free), len(args.kinds)) / len(args.kinds)
    waiting, running, done = list(args.kinds), {}, {}
    while waiting or running:
        while waiting and free:
            name, instance = waiting.pop(0), free.pop()
            reader, writer = _FORK.Pipe(duplex=False)
            process = _FORK.Process(
                target=_host, args=(tied(), name, instance, args, seconds, writer)
            )
            process.start()
            writer.close()
            running[reader] = name, instance, process
        for reader in multiprocessing.connection.wait(list(running)):
            name, instance, process = running.pop(reader)
            try:
                done[name] = reader.recv()
            except EOFError:
                done[name] = Result(missing="its host process ended: see above")
                done[name].counts[COLUMNS[0]] += 1
            process.join()
            free.append(instance)
            print(_row(name, done[name]), flush=True)
            for found in done[name].causes.values():
                print(f"    {len(found)} x {found[0].cause}", flush=True)
    return done


def _row(name, result) -> str:
    cells = [f"{result.tried:,}", *(f"{result.counts[column]:,}" for column in COLUMNS)]
    return (
        "| "
        + " | ".join([name, *([f"not tried: {result.missing}"] if result.missing else cells)])
        + " |"
    )


def _save(folder: Path, found: Found) -> None:
    """Writes one failing input and how to try it again."""
    stem = folder / f"{found.kind}-{found.seed}-{found.index}"
    again = f'make hostile ARGS="--kinds {found.kind} --seed {found.seed} --only'
    if found.data is not None:
        stem.with_suffix(".input").write_bytes(found.data)
    stem.with_suffix(".txt").write_text(
        f'{found.column}\n\nagain:              {again} {found.index}"\n'
        f'with those before:  {again} {found.first}-{found.index}"\n\n'
        f"{found.text}\n\ninput:\n{found.value}\n",
        errors="backslashreplace",
    )


def main() -> int:
    """Runs it; 1 if an input did harm."""
    args = _arguments()
    begin = time.monotonic()
    print(f"seed {args.seed}, {args.seconds:g} s")
    head = "| kind | inputs tried | " + " | ".join(COLUMNS) + " |"
    done = _try_all(args)
    total = Result(sum(result.tried for result in done.values()))
    for result in done.values():
        total.counts += result.counts
    print(f"\n{head}\n|{'---|' * (len(COLUMNS) + 2)}")
    for name in sorted(done):
        print(_row(name, done[name]))
    print(_row("all", total))
    print(f"{time.monotonic() - begin:.0f} s")
    causes = [found for result in done.values() for found in result.causes.values()]
    if causes:
        args.out.mkdir(parents=True, exist_ok=True)
        for found in causes:
            for one in found[:SAVED]:
                _save(args.out, one)
        print(
            f"{len(causes)} causes; inputs and how to try them again: {args.out}", file=sys.stderr
        )
    return 1 if total.counts.total() else 0


if __name__ == "__main__":
    sys.exit(main())
