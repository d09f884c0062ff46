"""The command `xtdrone propeller`: propellers, and models fitted to them."""

import argparse
import json
import math
from typing import Any

from xtdrone_core.command import Subparsers
from xtdrone_core.errors import shown
from xtdrone_core.scenario.options import number_type

from .errors import PropellerError

EXAMPLES = """examples:
  xtdrone propeller list apcsf
  xtdrone propeller show apcsf-10x4.7 --thrust 3.7 --out propeller.png
  xtdrone propeller compare apcsf-10x4.7=gill_dandrea_1 apcsf-10x4.7 generic-10x4.7=hbem
  xtdrone propeller fit generic-10x4.7 --out mine_10x4.7.json
"""
_ADVANCES = (0.0, 0.2, 0.4, 0.6, 0.8)
_INCIDENCES = (0, 30, 60, 90, 120, 150, 180)  # [deg]


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "propeller", help="propellers: thrust and power, compare models, fit one", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="published propellers, with their coefficients")
    listed.add_argument("word", nargs="?", default="", help="only names with this in them")
    listed.add_argument("--json", action="store_true", help="as JSON")
    listed.set_defaults(run=_list)
    show = actions.add_parser("show", help="tables of thrust and power over the flow, hover")
    _add_name(show)
    _add_geometry(show)
    show.add_argument(
        "--thrust",
        type=number_type("thrust", 1e-3, 1e4, unit="N"),
        default=0.0,
        metavar="N",
        help="hover at this thrust [N] (that of a tip at 100 m/s)",
    )
    show.add_argument("--json", action="store_true", help="as JSON")
    show.add_argument("--out", metavar="FILE", help="draw it (not drawn)")
    show.set_defaults(run=_show)
    compare = actions.add_parser("compare", help="propellers or models beside each other, drawn")
    compare.add_argument("propeller", nargs="+", help="NAME or FILE, with =MODEL if not its own")
    compare.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE",
        help="measurements beside them: UIUC's or APC's text, or a table of J, CT and CP",
    )
    _add_geometry(compare)
    compare.add_argument("--out", metavar="FILE", help="the picture (propellers.png)")
    compare.set_defaults(run=_compare)
    fit = actions.add_parser("fit", help="fit a model to measurements, or to another propeller")
    _add_name(fit)
    _add_geometry(fit)
    fit.add_argument(
        "--as",
        dest="kind",
        choices=("gill_dandrea_2", "surrogate"),
        default="",
        help="the fitted model (gill_dandrea_2 to measurements, else surrogate)",
    )
    fit.add_argument(
        "--like",
        metavar="NAME",
        default="",
        help="take H-force and moments in oblique flow from this published propeller",
    )
    fit.add_argument("--out", metavar="FILE", required=True, help="a name that ends in .json, .npz")
    fit.set_defaults(run=_fit)


def _add_name(parser: argparse.ArgumentParser) -> None:
    name = parser.add_argument(
        "propeller",
        help="a published name, generic-DIAMETERxPITCH, or a file; =MODEL if not its own",
    )
    name.completer = lambda **_: _names()  # type: ignore[attr-defined]  # argcomplete's


def _names() -> list[str]:
    from . import catalogue

    return catalogue.names()


def _add_geometry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--airfoil",
        default="",
        metavar="NAME",
        help="of a geometry: naca4412, a file of points or of a polar (a thin cambered one)",
    )
    parser.add_argument(
        "--diameter",
        type=number_type("diameter", 0.1, 80.0, unit="inch"),
        default=0.0,
        metavar="INCH",
        help="of a file that does not say it",
    )
    parser.add_argument(
        "--blades",
        type=number_type("blades", 1, 9, whole=True),
        default=0,
        metavar="N",
        help="of a file that does not say it (2)",
    )


def _made(given: str, args: argparse.Namespace, geometry: str = "") -> Any:  # a Propeller
    """The propeller of an argument; `geometry`: by which model one of a geometry is."""
    from . import catalogue

    name, _, model = given.rpartition("=")
    if not name or model not in catalogue.MODELS:
        name, model = given, ""
    if not model and catalogue.has_geometry(name):
        model = geometry
    return catalogue.propeller(
        name, model, airfoil=args.airfoil, diameter=args.diameter, blades=args.blades
    )


def _list(args: argparse.Namespace) -> None:
    from . import catalogue

    found = {name: line for name, line in catalogue.descriptions().items() if args.word in name}
    if not found:
        raise PropellerError(
            f"no published propeller has '{shown(args.word)}' in its name: run 'xtdrone propeller "
            "list'"
        )
    if args.json:
        print(json.dumps(found, indent=2))
        return
    for name, line in found.items():
        print(f"{name:20} {line}")


