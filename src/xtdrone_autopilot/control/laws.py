"""Control laws that further flight modes bring, as the compiled loops of the vehicles call them.

A loop asks added_law() for the modes that it does not know itself. That stands for none; a loop
for which modes bring laws is compiled anew by with_laws(), with a dispatch in its place.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numba

from xtdrone_dynamics.compiled import njit, rebuilt

Laws = Sequence[tuple[int, Callable[..., None]]]  # number of the mode, compiled law


@njit
def added_law(mode: int, *arguments: Any) -> bool:
    """Calls the law of a mode; returns whether there is one."""
    return False


def with_laws(loop: Any, one: Any, laws: Laws) -> Any:
    """A loop over the fleet, with further laws.

    Args:
        loop: The compiled loop, which calls `one` for each vehicle.
        one: The compiled function that calls added_law().
        laws: The laws; without any the loop is returned as it is.
    """
    if not laws:
        return loop
    kernels = tuple(law for _, law in laws)
    dispatch = added_law
    for mode, law in laws:
        dispatch = _either(mode, law, dispatch)
    return rebuilt(loop, kernels, **{one.__name__: rebuilt(one, kernels, added_law=dispatch)})


def _either(number: int, law: Any, otherwise: Any) -> Any:
    """A dispatch with one more law."""

    def either(mode: int, *arguments: Any) -> bool:
        if mode == number:
            law(*arguments)
            return True
        return bool(otherwise(mode, *arguments))

    return numba.njit(error_model="numpy")(either)
