"""Applies a scenario's disturbances to payloads, tanks, rotors and batteries of the vehicles."""

import dataclasses
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, Scenario, ScenarioError
from xtdrone_core.contracts import Engine, Snapshot
from xtdrone_core.runs.snapshot import Rows
from xtdrone_core.scenario.disturbances import Disturbance, parse_disturbances

from .actuators import ActuatorStage
from .battery import BatteryStage

DRAIN_PERIOD_US = 20_000  # update period of the mass of a draining tank [us]
Position = tuple[float, float, float]  # place of a payload, body FLU [m]


class Disturbances:
    """Applies the disturbances of a scenario when they are due.

    Their times count from the start or the last reset of each vehicle.
    """

    def __init__(
        self,
        scenario: Scenario,
        fleet: FleetModel,
        engine: Engine,
        actuators: ActuatorStage,
        battery: BatteryStage,
    ):
        """Reads the disturbances of a scenario and checks them against the fleet.

        Args:
            scenario: The scenario with the disturbances, which are applied in order of time.
            fleet: The vehicles.
            engine: The engine that simulates the payloads.
            actuators: The fleet's ActuatorStage.
            battery: The fleet's BatteryStage.

        Raises:
            ScenarioError: A disturbance refers to a rotor or battery that the vehicle lacks.
            EngineError: This engine does not support payloads.
        """
        self._names = [spec.name for spec in scenario.vehicles]
        self._counts = fleet.n_rotors.tolist()
        self._engine, self._actuators, self._battery = engine, actuators, battery
        self._payloads: dict[int, tuple[float, Position]] = {}  # mass [kg] by vehicle
        self._drains: dict[int, float] = {}  # rate by vehicle [kg/s]
        self._scenario = parse_disturbances(scenario.disturbances, self._names)
        self._waiting = list(self._scenario)
        self._epoch_us = [0] * len(self._names)
        for disturbance in self._waiting:
            self._check(disturbance)

    def due(self, t_us: int) -> bool:
        """Whether a disturbance is due at t_us, or a tank is draining."""
        return bool(
            (self._drains and any(self._drains_now(i, t_us) for i in self._drains))
            or (self._waiting and self._waiting[0].t_us <= t_us)
        )

    def apply(self, t_us: int) -> list[Disturbance]:
        """Applies the disturbances due at t_us and returns them."""
        for vehicle in list(self._drains):
            if self._drains_now(vehicle, t_us):
                self._drain(vehicle)
        done = []
        while self._waiting and self._waiting[0].t_us <= t_us:
            done.append(self._waiting.pop(0))
            self._apply(done[-1])
        return done

    def add(self, disturbance: Disturbance) -> None:
        """Schedules a disturbance; one whose time is past is applied at once.

        Raises:
            ScenarioError: It refers to a rotor or battery that the vehicle lacks.
            EngineError: This engine does not support payloads.
        """
        self._check(disturbance)
        self._waiting = sorted([*self._waiting, disturbance], key=lambda item: item.t_us)

    def reset(self, mask: np.ndarray, t_us: int) -> None:
        """Restarts the disturbances of these vehicles (mask (N,) bool); their time is 0 now.

        The engine resets payloads; the stages reset rotors and batteries.
        """
        self._waiting = [each for each in self._waiting if not mask[each.vehicle]]
        for i in np.flatnonzero(mask).tolist():
            self._epoch_us[i] = t_us
            self._drains.pop(i, None)
            if i in self._payloads:
                self._payloads[i] = 0.0, self._payloads[i][1]
            self._waiting += [
                dataclasses.replace(disturbance, t_us=disturbance.t_us + t_us)
                for disturbance in self._scenario
                if disturbance.vehicle == i
            ]
        self._waiting.sort(key=lambda disturbance: disturbance.t_us)

    def regroup(self, before: "Disturbances", rows: Rows) -> None:
        """Takes over those of the vehicles that were in the former fleet, too.

        The engine has their payloads already; they are attached again, because the check of a
        payload that is yet to come attaches one without mass.
        """
        kept = rows.kept
        self._waiting = [
            dataclasses.replace(each, vehicle=kept[each.vehicle])
            for each in before._waiting
            if each.vehicle in kept
        ]
        self._drains = {kept[i]: rate for i, rate in before._drains.items() if i in kept}
        for i, payload in before._payloads.items():
            if i in kept:
                self._load(kept[i], *payload)
        for old, row in kept.items():
            self._epoch_us[row] = before._epoch_us[old]

    def save(self) -> dict[str, Any]:
        """Returns the pending and the running disturbances."""
        return {
            "waiting": [dataclasses.asdict(disturbance) for disturbance in self._waiting],
            "payloads": dict(self._payloads),
            "drains": dict(self._drains),
            "epoch_us": list(self._epoch_us),
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state of save(); engine and stages restore the effects already applied."""
        self._waiting = [Disturbance(**values) for values in snapshot["waiting"]]
        self._payloads, self._drains = dict(snapshot["payloads"]), dict(snapshot["drains"])
        self._epoch_us = list(snapshot["epoch_us"])

    def _drains_now(self, i: int, t_us: int) -> bool:
        return (t_us - self._epoch_us[i]) % DRAIN_PERIOD_US == 0

    def values(self, disturbance: Disturbance) -> dict[str, Any]:
        """Returns the values of a disturbance for its event."""
        extra: dict[str, Any] = {}
        if disturbance.kind == "rotor":
            extra["rotor"] = disturbance.rotor
        elif disturbance.kind == "payload":
            extra["pos"] = list(disturbance.pos)
        return {
            "kind": disturbance.kind,
            "vehicle": self._names[disturbance.vehicle],
            **extra,
            "value": disturbance.value,
        }

    def in_force(self) -> list[dict[str, Any]]:
        """Returns the payloads, draining tanks and weak rotors of now: kind, vehicle, value.

        `rotor` is that of a weak rotor. A battery's charge is set once, and not listed.
        """
        found = [("payload", i, mass, None) for i, (mass, _) in self._payloads.items() if mass > 0]
        found += [("drain", i, rate, None) for i, rate in self._drains.items() if rate > 0]
        for i, rotor in np.argwhere(self._actuators.effectiveness != 1.0).tolist():
            if rotor < self._counts[i]:
                share = float(self._actuators.effectiveness[i, rotor])
                found.append(("rotor", i, share, rotor))
        return [
            {"kind": kind, "vehicle": self._names[i], "value": value}
            | ({} if rotor is None else {"rotor": rotor})
            for kind, i, value, rotor in found
        ]

    def _check(self, disturbance: Disturbance) -> None:
        name = self._names[disturbance.vehicle]
        if disturbance.rotor >= self._counts[disturbance.vehicle]:
            count = self._counts[disturbance.vehicle]
            raise ScenarioError(
                f"'{name}' has no rotor {disturbance.rotor}: "
                + (f"give 0 to {count - 1}" if count else "it has none")
            )
        if disturbance.kind == "charge" and not self._battery.fitted[disturbance.vehicle]:
            raise ScenarioError(
                f"'{name}' carries no battery: give its SDF file a block <xtdrone:battery>"
            )
        if disturbance.kind == "payload" and disturbance.vehicle not in self._payloads:
            # Applied now, so that an engine without payloads raises its error before the flight.
            self._load(disturbance.vehicle, 0.0, disturbance.pos)

    def _apply(self, disturbance: Disturbance) -> None:
        i = disturbance.vehicle
        if disturbance.kind == "payload":
            self._load(i, disturbance.value, disturbance.pos)
        elif disturbance.kind == "drain":
            self._drains[i] = disturbance.value
        elif disturbance.kind == "rotor":
            self._actuators.effectiveness[i, disturbance.rotor] = disturbance.value
        else:
            self._battery.charge[i] = disturbance.value

    def _drain(self, i: int) -> None:
        mass, pos = self._payloads.get(i, (0.0, (0.0, 0.0, 0.0)))
        left = max(0.0, mass - self._drains[i] * DRAIN_PERIOD_US * 1e-6)
        if left == 0.0:
            del self._drains[i]
        if mass > 0.0:
            self._load(i, left, pos)

    def _load(self, i: int, mass: float, pos: Position) -> None:
        self._payloads[i] = mass, pos
        self._engine.set_payload(i, mass, np.array(pos))
