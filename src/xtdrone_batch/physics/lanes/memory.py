"""Moves blocks of vehicles between the arrays of a batch and the lanes' scratch."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.lanes import LaneLoop

from ...arrays import BatchState, Variation
from ...levels import AT_ACTUATOR, AT_ATTITUDE, AT_POSITION, AT_RATES, AT_VELOCITY
from ..control import CASCADE, FREE_YAW, GEOMETRIC, IN_LANES, INDI, MEMORY_SIZE, RATE_INTEGRAL
from ..indi import ACTUATORS, FILTERS, RATE as RATES
from .dynamics import accelerations
from .layout import (
    ACC,
    ACTION,
    EXPECTED,
    FOUR,
    HEADING,
    INTEGRAL,
    LAST_RATE,
    MEMORY,
    ONE,
    POLE,
    POS,
    QUAT,
    RATE,
    RATIO,
    ROW,
    SCALE,
    SP_QUAT,
    SP_RATES,
    SP_WRENCH,
    SP_YAW_RATE,
    SPEED,
    THREE,
    THRUST,
    TWO,
    VEL,
    WIND,
    L,
)


@LaneLoop
def _gather(out: np.ndarray, source: np.ndarray, rows: np.ndarray, width: int) -> None:
    """Loads one number of each vehicle, from these rows of a flat array, into the lanes."""
    wide = np.uintp(width)
    for k in range(rows.size):
        lane = np.uintp(k)
        out[lane] = source[rows[lane] * wide]


@LaneLoop
def _scatter(lanes: np.ndarray, target: np.ndarray, rows: np.ndarray, width: int) -> None:
    """Writes back what _gather() reads."""
    wide = np.uintp(width)
    for k in range(rows.size):
        lane = np.uintp(k)
        target[rows[lane] * wide] = lanes[lane]


@LaneLoop
def _gather3(out: np.ndarray, source: np.ndarray, rows: np.ndarray) -> None:
    """Loads three numbers of each vehicle into three rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * THREE
        out[lane] = source[at]
        out[lane + ROW] = source[at + ONE]
        out[lane + TWO * ROW] = source[at + TWO]


@LaneLoop
def _gather4(out: np.ndarray, source: np.ndarray, rows: np.ndarray) -> None:
    """Loads four numbers of each vehicle into four rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * FOUR
        out[lane] = source[at]
        out[lane + ROW] = source[at + ONE]
        out[lane + TWO * ROW] = source[at + TWO]
        out[lane + THREE * ROW] = source[at + THREE]


@LaneLoop
def _scatter3(lanes: np.ndarray, target: np.ndarray, rows: np.ndarray) -> None:
    """Writes back what _gather3() reads."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * THREE
        target[at] = lanes[lane]
        target[at + ONE] = lanes[lane + ROW]
        target[at + TWO] = lanes[lane + TWO * ROW]


@LaneLoop
def _scatter4(lanes: np.ndarray, target: np.ndarray, rows: np.ndarray) -> None:
    """Writes back what _gather4() reads."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * FOUR
        target[at] = lanes[lane]
        target[at + ONE] = lanes[lane + ROW]
        target[at + TWO] = lanes[lane + TWO * ROW]
        target[at + THREE] = lanes[lane + THREE * ROW]


@LaneLoop
def _clear3(target: np.ndarray, rows: np.ndarray) -> None:
    """Sets three numbers of each vehicle to zero."""
    for k in range(rows.size):
        at = rows[np.uintp(k)] * THREE
        target[at] = target[at + ONE] = target[at + TWO] = 0.0


@njit
def _load_row(out: np.ndarray, k: np.uintp, memory: np.ndarray, at: np.uintp) -> None:
    for j in range(IN_LANES):
        out[np.uintp(j) * ROW + k] = memory[at + np.uintp(j)]


@njit
def _store_row(lanes: np.ndarray, k: np.uintp, memory: np.ndarray, at: np.uintp) -> None:
    for j in range(IN_LANES):
        memory[at + np.uintp(j)] = lanes[np.uintp(j) * ROW + k]


@LaneLoop
def _load_memory(out: np.ndarray, memory: np.ndarray, rows: np.ndarray) -> None:
    """Loads the memory of each vehicle's control loops into rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        _load_row(out, lane, memory, rows[lane] * np.uintp(MEMORY_SIZE))


