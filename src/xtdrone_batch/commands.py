"""The command `xtdrone batch`: worlds of a batch."""

import argparse
from pathlib import Path

from xtdrone_core import resources
from xtdrone_core.command import Subparsers
from xtdrone_core.scenario.options import number_type

EXAMPLES = """examples:
  xtdrone batch show forest
  xtdrone batch show forest --environment 7 --seed 3 --out forest.png
  xtdrone batch show my_world.yaml --out my_world.png
  xtdrone batch show worlds/indoor.world --out indoor.png
"""
_MAX = 1 << 24


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "batch", help="worlds of a batch of environments", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="list what stands in an environment, or draw it")
    name = show.add_argument(
        "world", help="a name from worlds/batch or worlds, or a YAML or SDF file"
    )
    name.completer = lambda **_: [*resources.batch_world_names(), *resources.world_names()]
    show.add_argument(
        "--environment",
        type=number_type("environment", 0, _MAX, whole=True),
        default=0,
        metavar="K",
        help="which environment (0)",
    )
    show.add_argument(
        "--seed",
        type=number_type("seed", 0, 2**62, whole=True),
        default=0,
        help="of its random numbers (0)",
    )
    show.add_argument("--out", metavar="FILE", help="draw it to this file (not drawn)")
    show.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> None:
    import numpy as np

    from .worlds.generate import World

    world = World(args.world)
    scenes = world.generate(1, args.seed, args.environment)
    labels = scenes.objects["semantic"][0][scenes.objects["kind"][0] > 0]
    ((low, high),) = scenes.bounds
    print(
        f"{Path(args.world).stem}, environment {args.environment} of seed {args.seed}: "
        f"{len(labels)} of at most {world.file.objects} objects in "
        + " x ".join(f"{side:g}" for side in high - low)
        + " m"
    )
    for k, semantic in enumerate(scenes.semantics, 1):
        print(f"{np.count_nonzero(labels == k):6d}  {semantic}")
    if args.out:
        from .picture import draw

        draw(scenes, args.out)
        print(f"drawn to {args.out}")
