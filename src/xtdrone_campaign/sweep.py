"""Reads --vary and --seeds: the values of a quantity.

wind=0..12/2          from 0 to 12 in steps of 2, both ends included
n=1..4                the whole numbers from 1 to 4
gps=rtk,m8n           a list
wind=[0, '3,0,0']     a YAML list, for values with commas
"""

import math
import re

from xtdrone_core import files
from xtdrone_core.errors import shown

from .errors import CampaignError

FORMS = "write FROM..TO/STEP, FROM..TO of whole numbers, A,B,C, or a YAML list [A, 'B,C']"
MAX_VALUES = 100_000  # values of a quantity
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:/(.*))?")
_ROUNDING = 1e-9  # fraction of a step by which rounding may miss the end of a range


def parse(name: str, spec: str) -> tuple[str, ...]:
    """Reads the values of a quantity, as texts of a command line.

    Args:
        name: Name of the quantity, for messages.
        spec: As above.

    Raises:
        CampaignError: It cannot be read, is empty, or gives a value twice.
    """
    match = _RANGE.fullmatch(spec.strip())
    values = _range(name, spec, *match.groups()) if match else _listed(name, spec)
    if not values or "" in values:
        raise CampaignError(f"cannot read the values '{shown(spec)}' of {name}: {FORMS}")
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise CampaignError(f"{name} has the value '{shown(value)}' twice: give it once")
        seen.add(value)
    return values


def parse_seeds(spec: str, first: int) -> tuple[int, ...]:
    """Reads seeds: a number of them that begin with `first`, a list, or a range FROM..TO.

    Raises:
        CampaignError: It cannot be read.
    """
    values = parse("seeds", spec)
    if not all(re.fullmatch(r"\d{1,15}", value) for value in values):
        raise CampaignError(
            f"cannot read --seeds '{shown(spec)}': give how many, a list 1,5,9, or a range 1..20"
        )
    if len(values) > 1 or ".." in spec:
        return tuple(map(int, values))
    count = int(values[0])
    _check_count("--seeds", count)
    return tuple(range(first, first + count))


def _range(name: str, spec: str, first: str, last: str, by: str | None) -> tuple[str, ...]:
    low, high = float(first), float(last)
    if not (low <= high and math.isfinite(high - low)):
        raise CampaignError(
            f"the range '{shown(spec)}' of {name} is empty: give the smaller end first"
        )
    if by is None and not (low.is_integer() and high.is_integer()):
        raise CampaignError(
            f"the range '{shown(spec)}' of {name} has no step: write {shown(spec)}/STEP"
        )
    step = 1.0 if by is None else float(by) if re.fullmatch(_NUMBER, by) else math.nan
    if not 0.0 < step < math.inf:
        raise CampaignError(
            f"the step '{shown(by)}' of {name} is not allowed: give a number above 0"
        )
    count = math.floor((high - low) / step + _ROUNDING) + 1
    _check_count(name, count)
    return tuple(f"{low + k * step:.12g}" for k in range(count))


def _check_count(what: str, count: int) -> None:
    if not 1 <= count <= MAX_VALUES:
        raise CampaignError(f"{what} has {count} values: give 1 to {MAX_VALUES}")


def _listed(name: str, spec: str) -> tuple[str, ...]:
    if not spec.strip().startswith("["):
        return tuple(word.strip() for word in spec.split(","))
    given = files.parse_yaml(spec, f"the list of {name}", CampaignError)
    if not isinstance(given, list) or any(isinstance(value, (list, dict)) for value in given):
        return ()
    return tuple(
        "none"
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else f"{value:.12g}"
        if isinstance(value, float)
        else str(value)
        for value in given
    )
