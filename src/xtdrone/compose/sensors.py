"""Sensors of a vehicle: where they sit, a preset, a rate, and any other parameter by its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from xtdrone_core.errors import ScenarioError

from .frame import BASE
from .part import (
    ORIGIN,
    Element,
    Part,
    Vector,
    add,
    add_inertial,
    add_pose,
    box_inertia,
    check_name,
    check_positive,
    check_vectors,
)

_SIDE = 0.02  # side of the cube that a sensor with a mass is [m]


@dataclass(frozen=True, kw_only=True)
class Sensor(Part):
    """A sensor. Inherit and name its plugin or type for a kind of your own.

    `xtdrone list presets` shows the presets, docs/sensors.md the parameters.

    Examples:
        >>> class Sonar(Sensor):
        ...     plugin, type, label = "gazebo_sonar_plugin", "sonar", "sonar"
        >>> Sonar(rate=20.0).named
        'sonar'
    """

    plugin: ClassVar[str] = ""  # PX4 sitl_gazebo's, without lib and .so
    type: ClassVar[str] = ""  # type of SDF's <sensor>; "": a plugin of the model
    label: ClassVar[str] = ""  # its name where none is given

    name: str = ""  # empty: by its kind
    preset: str = ""  # empty: the kind's usual one
    rate: float | None = None  # [Hz]; None: the preset's
    pos: Vector = ORIGIN  # position from the frame's centre of gravity [m]
    rpy: Vector = ORIGIN  # roll, pitch and yaw [rad]
    mass: float = 0.0  # [kg]; 0: it belongs to the frame
    parameters: Mapping[str, float | str] = field(default_factory=dict)  # by name, over the preset

    def __post_init__(self) -> None:
        if not (self.plugin or self.type):
            raise ScenarioError(
                f"{type(self).__name__} is no sensor: its class has neither plugin nor type"
            )
        check_name("name of a sensor", self.named)
        check_vectors(self.named, pos=self.pos, rpy=self.rpy)
        if self.rate is not None:
            check_positive(self.named, rate=self.rate)
        if not self.type and not self.mass and (any(self.pos) or any(self.rpy)):
            raise ScenarioError(
                f"sensor '{self.named}' at {self.pos} has no mass: give mass in kg "
                "for a link of its own, or leave out pos and rpy"
            )

    @property
    def named(self) -> str:
        """Its name."""
        return self.name or self.label

    def write(self, model: Element) -> None:
        """Adds it, with a link of its own if it has a mass."""
        link = self._link(model)
        if self.type:
            sensor = add(link, "sensor", name=self.named, type=self.type)
            if not self.mass:
                add_pose(sensor, self.pos, self.rpy)
            self.fill_sensor(sensor)
        else:
            plugin = add(
                model, "plugin", name=f"{self.named}_plugin", filename=f"lib{self.plugin}.so"
            )
            add(plugin, "robotNamespace", "")
            add(plugin, "linkName", link.get("name"))
            self.fill(plugin)

    def fill_sensor(self, sensor: Element) -> None:
        """Adds its elements to `<sensor>`."""
        plugin = add(sensor, "plugin", name=f"{self.named}_plugin", filename=f"lib{self.plugin}.so")
        add(plugin, "robotNamespace", "")
        self.fill(plugin)

    def fill(self, parent: Element) -> None:
        """Adds preset, rate and parameters."""
        if self.preset:
            add(parent, "preset", self.preset)
        if self.rate is not None:
            add(parent, "rate", float(self.rate))
        for name, value in self.parameters.items():
            add(parent, name, value)

    def _link(self, model: Element) -> Element:
        if not self.mass:
            return model.find(f"link[@name='{BASE}']")
        name = f"{self.named}_link"
        link = add(model, "link", name=name)
        add_pose(link, self.pos, self.rpy, relative_to=BASE)
        add_inertial(link, self.mass, box_inertia(self.mass, (_SIDE,) * 3))
        joint = add(model, "joint", name=f"{self.named}_joint", type="fixed")
        add(joint, "parent", BASE)
        add(joint, "child", name)
        return link


@dataclass(frozen=True, kw_only=True)
class Imu(Sensor):
    """Gyroscope and accelerometer, with a reading at every step of 4 ms.

    Examples:
        >>> Imu(preset="bmi088", parameters={"gyroscope_noise_density": 2e-4}).named
        'imu'
    """

    plugin, label = "gazebo_imu_plugin", "imu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate not in (None, 250.0):
            raise ScenarioError(
                f"rate {self.rate:g} of '{self.named}' is not allowed: an IMU has "
                "a reading at every step, 250 Hz; leave it out"
            )

    def fill(self, parent: Element) -> None:
        """Adds preset and parameters."""
        Sensor.fill(self if self.rate is None else Imu(**{**self.__dict__, "rate": None}), parent)


@dataclass(frozen=True, kw_only=True)
class Magnetometer(Sensor):
    """Magnetic field along the body's axes.

    Examples:
        >>> Magnetometer(rate=50.0).named
        'magnetometer'
    """

    plugin, label = "gazebo_magnetometer_plugin", "magnetometer"


@dataclass(frozen=True, kw_only=True)
class Barometer(Sensor):
    """Static pressure.

    Examples:
        >>> Barometer(rate=50.0).rate
        50.0
    """

    plugin, label = "gazebo_barometer_plugin", "barometer"


@dataclass(frozen=True, kw_only=True)
class Airspeed(Sensor):
    """Differential pressure of a pitot tube along x.

    Examples:
        >>> Airspeed().named
        'airspeed'
    """

    plugin, label = "gazebo_airspeed_plugin", "airspeed"


@dataclass(frozen=True, kw_only=True)
class Gps(Sensor):
    """GNSS receiver.

    Examples:
        >>> Gps(preset="rtk", parameters={"latency": 0.1}).preset
        'rtk'
    """

    plugin, type, label = "gazebo_gps_plugin", "gps", "gps"


@dataclass(frozen=True, kw_only=True)
class RangeFinder(Sensor):
    """Distance along its x axis; (0, pi/2, 0) looks down.

    Examples:
        >>> RangeFinder(rpy=(0.0, 1.5708, 0.0), parameters={"maximum": 40.0}).named
        'range'
    """

    plugin, type, label = "gazebo_lidar_plugin", "ray", "range"
