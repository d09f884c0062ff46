"""The physics as small scalar functions compiled by Numba."""

from xtdrone_core.lazy import import_without

from .errors import DynamicsError

__all__ = ["DynamicsError"]

import_without("numba", "coverage")  # it would measure what Numba compiles
