"""The command `xtdrone slam`: record a dataset."""

EXAMPLES = """examples:
  xtdrone slam record --world indoor --trajectory reference --name indoor
"""


def register(subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser("slam", help="record datasets, run and evaluate visual SLAM",
                                   description="Benchmarks of visual SLAM.", epilog=EXAMPLES)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_record(actions)


def _add_record(actions):
    record = actions.add_parser("record", help="fly a trajectory with a stereo pair, and record it")
    add = record.add_argument
    add("--world", default="indoor", help="a name from worlds/, or an SDF file (indoor)")
    add("--trajectory", default="reference",
        help="reference, or a file: .csv with t,x,y,z,yaw, or .tum (reference)")
    add("--vehicle", default="iris_stereo", help="type, with a grey stereo pair (iris_stereo)")
    add("--seed", type=int, default=1, help="of every random number (1)")
    add("--gps", default="rtk", help="preset of the receiver that the flight uses (rtk)")
    add("--name", default="slam", help="of the run folder, which gets the folder dataset")
    record.set_defaults(run=_record)


def _record(args):
    from xtdrone_core import command

    from . import trajectories

    (x, y, _), _, yaw, _ = trajectories.load(args.trajectory).at(0.0)
    return command.main([
        "fly", "xtdrone_slam.agent:TrajectoryAgent", "--set", f"trajectory={args.trajectory}",
        "--vehicles", f"{args.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}", "--world", args.world,
        "--seed", str(args.seed), "--gps", args.gps, "--name", args.name])
