"""Judges a flight by the engine's truth: which vehicles touched what, and which have crashed.

A crash is a contact of one of these kinds:

    vehicle   with another vehicle, unless it stands on a rover or boat as on a ground
    obstacle  with a surface that is steeper than 45 degrees: a wall, a tree, a pole
    ground    with any other surface, at HARD or more towards it
    tipped    with such a surface, tilted to it by more than 60 degrees; or for a second, bounces
              included, by more than 20 degrees, or to the vertical by more than 30 degrees

Nothing of this is passed to the flight stack.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtdrone_core import FleetModel, FleetState, SensorBatch
from xtdrone_core.contracts import Engine, Observer
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.snapshot import Memory, Rows, take_over
from xtdrone_core.state import Contacts
from xtdrone_dynamics.abilities.vehicle_type import ROVER, vehicle_types
from xtdrone_dynamics.compiled import fleet_kernel, njit

# Least speed towards the ground that is a crash [m/s]: a drop from 0.2 m (8 inches), the least
# height that 14 CFR 27.725 allows for the drop test of a rotorcraft's landing gear.
HARD = 2.0
_LEVEL = math.cos(math.radians(45.0))  # least vertical part of the normal of a ground
_TIPPED = math.cos(math.radians(60.0))  # as PX4's FD_FAIL_R and FD_FAIL_P
_LEANING = math.cos(math.radians(20.0))
_STEEP = math.cos(math.radians(30.0))
_LEANING_US = 1_000_000
_BOUNCE_US = 300_000  # longest gap within a contact
_JOLT = 50.0  # acceleration that may be an impact [m/s^2]
_MOVES = 0.2  # a vehicle at rest is slower [m/s]
_KINDS = ("", "vehicle", "obstacle", "ground", "tipped")  # the worst first
_VEHICLE, _OBSTACLE, _GROUND, _TIPPED_OVER = range(1, 5)
_TURNS = 1.0  # a stopped rotor is slower [rad/s]


class Crash(NamedTuple):
    """The first crash of a vehicle since its start or reset."""

    t_us: int  # simulated time [us]
    vehicle: str
    kind: str  # vehicle, obstacle, ground or tipped
    other: str  # the vehicle or model of the world that it touched
    speed: float  # relative to it, just before [m/s]
    tilt: float  # angle between the vehicle's up axis and the vertical [deg]

    def __str__(self) -> str:
        """One line, without the time."""
        how = {
            "ground": f"hit the ground ({self.other})",
            "tipped": f"did not stay upright on the ground ({self.other})",
            "vehicle": f"hit vehicle {self.other}",
        }.get(self.kind, f"hit {self.other}")
        return f"{self.vehicle} {how} at {self.speed:.1f} m/s, tilted by {self.tilt:.0f} deg"


class CrashMonitor(Memory, Observer):
    """Records crashes, and contacts with anything but a ground.

    Contacts are evaluated every 20 ms, and in each step that may be an impact.

    Attributes:
        collisions: (t_us, name, name), each once per touch.
        crashes: The crashes of the whole flight.
        crashed: (N,) bool, since the start or the last reset of each vehicle.
        on_ground: (N,) bool, which vehicles touch a ground.
    """

    MEMORY = (
        "collisions",
        "_crashes",
        "crashed",
        "on_ground",
        "_touching",
        "_leaning_us",
        "_leant_us",
        "_vel",
        "_turned_us",
    )
    period_us = 0

    def __init__(
        self,
        names: Sequence[str],
        fleet: FleetModel,
        engine: Engine,
        on_collision: Callable[[int, list[str]], None],
        on_crash: Callable[[Crash], None],
    ):
        """Watches vehicles with these names.

        Args:
            names: Names of the vehicles.
            fleet: The vehicles.
            engine: Moves them.
            on_collision: Called as on_collision(t_us, [name, name]) at each new contact.
            on_crash: Called at each crash.
        """
        n = len(names)
        self._names, self._engine = list(names), engine
        self._rotors = fleet.rotor_mask
        self._carries = vehicle_types(fleet) == ROVER  # others may land on their decks
        self._on_collision, self._on_crash = on_collision, on_crash
        self._known: tuple[str, ...] = ()  # names of contacts, to whose
        self._vehicle_of = np.zeros(0, dtype=np.int64)  # vehicle these belong; -1: none
        self.collisions: list[tuple[int, str, str]] = []
        self._crashes: list[tuple] = []
        self._touching: set[tuple[str, str]] = set()
        self.crashed = np.zeros(n, dtype=np.bool_)
        self.on_ground = np.zeros(n, dtype=np.bool_)
        self._leaning_us = np.full(n, -1, dtype=np.int64)  # since when it leans [us], -1 = not
        self._leant_us = np.full(n, -1, dtype=np.int64)  # last; -1: never
        self._turned_us = np.zeros(n, dtype=np.int64)  # turning of rotors after the crash
        self._kind = np.zeros(n, dtype=np.uint8)  # results of _judge()
        self._row = np.zeros(n, dtype=np.int64)
        self._vel = np.zeros((n, 3))  # velocity at the last evaluation without an impact
        self.remember_start()

    @property
    def crashes(self) -> list[Crash]:
        """The crashes of the whole flight."""
        return [Crash(*each) for each in self._crashes]

    def table(self) -> list[dict[str, Any]]:
        """The crashes as plain data, at most as many as there are vehicles.

        `rotors_turned` is how long the vehicle's rotors have turned since [s].
        """
        table = []
        for crash in [each for each in self.crashes if each.vehicle in self._names][
            -len(self._names) :
        ]:
            values = crash._asdict()
            table.append(
                {
                    "t": values.pop("t_us") * 1e-6,
                    **values,
                    "rotors_turned": float(self._turned_us[self._names.index(crash.vehicle)])
                    * 1e-6,
                }
            )
        return table

    def resting(self, state: FleetState) -> np.ndarray:
        """(N,) bool, which vehicles are at rest, upright and have not crashed."""
        still = (np.abs(state.vel) < _MOVES).all(axis=1)
        x, y = state.quat[:, :2].T
        return still & (1 - 2 * (x * x + y * y) > _STEEP) & ~self.crashed

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """The velocities at the start."""
        self._vel[:] = state.vel

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Evaluates the contacts, if it is time or a jolt may be an impact."""
        jolt = _jolted(state.acc)
        tick = t_us % TICK_US == 0
        if not (tick or jolt):
            return
        self._evaluate(t_us, state)
        self._vel[:] = state.vel
        if tick and self.crashed.any():
            turns = ((np.abs(state.actuator) > _TURNS) & self._rotors).any(axis=1)
            self._turned_us[turns & self.crashed] += TICK_US

    def on_reset(self, t_us: int, mask: np.ndarray) -> None:
        """Forgets what these vehicles touch and that they have crashed; the lists are kept."""
        super().reset(mask)
        moved = {name for name, there in zip(self._names, mask) if there}
        self._touching = {pair for pair in self._touching if not moved & set(pair)}

    def reset(self, mask: np.ndarray | None = None) -> None:
        """See on_reset()."""

    def regroup(self, before: "CrashMonitor", rows: Rows) -> None:
        """Takes over the lists, and the state of the vehicles that were in the former fleet."""
        take_over(self, before, rows)

    def _evaluate(self, t_us: int, state: FleetState) -> None:
        contacts = self._engine.contacts()
        if not len(contacts.pairs):
            self._touching = set()
            self.on_ground[:] = False
            return
        if contacts.names != self._known:
            self._known = contacts.names
            indices = {name: i for i, name in enumerate(self._names)}
            self._vehicle_of = np.array([indices.get(name, -1) for name in contacts.names])
        pairs, normals = contacts.pairs, contacts.normals
        free = _judge(
            t_us,
            pairs,
            normals,
            self._vehicle_of,
            state.quat,
            self._vel,
            state.actuator,
            self._rotors,
            self._carries,
            self.on_ground,
            self._leant_us,
            self._leaning_us,
            self._kind,
            self._row,
        )
        if free or self._touching:
            self._collide(t_us, contacts)
        if self._kind.any():
            for i in np.flatnonzero((self._kind > 0) & ~self.crashed):
                self._crash(t_us, int(i), contacts, state)

    def _crash(self, t_us: int, i: int, contacts: Contacts, state: FleetState) -> None:
        """Notes the crash of vehicle i at a contact."""
        pair = contacts.pairs[self._row[i]]
        other = contacts.names[pair[0] if self._vehicle_of[pair[1]] == i else pair[1]]
        velocity = self._vel[i]
        if other in self._names:
            velocity = velocity - self._vel[self._names.index(other)]
        x, y = state.quat[i, :2]
        tilt = 2.0 * math.degrees(math.asin(min(math.hypot(x, y), 1.0)))
        crash = Crash(
            t_us,
            self._names[i],
            _KINDS[self._kind[i]],
            other,
            round(float(np.linalg.norm(velocity)), 3),
            round(tilt, 1),
        )
        self.crashed[i] = True
        self._crashes.append(tuple(crash))
        self._on_crash(crash)

    def _collide(self, t_us: int, contacts: Contacts) -> None:
        """Notes new contacts with other vehicles and with what is not a ground."""
        touching = set()
        for (one, other), normal in zip(contacts.pairs.tolist(), contacts.normals.tolist()):
            first, second = self._vehicle_of[one] >= 0, self._vehicle_of[other] >= 0
            up = -normal[2] if first else normal[2]
            if first and second:
                counts = not _on_deck(
                    self._carries, self._vehicle_of[one], self._vehicle_of[other], normal[2]
                )
            else:
                counts = (first or second) and up <= _LEVEL
            if counts:
                touching.add((contacts.names[one], contacts.names[other]))
        for pair in sorted(touching - self._touching):
            self.collisions.append((t_us, *pair))
            self._on_collision(t_us, list(pair))
        self._touching = touching


