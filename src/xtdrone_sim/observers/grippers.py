"""Tells of what grippers take and let go, by the engine's truth."""

from collections.abc import Callable, Sequence

from xtdrone_core import FleetState, SensorBatch, Vehicle, VehicleSpec
from xtdrone_core.contracts import Gripping, Observer


class GripWatch(Observer):
    """Writes the events `gripped` and `let_go`, with the names of vehicle, gripper and model."""

    def __init__(
        self,
        engine: Gripping,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        on_event: Callable[..., None],
    ) -> None:
        """Watches all grippers of these vehicles; on_event(t_us, name, **values)."""
        self._engine, self._on_event = engine, on_event
        self._names = {
            (i, k): (spec.name, gripper.name)
            for i, (spec, vehicle) in enumerate(zip(specs, models, strict=True))
            for k, gripper in enumerate(vehicle.grippers)
        }
        self._held = dict.fromkeys(self._names, "")

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Compares what is held with what was held before."""
        for key, (vehicle, gripper) in self._names.items():
            now, before = self._engine.held(*key), self._held[key]
            if now == before:
                continue
            for name, model in (("let_go", before), ("gripped", now)):
                if model:
                    self._on_event(t_us, name, vehicle=vehicle, gripper=gripper, model=model)
            self._held[key] = now
