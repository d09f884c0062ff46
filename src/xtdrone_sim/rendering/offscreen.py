"""Off-screen rendering by MuJoCo with EGL, or else OSMesa."""

import os
import subprocess
import sys
from functools import lru_cache
from typing import Any

from xtdrone_core import libraries

from ..errors import EngineError

BACKENDS = ("egl", "osmesa")
PACKAGES = ("libegl1", "libgl1-mesa-dri", "libopengl0")  # packages of Debian and Ubuntu, for EGL
_PROBE = "import mujoco; mujoco.GLContext(16, 16).make_current()"


@lru_cache
def backend() -> str:
    """The first of BACKENDS that gives a context here; MUJOCO_GL wins if it names one of them.

    Tried in a separate process, since a failed attempt leaves PyOpenGL unusable.

    Raises:
        EngineError: None works.
    """
    named = os.environ.get("MUJOCO_GL", "").lower()
    for name in (named,) if named in BACKENDS else BACKENDS:
        try:
            subprocess.run(
                [sys.executable, "-c", _PROBE],
                capture_output=True,
                timeout=60,
                check=True,
                env={**os.environ, "MUJOCO_GL": name, "PYOPENGL_PLATFORM": name},
            )
        except subprocess.SubprocessError:  # it failed, or hangs
            continue
        return name
    raise EngineError(
        f"cannot render: neither EGL nor OSMesa works here: {libraries.advice(PACKAGES)}"
    )


def context_class() -> Any:  # MuJoCo's modules have no types
    """The class of OpenGL contexts, GLContext(width, height), of the backend that works here.

    Raises:
        EngineError: Nothing here can render.
    """
    name = backend()
    # MuJoCo picks its backend at import from the environment, long before the first image.
    os.environ["PYOPENGL_PLATFORM"] = name
    if name == "egl":
        from mujoco.egl import GLContext
    else:
        from mujoco.osmesa import GLContext
    return GLContext
