"""A propeller: its name, its model, and the numbers that kernels fly it by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_dynamics.propellers import layout, wrench

from .geometry import Geometry
from .polar import AIR_VISCOSITY, ANGLES, Polar

NOMINAL_TIP = 100.0  # speed of the tip at which static figures and tables are made [m/s]
ROWS, COLUMNS = 65, 25  # angles of advance and incidences of a table
LAYERS, SLOWEST = 4, 25.0  # speeds of a table, a factor of 2 apart, from [m/s]
INCH = 0.0254  # [m]


class Loads(NamedTuple):
    """Loads of a propeller, each as the arrays that they were asked for."""

    thrust: np.ndarray  # along the axis [N]
    h_force: np.ndarray  # against the flow across [N]
    torque: np.ndarray  # [N m]
    rolling: np.ndarray  # lifts the side that moves with the hub [N m]
    pitching: np.ndarray  # lifts the front [N m]


@dataclass(frozen=True)
class Propeller:
    """A propeller.

    Attributes:
        name: Its name.
        model: gill_dandrea_1, gill_dandrea_2, hbem or surrogate.
        numbers: As xtdrone_dynamics.propellers.layout has them.

    Examples:
        >>> from xtdrone_propellers.catalogue import propeller
        >>> loads = propeller("apcsf-10x4.7").loads(speed=500.0, axial=0.0, across=0.0)
        >>> round(float(loads.thrust), 2)
        4.0
    """

    name: str
    model: str
    numbers: tuple[float, ...]

    @property
    def radius(self) -> float:
        """Its radius [m]."""
        return self.numbers[layout.RADIUS]

    @property
    def blades(self) -> int:
        """How many blades it has."""
        return round(self.numbers[layout.BLADES])

    def loads(
        self,
        speed: "float | np.ndarray",
        axial: "float | np.ndarray" = 0.0,
        across: "float | np.ndarray" = 0.0,
        density: float = SEA_LEVEL_DENSITY,
    ) -> Loads:
        """Returns its loads; the arguments are broadcast against each other.

        Args:
            speed: Of rotation, from 0 [rad/s].
            axial, across: Velocity relative to the air along the thrust and across [m/s].
            density: Of the air [kg/m^3].
        """
        flows = [
            each.copy()
            for each in np.broadcast_arrays(
                np.asarray(speed, float), np.asarray(axial, float), np.asarray(across, float)
            )
        ]
        out = np.empty((flows[0].size, 5))
        turning, along, sideways = (each.ravel() for each in flows)
        _fill(np.array(self.numbers), turning, along, sideways, out)
        scale = 0.5 * density * math.pi * self.radius**2
        out *= scale * np.array([1.0, 1.0, self.radius, self.radius, self.radius])
        return Loads(*(column.reshape(flows[0].shape) for column in out.T))

    def coefficients(
        self, advance: "float | np.ndarray", incidence: float = 0.0, speed: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Thrust and power coefficients C_T = T / (rho n^2 D^4) and C_P = P / (rho n^3 D^5).

        Args:
            advance: Advance ratio J = V / (n D).
            incidence: Angle between the flow and the axis, 0 in climb [rad].
            speed: [rad/s]; 0: that of a nominal tip's.
        """
        omega = speed or NOMINAL_TIP / self.radius
        turns, diameter = omega / (2.0 * math.pi), 2.0 * self.radius
        flow = np.asarray(advance, float) * turns * diameter
        found = self.loads(omega, flow * math.cos(incidence), flow * math.sin(incidence), 1.0)
        return (
            found.thrust / (turns**2 * diameter**4),
            found.torque * omega / (turns**3 * diameter**5),
        )

    def constants(self, speed: float = 0.0) -> tuple[float, float]:
        """Thrust over speed squared [N s^2], and torque over thrust [m], in still air.

        Args:
            speed: [rad/s]; 0: that of a nominal tip's.
        """
        omega = speed or NOMINAL_TIP / self.radius
        found = self.loads(omega)
        return float(found.thrust) / omega**2, float(found.torque / found.thrust)

    def speed_for(self, thrust: float) -> float:
        """Speed at which it gives a thrust [N] in still air [rad/s]."""
        omega = NOMINAL_TIP / self.radius
        for _ in range(8):
            omega = math.sqrt(thrust / self.constants(omega)[0])
        return omega