def _show(args: argparse.Namespace) -> None:
    import numpy as np

    from .propeller import INCH, NOMINAL_TIP

    made = _made(args.propeller, args)
    speed = made.speed_for(args.thrust) if args.thrust else NOMINAL_TIP / made.radius
    hover = made.loads(speed)
    thrust_constant, moment_constant = made.constants(speed)
    power = float(hover.torque) * speed
    table = {
        str(angle): [made.coefficients(np.array(_ADVANCES), math.radians(angle), speed)][0]
        for angle in _INCIDENCES
    }
    figures = {
        "name": made.name,
        "model": made.model,
        "diameter_inch": 2.0 * made.radius / INCH,
        "blades": made.blades,
        "speed_rpm": speed * 30.0 / math.pi,
        "thrust_n": float(hover.thrust),
        "power_w": power,
        "grams_per_watt": float(hover.thrust) / 9.80665 * 1e3 / power,
        "motor_constant": thrust_constant,
        "moment_constant": moment_constant,
        "advance": list(_ADVANCES),
        "thrust_coefficient": {angle: list(map(float, each[0])) for angle, each in table.items()},
        "power_coefficient": {angle: list(map(float, each[1])) for angle, each in table.items()},
    }
    if args.out:
        from .plots import draw

        draw([made], args.out, speed=speed)
    if args.json:
        print(json.dumps(figures, indent=2))
        return
    print(
        f"{made.name} by {made.model}: {figures['diameter_inch']:.3g} inch, {made.blades} blades\n"
        f"in still air at {figures['speed_rpm']:.0f} rpm: {figures['thrust_n']:.3g} N, "
        f"{power:.3g} W, {figures['grams_per_watt']:.3g} g/W\n"
        f"motorConstant {thrust_constant:.4g} N s^2, momentConstant {moment_constant:.4g} m"
    )
    for title, key in (("thrust C_T", "thrust_coefficient"), ("power C_P", "power_coefficient")):
        print(f"{title} over J = V / (n D), flow at an angle to the axis (0: climb)")
        print("   angle " + "".join(f"{f'J {j:g}':>9}" for j in _ADVANCES))
        for angle in _INCIDENCES:
            row = figures[key][str(angle)]
            print(f"{angle:4d} deg " + "".join(f"{x:9.4f}" for x in row))
    if args.out:
        print(f"drawing: {args.out}")


def _compare(args: argparse.Namespace) -> None:
    import numpy as np

    from .measured import read_measured
    from .plots import draw

    made = [_made(each, args) for each in args.propeller]
    measured = [read_measured(path, args.diameter, args.blades) for path in args.measured]
    print(f"{'propeller':32} {'C_T0':>7} {'C_P0':>7} {'J of no thrust':>15}")
    advance = np.linspace(0.0, 2.0, 401)
    for each in made:
        ct, cp = each.coefficients(advance)
        ends = np.flatnonzero(ct <= 0.0)
        end = f"{advance[ends[0]]:.2f}" if ends.size else "above 2"
        print(f"{f'{each.name} ({each.model})':32} {ct[0]:7.4f} {cp[0]:7.4f} {end:>15}")
        for data in measured:
            ours = each.coefficients(data.advance)
            left = [
                float(np.median(np.abs(a - b) / np.abs(b).max()))
                for a, b in zip(ours, (data.thrust, data.power), strict=True)
            ]
            print(
                f"    against {data.name}: thrust {100 * left[0]:.1f} %, power "
                f"{100 * left[1]:.1f} % of the largest measured (medians)"
            )
    print(f"drawing: {draw(made, args.out or 'propellers.png', measured)}")


def _fit(args: argparse.Namespace) -> None:
    from . import catalogue, propeller_file
    from .fit import fit_measured, fit_propeller, surrogate_errors
    from .measured import read_measured
    from .propeller import surrogate

    like = catalogue.propeller(args.like, "gill_dandrea_2") if args.like else None
    try:
        measured = read_measured(args.propeller, args.diameter, args.blades)
    except PropellerError:
        measured = None
    if measured is not None:
        found = fit_measured(measured, like)
        made, errors, remarks = found.propeller, (found.thrust, found.torque), found.remarks
        if args.kind == "surrogate":
            made = surrogate(made)
    else:
        whole = _made(args.propeller, args, "hbem")
        if args.kind == "gill_dandrea_2":
            found = fit_propeller(whole)
            made, errors, remarks = found.propeller, (found.thrust, found.torque), found.remarks
        else:
            made, remarks = surrogate(whole), ()
            errors = surrogate_errors(whole, made)
    path = propeller_file.write(made, args.out)
    print(
        f"{made.name} by {made.model}: thrust within {100 * errors[0]:.2g} % RMS of the largest, "
        f"torque within {100 * errors[1]:.2g} %"
    )
    for remark in remarks:
        print(f"remark: {remark}")
    print(f"propeller: {path}")
