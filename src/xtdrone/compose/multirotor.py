"""A multirotor composed of parts, and its SDF file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtdrone_core.errors import ScenarioError
from xtdrone_core.vehicle import Vehicle

from .battery import Battery
from .effects import Effect
from .frame import Frame
from .part import OWN, Element, Part, add, check_name, document, kept_file, text_of, write_file
from .rotors import Rotor
from .sensors import Barometer, Gps, Imu, Magnetometer, Sensor

_PORTS = {
    "mavlink_tcp_port": 4560,
    "mavlink_udp_port": 14560,
    "qgc_udp_port": 14550,
    "sdk_udp_port": 14540,
    "enable_lockstep": 1,
    "use_tcp": 1,
}


@dataclass(frozen=True, kw_only=True)
class Multirotor:
    """A vehicle in code; wherever the name of a vehicle or a path to its SDF is taken, it is, too.

    It is written as SDF and read back by the reader of all vehicles, so that it flies on every
    engine and flight stack as the file does.

    Attributes:
        name: Type of the vehicle; vehicles are called name_0, name_1 and so on.
        frame: Its rigid body.
        rotors: Rotors in the order of the autopilot's outputs.
        effects: Drag and other aerodynamic effects; none but those of the rotors without.
        sensors: Those of a Pixhawk without.
        battery: None: the flight stack's own.
        parts: Further parts of your own.
        backend: What flies it, called without arguments for each vehicle: a class that inherits
            from xd.Backend. None: the flight stack and the commands of the simulation.

    Examples:
        >>> from xtdrone.compose.rotors import rotors_in_x
        >>> quad = Multirotor(name="mine", frame=Frame(mass=1.2), rotors=rotors_in_x(0.25))
        >>> len(quad.vehicle().rotors), round(quad.vehicle().mass, 3)
        (4, 1.22)
    """

    frame: Frame
    rotors: tuple[Rotor, ...]
    name: str = "multirotor"
    effects: tuple[Effect, ...] = ()
    sensors: tuple[Sensor, ...] = (Imu(), Magnetometer(), Barometer(), Gps())
    battery: Battery | None = None
    parts: tuple[Part, ...] = ()
    backend: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        check_name("name of a vehicle", self.name)
        if not isinstance(self.frame, Frame):
            raise ScenarioError(f"frame of '{self.name}' is no Frame: give xd.Frame(mass=...)")
        for what, kind in (
            ("rotors", Rotor),
            ("effects", Effect),
            ("sensors", Sensor),
            ("parts", Part),
        ):
            given = getattr(self, what)
            if not isinstance(given, (tuple, list)):
                raise ScenarioError(f"{what} of '{self.name}' are no tuple: give (part, part)")
            for part in given:
                if not isinstance(part, kind):
                    raise ScenarioError(
                        f"{what} of '{self.name}' hold a {type(part).__name__}: "
                        f"give parts that inherit from {kind.__name__}"
                    )
        if not self.rotors:
            raise ScenarioError(f"'{self.name}' has no rotors: give some, as of rotors_in_x()")
        names = [sensor.named for sensor in self.sensors]
        for name in names:
            if names.count(name) > 1:
                raise ScenarioError(
                    f"two sensors of '{self.name}' are called '{name}': give each a name of its own"
                )

    def sdf(self) -> str:
        """Returns the text of its SDF file."""
        root, model = document("model", self.name)
        self.frame.write(model)
        for number, rotor in enumerate(self.rotors):
            rotor.write_number(model, number)
        for part in (*self.sensors, *self.parts):
            part.write(model)
        if self.effects:
            block = add(model, OWN + "effects")
            for effect in self.effects:
                effect.write(block)
        if self.battery is not None:
            self.battery.write(model)
        self._interface(model)
        return text_of(root)

    def to_sdf(self, path: Path | str) -> Path:
        """Writes its SDF file, which names the vehicle as its folder or, but model.sdf, its file.

        Raises:
            ScenarioError: It cannot be written.
        """
        return write_file(path, self.sdf())

    def vehicle(self) -> Vehicle:
        """Returns the vehicle that the reader of SDF makes of it.

        Raises:
            XtdroneError: A part is invalid.
        """
        from xtdrone_sim.vehicles.sdf import load_vehicle

        return load_vehicle(str(self))

    def __fspath__(self) -> str:
        return str(kept_file("models", self.name, self.sdf()))

    __str__ = __fspath__

    def _interface(self, model: Element) -> None:
        plugin = add(
            model, "plugin", name="mavlink_interface", filename="libgazebo_mavlink_interface.so"
        )
        add(plugin, "robotNamespace", "")
        for tag, value in _PORTS.items():
            add(plugin, tag, value)
        for tag in ("imu", "mag", "baro"):
            add(plugin, f"{tag}SubTopic", f"/{tag}")
        add(plugin, "motorSpeedCommandPubTopic", "/gazebo/command/motor_speed")
        channels = add(plugin, "control_channels")
        for number, rotor in enumerate(self.rotors):
            rotor.channel(channels, number)