@LaneLoop
def _store_memory(lanes: np.ndarray, memory: np.ndarray, rows: np.ndarray) -> None:
    """Writes back what _load_memory() reads."""
    for k in range(rows.size):
        lane = np.uintp(k)
        _store_row(lanes, lane, memory, rows[lane] * np.uintp(MEMORY_SIZE))


@LaneLoop
def _headings(block: np.ndarray, level: int) -> None:
    """Writes the cosine and sine of each vehicle's yaw set-point."""
    for k in range(L):
        cy, sy = block[HEADING + k], block[HEADING + L + k]
        if level == AT_POSITION:
            cy, sy = math.cos(block[ACTION + 3 * L + k]), math.sin(block[ACTION + 3 * L + k])
        elif cy == 0.0 and sy == 0.0:
            qx, qy, qz, qw = (
                block[QUAT + k],
                block[QUAT + L + k],
                block[QUAT + 2 * L + k],
                block[QUAT + 3 * L + k],
            )
            cy, sy = 1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qw * qz + qx * qy)
        block[HEADING + k], block[HEADING + L + k] = cy, sy


@LaneLoop
def _store_yaw(block: np.ndarray, memory: np.ndarray, rows: np.ndarray) -> None:
    """Stores the yaw from which the loops go on when the vehicle leaves the lanes."""
    for k in range(rows.size):
        at = rows[k] * np.uintp(MEMORY_SIZE) + np.uintp(FREE_YAW)
        memory[at] = math.atan2(block[HEADING + L + k], block[HEADING + k])


@LaneLoop
def _clear(block: np.ndarray) -> None:
    """Sets one row of lanes to zero."""
    for k in range(L):
        block[k] = 0.0


@LaneLoop
def _collective(block: np.ndarray, a: float, b: float, c: float) -> None:
    """Turns the common command of all rotors in SP_WRENCH into the collective thrust [N]."""
    for k in range(L):
        u = min(max(block[SP_WRENCH + k], 0.0), 1.0)
        block[SP_WRENCH + k] = a + u * (b + u * c)


@LaneLoop
def _limit_commands(rotor_block: np.ndarray) -> None:
    """Limits the commands of one rotor to 0..1."""
    for k in range(L):
        rotor_block[THRUST + k] = min(max(rotor_block[THRUST + k], 0.0), 1.0)


@njit
def _load_indi(
    block: np.ndarray,
    rotor_block: np.ndarray,
    indi: np.ndarray,
    rotors: int,
    width: int,
    rows: np.ndarray,
) -> None:
    """Loads the memory of INDI."""
    wide = ACTUATORS + 3 * width
    for a in range(3):
        out = block[LAST_RATE + a * L : LAST_RATE + (a + 1) * L]
        _gather(out, indi[RATES + a :], rows, wide)
    for a in range(12):
        _gather(block[POLE + a * L : POLE + (a + 1) * L], indi[FILTERS + a :], rows, wide)
    for r in range(rotors):
        expected = rotor_block[r, EXPECTED : EXPECTED + L]
        _gather(expected, indi[ACTUATORS + r :], rows, wide)
        commands = rotor_block[r, THRUST : THRUST + L]
        _gather(commands, indi[ACTUATORS + 2 * width + r :], rows, wide)


@njit
def _store_indi(
    block: np.ndarray,
    rotor_block: np.ndarray,
    indi: np.ndarray,
    rotors: int,
    width: int,
    rows: np.ndarray,
) -> None:
    """Writes back what _load_indi() reads."""
    wide = ACTUATORS + 3 * width
    for a in range(3):
        lanes = block[LAST_RATE + a * L : LAST_RATE + (a + 1) * L]
        _scatter(lanes, indi[RATES + a :], rows, wide)
    for a in range(12):
        _scatter(block[POLE + a * L : POLE + (a + 1) * L], indi[FILTERS + a :], rows, wide)
    for r in range(rotors):
        expected = rotor_block[r, EXPECTED : EXPECTED + L]
        _scatter(expected, indi[ACTUATORS + r :], rows, wide)
        commands = rotor_block[r, THRUST : THRUST + L]
        _scatter(commands, indi[ACTUATORS + 2 * width + r :], rows, wide)


