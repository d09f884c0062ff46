"""The waves in a world's file: <waves> of <xtdrone:water>, or a plugin of VRX or asv_wave_sim.

<xtdrone:water>
  <waves> <height>0.4</height> <period>4</period> <direction>30</direction> </waves>
</xtdrone:water>

WavefieldModelPlugin has a <wave> with VRX's parameters, VRX's PublisherPlugin sends them as text,
and asv_wave_sim's waves-model for the new Gazebo has a <wave> with an <algorithm>.
"""

import math
import re
from typing import NamedTuple

from xtdrone_core.errors import XtdroneError
from xtdrone_core.sdf_numbers import leading_numbers
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth import waves as model
from xtdrone_dynamics.earth.waves import PIERSON_MOSKOWITZ, REGULAR

from ..vehicles.plugins import plugin_name
from ..vehicles.sdf_file import Element, fail
from ..vehicles.sdf_tree import Scope, to_dict
from .waves import Waves

_FIELD, _PUBLISHER, _MODEL = "WavefieldModelPlugin", "PublisherPlugin", "waves-model"
WAVE_PLUGINS = (_FIELD, _PUBLISHER, _MODEL, "gz-waves1-waves-model-system")
_TOPIC = "wavefield/parameters"  # end of the topic to which VRX's waves listen
_PARAMETER = re.compile(r'key:\s*"(\w+)".*?(?:double|int|string)_value:\s*"?([-+.\w]+)', re.DOTALL)
_ALPHA = 0.0081  # Phillips' constant, of VRX's spectrum
_LARGEST = 64  # waves of a file


class _Vrx(NamedTuple):
    """VRX's parameters of a wave field, with its defaults."""

    number: float = 3.0
    scale: float = 1.1  # frequency, or wave length, of one wave over that of the one before
    angle: float = 0.4  # between two of them [rad]
    amplitude: float = 0.0  # [m]
    period: float = 5.0  # [s]
    phase: float = 0.0  # [rad]
    gain: float = 1.0  # of the amplitudes of a spectrum


def read_waves(scope: Scope) -> tuple[Waves, float | None]:
    """The waves of a world, and the height of the model that has their plugin, None without one.

    Raises:
        SdfError: They make no sense.
    """
    block = scope.own("water")
    given = None if block is None else block.find("waves")
    for owner, plugin in scope.elements("plugin"):
        waves = _of_plugin(plugin)
        if waves is not None:
            height = owner.pose("", plugin).pos[2] if owner is not scope else 0.0
            return (waves if given is None else _own(given)), height
    return (Waves() if given is None else _own(given)), None


def _own(element: Element) -> Waves:
    values = to_dict(element)
    for word, value in values.items():
        if not isinstance(value, str):
            fail(element, f"<{word}> of <waves> appears twice or has children: give it once")
    try:
        return Waves.of_values(values, "<waves>")
    except XtdroneError as error:
        fail(element, str(error))


def _of_plugin(plugin: Element) -> Waves | None:
    name = plugin_name(plugin)
    if name == _PUBLISHER:
        for message in plugin.iterchildren("message"):
            if message.get("topic", "").endswith(_TOPIC):
                return _vrx(plugin, dict(_PARAMETER.findall(message.text or "")))
        return None
    wave = plugin.find("wave")
    if name not in WAVE_PLUGINS or wave is None:
        return None
    tags = {tag: value for tag, value in to_dict(wave).items() if isinstance(value, str)}
    return _vrx(plugin, tags) if name == _FIELD else _by_algorithm(plugin, tags)


def _vrx(plugin: Element, tags: dict[str, str]) -> Waves:
    """Waves around a period: of Pierson and Moskowitz's spectrum (PMS), or alike in shape (CWR)."""
    given = {name: _number(plugin, tags[name]) for name in _Vrx._fields if name in tags}
    field, towards = _Vrx(**given), _direction(plugin, tags)
    count = int(field.number)
    if not (1 <= count <= _LARGEST and field.period > 0.0 and field.scale > 0.0):
        fail(
            plugin,
            f"<number> is {field.number:g}, <period> {field.period:g} and <scale> "
            f"{field.scale:g}: give 1 to {_LARGEST} waves, and numbers above 0",
        )
    mean, waves = math.tau / field.period, []
    for i in range(count):
        n = i - count // 2
        ratio = field.scale**n
        if tags.get("model", "PMS").upper() == "CWR" or field.amplitude > 0.0:
            size, frequency = ratio * field.amplitude, mean / math.sqrt(ratio)
        else:
            frequency = mean * ratio
            shape = math.exp(-1.25 / ratio**4) / frequency**5
            width = mean * _width(count, i, field.scale)
            size = field.gain * math.sqrt(2.0 * _ALPHA * GRAVITY**2 * shape * width)
        waves.append((size, frequency, towards + n * field.angle, field.phase))
    return Waves(listed=tuple(waves))


def _width(count: int, i: int, scale: float) -> float:
    """Part of the spectrum that wave i of VRX's stands for, over the mean frequency."""
    if count == 3:
        return (1.0 - 1.0 / scale, 0.5 * (scale - 1.0 / scale), scale - 1.0)[i]
    return (scale - 1.0 / scale) / count


def _by_algorithm(plugin: Element, tags: dict[str, str]) -> Waves:
    """Waves of asv_wave_sim: one that is regular, or those that a wind raises."""
    towards = math.degrees(_direction(plugin, tags))
    kind = tags.get("algorithm", "fft")
    if kind in ("sinusoid", "linear_regular", "trochoid"):
        height = 2.0 * _number(plugin, tags.get("amplitude", "0"))
        period = _number(plugin, tags.get("period", "1"))
        return Waves(height, period, towards, spectrum=REGULAR)
    if "wind_velocity" in tags:
        values, _ = leading_numbers(tags["wind_velocity"], 2)
        east, north = (*values, 0.0, 0.0)[:2]
        speed, towards = math.hypot(east, north), math.degrees(math.atan2(north, east))
    else:
        speed = _number(plugin, tags.get("wind_speed", "5"))
        towards = _number(plugin, tags.get("wind_angle_deg", f"{towards:g}"))
    if speed <= 0.0:
        return Waves()
    height, period = model.developed(speed, GRAVITY)
    return Waves(height, period, towards, spectrum=PIERSON_MOSKOWITZ)


def _direction(plugin: Element, tags: dict[str, str]) -> float:
    """The direction as an angle [rad], given as that or as a vector."""
    given = tags.get("direction", "0")
    values, _ = leading_numbers(given, 2)
    if values:
        return math.atan2(values[1], values[0])
    return _number(plugin, given)


def _number(plugin: Element, text: str) -> float:
    values, _ = leading_numbers(text, 1)
    if not values or not abs(values[0]) <= 1e6:
        fail(plugin, f"'{text}' in its waves is not a number up to 1e6")
    return values[0]
