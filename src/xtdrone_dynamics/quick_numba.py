"""What Numba does over and over in a compilation and a call, done once; results stay the same."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.targetconfig import TargetConfig
from numba.np import numpy_support


def _remember_record_types() -> None:
    """Finds the type of a record once, and not for each array of a call."""

    @functools.cache
    def known(dtype: "np.dtype[np.void]", is_aligned: bool) -> Any:  # Numba's type
        return find(dtype)

    find = numpy_support.from_struct_dtype
    numpy_support.from_struct_dtype = lambda dtype: known(dtype, dtype.isalignedstruct)


def _compare_flags_quickly() -> None:
    """Compares a compilation's flags by those that were set, and not each by its property.

    Each call of a function in a kernel is looked up by them, several times.
    """
    defaults: Callable[[Any], dict[str, Any]] = functools.cache(  # of a class of flags
        lambda kind: {name: option.default for name, option in kind.options.items()}
    )
    hash_of: Callable[[Any], int] = functools.cache(lambda kind: hash(tuple(sorted(kind.options))))
    TargetConfig.values = lambda flags: defaults(type(flags)) | flags._values
    TargetConfig.__hash__ = lambda flags: hash_of(type(flags))


def install() -> None:
    """Has Numba work so."""
    _remember_record_types()
    _compare_flags_quickly()
