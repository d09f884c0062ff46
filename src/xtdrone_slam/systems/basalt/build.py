"""Compiles calibration_shim.cpp into Basalt's environment."""

import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Compiles the library into the environment's folder, the only argument."""
    if shutil.which("g++") is None:
        print("g++ is missing: install it", file=sys.stderr)
        return 1
    source = Path(__file__).with_name("calibration_shim.cpp")
    target = Path(sys.argv[1]) / "calibration_shim.so"
    return subprocess.call(
        ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", str(target), str(source)]
    )


if __name__ == "__main__":
    sys.exit(main())
