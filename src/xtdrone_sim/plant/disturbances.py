"""Disturbances of a scenario where they meet the simulation: payload, tank, rotors, battery."""

from xtdrone_core import FleetModel, Scenario, ScenarioError
from xtdrone_core.disturbances import Change, parse_disturbances

DRAIN_PERIOD_US = 20_000  # of telling the engine the mass of a draining tank [us]


class Disturbances:
    """Brings the disturbances of a scenario into force when they are due."""

    def __init__(self, scenario: Scenario, fleet: FleetModel, engine, actuators, battery):
        """The changes of a scenario.

        Args:
            scenario: Its changes are applied one after the other.
            fleet: The vehicles.
            engine: Carries payloads.
            actuators: The fleet's ActuatorStage.
            battery: The fleet's BatteryStage.

        Raises:
            ScenarioError: A rotor or battery that a vehicle does not have.
            EngineError: Payloads are not for this engine.
        """
        self._names = [spec.name for spec in scenario.vehicles]
        self._counts = fleet.n_rotors.tolist()
        self._engine, self._actuators, self._battery = engine, actuators, battery
        self._payloads = {}  # vehicle: (mass [kg], place)
        self._drains = {}  # vehicle: rate [kg/s]
        self._waiting = list(parse_disturbances(scenario.disturbances, self._names))
        for change in self._waiting:
            self._check(change)

    def due(self, t_us: int) -> bool:
        """Whether apply() has something to do."""
        return bool((self._drains and t_us % DRAIN_PERIOD_US == 0)
                    or (self._waiting and self._waiting[0].t_us <= t_us))

    def apply(self, t_us: int) -> list[Change]:
        """Brings into force what is due at t_us, and gives it back."""
        if t_us % DRAIN_PERIOD_US == 0:
            for vehicle in list(self._drains):
                self._drain(vehicle)
        done = []
        while self._waiting and self._waiting[0].t_us <= t_us:
            done.append(self._waiting.pop(0))
            self._apply(done[-1])
        return done

    def add(self, change: Change) -> None:
        """Another change, in force from its time on, or at once if that is past.

        Raises:
            ScenarioError: A rotor or battery that the vehicle does not have.
            EngineError: Payloads are not for this engine.
        """
        self._check(change)
        self._waiting = sorted([*self._waiting, change], key=lambda item: item.t_us)

    def values(self, change: Change) -> dict:
        """A change as the values of an event."""
        extra = {"rotor": {"rotor": change.rotor},
                 "payload": {"pos": list(change.pos)}}.get(change.kind, {})
        return {"kind": change.kind, "vehicle": self._names[change.vehicle], **extra,
                "value": change.value}

    def _check(self, change):
        name = self._names[change.vehicle]
        if change.rotor >= self._counts[change.vehicle]:
            count = self._counts[change.vehicle]
            raise ScenarioError(f"'{name}' has no rotor {change.rotor}: "
                                + (f"give 0 to {count - 1}" if count else "it has none"))
        if change.kind == "charge" and not self._battery.fitted[change.vehicle]:
            raise ScenarioError(f"'{name}' carries no battery: give its SDF file a block "
                                "<xtdrone:battery>")
        if change.kind == "payload" and change.vehicle not in self._payloads:
            # Now, so that an engine that cannot do it says so before the flight.
            self._load(change.vehicle, 0.0, change.pos)

    def _apply(self, change):
        i = change.vehicle
        if change.kind == "payload":
            self._load(i, change.value, change.pos)
        elif change.kind == "drain":
            self._drains[i] = change.value
        elif change.kind == "rotor":
            self._actuators.effectiveness[i, change.rotor] = change.value
        else:
            self._battery.charge[i] = change.value

    def _drain(self, i):
        mass, pos = self._payloads.get(i, (0.0, (0.0, 0.0, 0.0)))
        left = max(0.0, mass - self._drains[i] * DRAIN_PERIOD_US * 1e-6)
        if left == 0.0:
            del self._drains[i]
        if mass > 0.0:
            self._load(i, left, pos)

    def _load(self, i, mass, pos):
        self._payloads[i] = mass, pos
        self._engine.set_payload(i, mass, pos)