def load_block(
    block: np.ndarray,
    rotor_block: np.ndarray,
    state: BatchState,
    variation: Variation,
    memory: np.ndarray,
    indi: np.ndarray,
    action: np.ndarray,
    poly: np.ndarray,
    rotors: int,
    width: int,
    level: int,
    controller: int,
    rows: np.ndarray,
) -> None:
    """Loads a block of vehicles into the scratch."""
    _gather3(block[POS : POS + 3 * L], state.pos, rows)
    _gather4(block[QUAT : QUAT + 4 * L], state.quat, rows)
    _gather3(block[VEL : VEL + 3 * L], state.vel, rows)
    _gather3(block[RATE : RATE + 3 * L], state.ang_vel, rows)
    _gather3(block[WIND : WIND + 3 * L], state.wind, rows)
    _gather(block[SCALE : SCALE + L], variation.mass, rows, 1)
    for r in range(rotors):
        _gather(rotor_block[r, SPEED : SPEED + L], state.actuator[r:], rows, width)
        _gather(rotor_block[r, RATIO : RATIO + L], variation.effectiveness[r:], rows, width)
        if level == AT_ACTUATOR:
            _gather(rotor_block[r, THRUST : THRUST + L], action[r:], rows, width)
            _limit_commands(rotor_block[r])
    if level == AT_ACTUATOR:
        return
    if controller == INDI:
        _gather3(block[ACC : ACC + 3 * L], state.acc, rows)
        _load_indi(block, rotor_block, indi, rotors, width, rows)
    if level < AT_VELOCITY:
        for a in range(3):
            _gather(
                block[INTEGRAL + a * L : INTEGRAL + (a + 1) * L],
                memory[RATE_INTEGRAL + a :],
                rows,
                MEMORY_SIZE,
            )
    if level == AT_RATES:
        for a in range(3):
            _gather(block[SP_RATES + a * L : SP_RATES + (a + 1) * L], action[a:], rows, 4)
        _gather(block[SP_WRENCH : SP_WRENCH + L], action[3:], rows, 4)
        _collective(block, poly[0], poly[1], poly[2])
    elif level == AT_ATTITUDE:
        for a in range(4):
            _gather(block[SP_QUAT + a * L : SP_QUAT + (a + 1) * L], action[a:], rows, 5)
        _gather(block[SP_WRENCH : SP_WRENCH + L], action[4:], rows, 5)
        _collective(block, poly[0], poly[1], poly[2])
        _clear(block[SP_YAW_RATE : SP_YAW_RATE + L])
    else:
        _gather4(block[ACTION : ACTION + 4 * L], action, rows)
        _load_memory(block[MEMORY : MEMORY + IN_LANES * L], memory, rows)
        _headings(block, level)
        if controller == CASCADE:
            _gather3(block[ACC : ACC + 3 * L], state.acc, rows)


def store_block(
    block: np.ndarray,
    rotor_block: np.ndarray,
    state: BatchState,
    memory: np.ndarray,
    indi: np.ndarray,
    rotors: int,
    width: int,
    level: int,
    controller: int,
    rows: np.ndarray,
    dt: float,
) -> None:
    """Stores the scratch of a block of vehicles back into the arrays."""
    accelerations(block, dt)
    _scatter3(block[POS : POS + 3 * L], state.pos, rows)
    _scatter4(block[QUAT : QUAT + 4 * L], state.quat, rows)
    _scatter3(block[VEL : VEL + 3 * L], state.vel, rows)
    _scatter3(block[RATE : RATE + 3 * L], state.ang_vel, rows)
    _scatter3(block[ACC : ACC + 3 * L], state.acc, rows)
    _clear3(state.contact, rows)
    for r in range(rotors):
        _scatter(rotor_block[r, SPEED : SPEED + L], state.actuator[r:], rows, width)
    if level == AT_ACTUATOR:
        return
    if controller == INDI:
        _store_indi(block, rotor_block, indi, rotors, width, rows)
    if level < AT_VELOCITY:
        for a in range(3):
            _scatter(
                block[INTEGRAL + a * L : INTEGRAL + (a + 1) * L],
                memory[RATE_INTEGRAL + a :],
                rows,
                MEMORY_SIZE,
            )
    else:
        _store_memory(block[MEMORY : MEMORY + IN_LANES * L], memory, rows)
        if level == AT_VELOCITY and controller != GEOMETRIC:
            _store_yaw(block, memory, rows)