def from_coefficients(
    name: str, model: str, radius: float, blades: int, own: Sequence[float]
) -> Propeller:
    """A propeller by Gill and D'Andrea's coefficients.

    Args:
        name: Its name.
        model: gill_dandrea_1 or gill_dandrea_2.
        radius: [m].
        blades: Number of blades.
        own: The model's coefficients, in the order of xtdrone_dynamics.propellers.gill_dandrea.
    """
    kind = layout.GILL_DANDREA_1 if model == "gill_dandrea_1" else layout.GILL_DANDREA_2
    return Propeller(name, model, (kind, radius, float(blades), *map(float, own)))


def from_geometry(geometry: Geometry, polar: Polar) -> Propeller:
    """A propeller by hybrid blade element momentum theory."""
    stations = geometry.elements()
    own = (
        float(len(stations)),
        float(ANGLES),
        polar.reynolds,
        polar.exponent,
        AIR_VISCOSITY,
        *(float(x) for row in stations for x in row),
        *(float(x) for pair in zip(polar.lift, polar.drag, strict=True) for x in pair),
    )
    return Propeller(
        geometry.name, "hbem", (layout.BLADE_ELEMENT, geometry.radius, float(geometry.blades), *own)
    )


def surrogate(of: Propeller) -> Propeller:
    """A table fitted to a propeller, for any flow.

    That of blade elements has LAYERS speeds, for their Reynolds number; other models have no need.
    """
    if of.model == "surrogate":
        return of
    layers = LAYERS if of.model == "hbem" else 1
    values = [_layer(of, SLOWEST * 2.0**k) for k in range(layers)]
    return from_table(of.name, of.radius, of.blades, np.stack(values))


def _layer(of: Propeller, tip: float) -> np.ndarray:
    """(ROWS, COLUMNS, 5) coefficients at a speed of the tip against the air [m/s]."""
    advance = np.linspace(0.0, 0.5 * math.pi, ROWS)[:, None]
    incidence = np.linspace(0.0, math.pi, COLUMNS)[None, :]
    turning = tip * np.cos(advance) / of.radius
    flow = tip * np.sin(advance)
    found = of.loads(turning, flow * np.cos(incidence), flow * np.sin(incidence), 1.0)
    scale = 0.5 * math.pi * of.radius**2 * tip**2
    arm = of.radius
    return np.stack(
        [each / (scale * by) for each, by in zip(found, (1.0, 1.0, arm, arm, arm), strict=True)],
        axis=-1,
    )


def from_table(name: str, radius: float, blades: int, values: np.ndarray) -> Propeller:
    """A propeller by a table.

    Args:
        name: Its name.
        radius: [m].
        blades: Number of blades.
        values: (layers, rows, columns, 5) coefficients, see xtdrone_dynamics.propellers.table;
            layers for W from SLOWEST on.
    """
    layers, rows, columns, _ = values.shape
    own = (
        float(layers),
        float(rows),
        float(columns),
        math.log2(SLOWEST),
        *values.astype(np.float32).astype(float).ravel().tolist(),
    )
    return Propeller(name, "surrogate", (layout.TABLE, radius, float(blades), *own))


@njit
def _fill(
    numbers: np.ndarray, speed: np.ndarray, axial: np.ndarray, across: np.ndarray, out: np.ndarray
) -> None:
    """Writes the loads (K, 5) of K flows."""
    for k in range(len(speed)):
        out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4] = wrench.model_loads(
            numbers, 0, speed[k], axial[k], across[k]
        )
