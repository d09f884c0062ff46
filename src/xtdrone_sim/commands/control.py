"""`xtdrone control`: control of a running simulation."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from xtdrone_core.command import Subparsers
from xtdrone_core.errors import ScenarioError, shown
from xtdrone_core.runs import ports
from xtdrone_core.scenario.options import number, number_type

EXAMPLES = """examples:
  xtdrone control status --json                for programs
  xtdrone control pause
  xtdrone control step --n 5                   five steps of 4 ms, then pause
  xtdrone control speed 2
  xtdrone control disturb rotor iris_0 2 0.5   rotor 2 gives half its thrust from now on
  xtdrone control grip quadrotor_gripper_0 grab        or release
  xtdrone control reset iris_2                 back to its start, while the others fly on
  xtdrone control save before                  into the run folder; 'load before' goes back there
"""


def register_control(subparsers: Subparsers) -> None:
    """Adds `xtdrone control`."""
    parser = subparsers.add_parser(
        "control", help="pause, step or speed up a running simulation", epilog=EXAMPLES
    )
    parser.add_argument(
        "action",
        choices=[
            "status",
            "pause",
            "resume",
            "step",
            "speed",
            "disturb",
            "grip",
            "reset",
            "save",
            "load",
            "stop",
        ],
    )
    parser.add_argument(
        "value",
        nargs="*",
        help="speed: factor; disturb: payload, drain, rotor or "
        "charge, the vehicle's name, values as in --disturbances; grip: the vehicle's name, grab "
        "or release; reset: vehicles (all); save, load: a name (snapshot)",
    )
    parser.add_argument(
        "--n",
        type=number_type("n", 1, 1_000_000, whole=True),
        default=1,
        help="number of steps (1)",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    ports.add_option(parser)
    parser.set_defaults(run=_control)


def _control(args: argparse.Namespace) -> None:
    from xtdrone_core.runs.control_link import ControlClient

    values = {
        "step": {"n": args.n},
        "disturb": {"disturbance": " ".join(args.value)},
        "reset": {"vehicles": args.value or None},
    }.get(args.action, {})
    if args.action == "grip":
        values = _grip_of(args.value)
    if args.action in ("save", "load") and args.value:
        values = {"name": " ".join(args.value)}
    if args.action == "speed":
        values = {"speed": number("speed", " ".join(args.value) or "without a factor", 0.0)}
    client = ControlClient(args.instance)
    answer = client.request(args.action, **values)
    client.close()
    answer.pop("ok")
    if args.json:
        print(json.dumps(answer))
        return
    for key, value in answer.items():
        print(f"{key}: {', '.join(value) if isinstance(value, list) else value}")


def _grip_of(words: Sequence[str]) -> dict[str, Any]:
    """The request of `xtdrone control grip NAME grab`."""
    if len(words) != 2 or words[1] not in ("grab", "release"):
        raise ScenarioError(
            f"grip '{shown(' '.join(words))}' is not allowed: give a vehicle's name, and grab or "
            "release"
        )
    return {"vehicle": words[0], "grab": words[1] == "grab"}
