"""The physics as small scalar functions compiled by Numba."""

from .errors import DynamicsError

__all__ = ["DynamicsError"]