@njit
def _judge(
    t_us: int,
    pairs: np.ndarray,
    normals: np.ndarray,
    vehicle_of: np.ndarray,
    quat: np.ndarray,
    before: np.ndarray,
    actuator: np.ndarray,
    rotors: np.ndarray,
    carries: np.ndarray,
    on_ground: np.ndarray,
    leant_us: np.ndarray,
    leaning_us: np.ndarray,
    kind: np.ndarray,
    row: np.ndarray,
) -> bool:
    """Finds vehicles on the ground and crashes in contacts.

    Args:
        t_us: Simulated time [us].
        pairs, normals: Those of Contacts.
        vehicle_of: Vehicle by index of pairs, -1 for a model.
        quat, before, actuator: (N, 4) attitudes, (N, 3) velocities before, (N, A) speeds.
        rotors: (N, A) bool, which of the latter are rotors'.
        carries: (N,) bool, on which vehicles others may stand.
        on_ground: (N,) bool, written.
        leant_us, leaning_us: (N,) when each leaned last and since when, updated.
        kind, row: (N,) index of _KINDS of the worst contact, 0 for none, and its row; written.

    Returns:
        Whether there are contacts with anything but a ground.
    """
    on_ground[:] = False
    kind[:] = 0
    free = False
    for k in range(pairs.shape[0]):
        for side in range(2):
            i, j = vehicle_of[pairs[k, side]], vehicle_of[pairs[k, 1 - side]]
            if i < 0:
                continue
            sign = 1.0 if side == 1 else -1.0
            nx, ny, nz = sign * normals[k, 0], sign * normals[k, 1], sign * normals[k, 2]
            vx, vy, vz = before[i, 0], before[i, 1], before[i, 2]
            if j >= 0:
                vx, vy, vz = vx - before[j, 0], vy - before[j, 1], vz - before[j, 2]
            worst = 0
            deck = j >= 0 and _on_deck(carries, j, i, nz)
            if deck and nz < 0.0:  # it is the carrier
                if vx * nx + vy * ny + vz * nz < -HARD:
                    worst = _VEHICLE
            elif nz <= _LEVEL or (j >= 0 and not deck):
                free = True
                if (
                    vx * vx + vy * vy + vz * vz > _MOVES * _MOVES
                    or _turns(actuator, rotors, i)
                    or (j >= 0 and _turns(actuator, rotors, j))
                ):
                    worst = _VEHICLE if j >= 0 else _OBSTACLE
            else:
                on_ground[i] = True
                x, y, z, w = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
                up_x, up_y = 2 * (x * z + w * y), 2 * (y * z - w * x)
                up_z = 1 - 2 * (x * x + y * y)
                upright = up_x * nx + up_y * ny + up_z * nz
                if upright < _LEANING or up_z < _STEEP:
                    if leant_us[i] < 0 or t_us - leant_us[i] > _BOUNCE_US:
                        leaning_us[i] = t_us
                    leant_us[i] = t_us
                    if upright < _TIPPED or t_us - leaning_us[i] >= _LEANING_US:
                        worst = _TIPPED_OVER
                if vx * nx + vy * ny + vz * nz < -HARD:
                    worst = _GROUND
            if worst > 0 and (kind[i] == 0 or worst < kind[i]):
                kind[i], row[i] = worst, k
    return free


@njit
def _on_deck(carries: np.ndarray, one: int, other: int, normal_z: float) -> bool:
    """Whether the upper one of two vehicles stands on a rover or boat.

    Args:
        carries: (N,) bool, on which vehicles others may stand.
        one, other: Indices of the vehicles.
        normal_z: Vertical part of the normal of their contact, from one to the other.
    """
    return bool(abs(normal_z) > _LEVEL and carries[one if normal_z > 0.0 else other])


@njit
def _turns(actuator: np.ndarray, rotors: np.ndarray, i: int) -> bool:
    """Whether a rotor of vehicle i turns."""
    turns = False
    for k in range(actuator.shape[1]):
        turns = turns or (rotors[i, k] and abs(actuator[i, k]) > _TURNS)
    return turns


@fleet_kernel
def _jolted(acc: np.ndarray) -> bool:
    """Whether an acceleration (N, 3) may be that of an impact."""
    for i in range(acc.shape[0]):
        if acc[i, 0] ** 2 + acc[i, 1] ** 2 + acc[i, 2] ** 2 > _JOLT * _JOLT:
            return True
    return False
