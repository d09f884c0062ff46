"""The half wings of a model, by Φ-theory: each block <xtdrone:half_wing>, which Gazebo ignores.

<xtdrone:half_wing xmlns:xtdrone="urn:xtdrone">
  <link_name>base_link</link_name> <cp>0 0.1375 0</cp>
  <forward>0 0 1</forward> <left>0 1 0</left>
  <control_joint_name>elevon_left_joint</control_joint_name>
  <motorNumber>1</motorNumber> <radius>0.125</radius>
  <area>0.03715</area> <chord>0.13</chord> <span>0.55</span> ...
</xtdrone:half_wing>
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xtdrone_core.vehicle import Actuator, HalfWing, Rotor

from ..pose import Pose
from ..sdf_file import Element, fail
from ..sdf_tree import Scope, number, refuse_unknown, vector
from .links import Links, unit
from .wings import HALF_WING, centre_of_pressure, control_joint, link_frame

_POSITIVE = ("area", "chord", "span", "radius")
_NUMBERS = ("cd0", "cy0", "lift_slope", "offset", "zeta_f", "zeta_m")
_TAGS = (
    "link_name",
    "cp",
    "forward",
    "left",
    "control_joint_name",
    "motorNumber",
    "damping",
    *_POSITIVE,
    *_NUMBERS,
)


def read_half_wings(
    scope: Scope,
    links: Links,
    actuators: Sequence[Actuator],
    controls: Mapping[str, tuple[int, Element]],
) -> Iterable[HalfWing]:
    """Yields the half wings of a model.

    Args:
        scope: The model.
        links: Its links.
        actuators: Its actuators.
        controls: Full names of joints to the index and channel of the actuators that turn them.

    Raises:
        SdfError: A half wing without elevon or rotor, or with invalid values.
    """
    for owner, block in scope.elements(HALF_WING):
        refuse_unknown(block, _TAGS)
        body, pos = centre_of_pressure(owner, block, links)
        joint = control_joint(owner, block)
        if joint not in controls:
            fail(
                block,
                f"no channel turns the elevon '{joint}' of a half wing: give the name of "
                "a joint that one turns as <control_joint_name>",
            )
        values: dict[str, Any] = {tag: number(block, tag) for tag in (*_POSITIVE, *_NUMBERS)}
        for tag in _POSITIVE:
            if values[tag] <= 0.0:
                fail(block, f"<{tag}> of a half wing is {values[tag]:g}: give a number above 0")
        yield HalfWing(
            body=body,
            control=controls[joint][0],
            rotor=_rotor(block, body, actuators),
            pos=pos,
            **_directions(block, link_frame(owner, block, links)[1]),
            disc_area=math.pi * values.pop("radius") ** 2,
            damping=vector(block, "damping", (0.0, 0.0, 0.0)),
            **values,
        )


def _rotor(block: Element, body: int, actuators: Sequence[Actuator]) -> int:
    """Index of the rotor ahead of a half wing."""
    motor = number(block, "motorNumber")
    for k, actuator in enumerate(actuators):
        if isinstance(actuator, Rotor) and actuator.channel == motor and actuator.body == body:
            return k
    fail(block, f"there is no rotor {motor:g} on the body of a half wing: give its motorNumber")


def _directions(block: Element, frame: Pose) -> dict:
    """Unit vectors along the thrust and the span, frame of the body."""
    forward = np.array(vector(block, "forward", (1.0, 0.0, 0.0)))
    left = np.array(vector(block, "left", (0.0, 1.0, 0.0)))
    if abs(forward @ left) > 1e-6 or not forward.any() or not left.any():
        fail(
            block,
            "<forward> and <left> of a half wing are not at a right angle: give two "
            "directions that are",
        )
    return {
        "forward": unit(frame.direction(tuple(forward))),
        "left": unit(frame.direction(tuple(left))),
    }
