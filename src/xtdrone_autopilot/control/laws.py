"""Control laws that further flight modes bring, as the compiled loops of the vehicles call them.

A loop asks added_law() for the modes that it does not know itself. That stands for none; a loop
for which modes bring laws is compiled anew by with_laws(), with a dispatch in its place.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numba

from xtdrone_dynamics.compiled import Kernel, njit, rebuilt

Laws = Sequence[tuple[int, Callable[..., None]]]  # number of the mode, compiled law


@njit
def added_law(mode: int, *arguments: Any) -> bool:  # as the loops of each type pass them
    """Calls the law of a mode; returns whether there is one."""
    return False


def with_laws(laws: Laws, *path: Kernel) -> Kernel:
    """A loop over the fleet, with further laws.

    Args:
        laws: The laws; without any the loop is returned as it is.
        path: Compiled functions, each of which calls the next: from the loop to the one that calls
            added_law().
    """
    if not laws:
        return path[0]
    kernels = tuple(law for _, law in laws)
    name, function = "added_law", added_law
    for mode, law in laws:
        function = _either(mode, law, function)
    for kernel in reversed(path):
        name, function = kernel.__name__, rebuilt(kernel, kernels, **{name: function})
    return function


def _either(number: int, law: Kernel, otherwise: Kernel) -> Kernel:
    """A dispatch with one more law."""

    def either(mode: int, *arguments: Any) -> bool:  # those of added_law()
        if mode == number:
            law(*arguments)
            return True
        return bool(otherwise(mode, *arguments))

    return numba.njit(error_model="numpy")(either)
