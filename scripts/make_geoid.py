#!/usr/bin/env python3
"""Writes egm96.npz of xtdrone_dynamics.earth from NGA's grid WW15MGH.DAC (public domain)."""

import argparse
from pathlib import Path

import numpy as np

from xtdrone_dynamics.earth.geoid import STEP

OUT = Path(__file__).parents[1] / "src/xtdrone_dynamics/earth/egm96.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", type=Path, help="WW15MGH.DAC: 721 x 1440 heights in centimetres")
    heights = np.fromfile(parser.parse_args().grid, ">i2").reshape(721, 1440)
    steps = np.rint(heights / (100.0 * STEP)).astype(np.int16)
    rows = np.diff(steps, axis=1, prepend=np.int16(0))
    np.savez_compressed(OUT, differences=np.diff(rows, axis=0, prepend=np.int16(0)))


if __name__ == "__main__":
    main()
