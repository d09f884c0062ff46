"""Rates that the files of vehicles give to sensors, which sample at whole steps."""

from collections.abc import Sequence

from xtdrone_core import SensorBlock

from .blocks import UNSET_RATE, given_rate
from .parameters import number_of
from .rendered_sensor import rendered_sensors
from .sensor import STEP_US, sensors, whole_rate

_TOLERANCE = 0.01  # relative difference up to which rates count as the same


def rounded_rates(blocks: Sequence[SensorBlock]) -> list[str]:
    """Returns a line on rates that are no whole number of steps, and one on missing rates.

    Raises:
        SensorError: A rate that is no number.
    """
    rounded = []
    for block in blocks:
        asked = _asked(block)
        if asked > 0.0 and abs(whole_rate(asked) - asked) > _TOLERANCE * asked:
            rounded.append(f"{block.kind} '{block.name}' {asked:g} to {whole_rate(asked):.4g} Hz")
    unset = [
        f"'{block.name}'"
        for block in blocks
        if block.kind in rendered_sensors() and _asked(block) == 0.0
    ]
    return (
        [f"rates become whole steps of {STEP_US // 1000} ms: {', '.join(rounded)}"]
        if rounded
        else []
    ) + ([f"no <update_rate>, so {UNSET_RATE:g} Hz: {', '.join(unset)}"] if unset else [])


def _asked(block: SensorBlock) -> float:
    """Returns the rate that a block itself gives [Hz]; 0 without one."""
    if block.kind in rendered_sensors():
        return given_rate(block)
    if block.kind not in sensors():
        return 0.0
    tags = sensors()[block.kind].tags.sitl
    given = [
        value for tag, value in block.parameters.items() if tags.get(tag, (tag, 1.0))[0] == "rate"
    ]
    return number_of(block, "rate", given[-1]) if given else 0.0
