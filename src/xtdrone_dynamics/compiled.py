"""The compiler of every kernel in the workspace: Numba with a cache that is never stale.

Numba's own cache looks at the file of the compiled function only, not at the
files of what it calls. So the cache folder's name is a hash of all sources
below src/ that compile anything: a change to any of them starts a fresh cache.
"""

import hashlib
import os
from pathlib import Path

import numba


def _cache_folder() -> Path:
    sources = sorted(path for path in Path(__file__).resolve().parents[1].glob("*/*.py")
                     if path.parent.name.startswith(("xtdrone_", "sensor_models")))
    digest = hashlib.sha1(numba.__version__.encode())
    for path in sources:
        text = path.read_bytes()
        if b"compiled import" in text:
            digest.update(text)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "xtdrone" / "kernels" / digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())


def njit(function=None, **options):
    """numba.njit with the cache on and NumPy's rules for division by zero."""
    decorate = numba.njit(cache=True, error_model="numpy", **options)
    return decorate if function is None else decorate(function)
