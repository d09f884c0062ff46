"""A box that floats, for tests of boats and waves."""

import math

import numpy as np

import jointed

G, WATER = 9.80665, 998.0
MASS, INERTIA = 60.0, (3.0, 8.0, 9.0)
LENGTH, WIDTH, HEIGHT = 2.0, 0.8, 0.4
DRAUGHT = MASS / (WATER * LENGTH * WIDTH)
KEEL = -0.1  # height of the keel over the centre of gravity [m]


def boat(tmp_path, drag="", more=""):
    """A box that floats upright, its centre of gravity at the origin."""
    hull = (
        f"<xtdrone:hull><link>base</link><pos>0 0 {KEEL}</pos>"
        f"<size>{LENGTH} {WIDTH} {HEIGHT}</size>{drag}</xtdrone:hull>"
    )
    return jointed.write(tmp_path, jointed.link("base", mass=MASS, inertia=INERTIA) + hull + more)


def start(roll=0.0, z=-KEEL - DRAUGHT, forward=0.0):
    return np.array([0, 0, z, math.sin(roll / 2), 0, 0, math.cos(roll / 2), forward, 0, 0, 0, 0, 0])


def powered(tmp_path, depth=0.12):
    """Two propellers that push forwards, channels 0 (left) and 1, so far below its centre."""
    drives = ""
    for k, y in enumerate((0.3, -0.3)):
        drives += (
            jointed.rotor(k, "base", f"-1 {y} {-depth}")
            .replace("<xyz>0 0 1</xyz>", "<xyz>1 0 0</xyz>")
            .replace("5.84e-06", "2e-5")
            .replace("</plugin>", "<xtdrone:in_water/></plugin>")
        )
    drag = (
        "<linear_drag>10 100 500</linear_drag><quadratic_drag>8 0 0</quadratic_drag>"
        "<linear_damping>50 50 50</linear_damping>"
    )
    return boat(tmp_path, drag, drives)
