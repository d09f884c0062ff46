"""Slung loads of a model: links that hang on ball or universal joints.

Chains of them, as ropes are modelled in Gazebo, count as one cable without mass, and the last link
as the load, with the mass of all.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lxml import etree

from ..pose import Pose
from ..sdf_file import Element
from ..sdf_tree import Scope, name_of, number, pose_of, text

HANGING = ("ball", "universal")  # types of joints
_SHORTEST_M = 0.05


@dataclass(frozen=True)
class SlungLink:
    """A load that a model brings.

    Attributes:
        name: Of its link.
        sdf: It as a model of its own.
        pose: Of that in the frame of the vehicle's model, joints at zero.
        anchor: Where its cable begins, in that frame [m].
        length: Of the cable, to the load's centre of gravity [m].
    """

    name: str
    sdf: str
    pose: Pose
    anchor: tuple[float, float, float]
    length: float


def cut_slung(element: Element, scope: Scope) -> tuple[SlungLink, ...]:
    """Takes the slung loads of a model out of its element, and returns them.

    What carries a sensor or a joint of another type stays: its joint is held at zero.
    """
    joints = list(element.iterchildren("joint"))
    links = {name_of(link): link for link in element.iterchildren("link")}
    poses = {name: pose for name, _, pose in scope.links()}
    base = next(iter(links), "")
    found: list[SlungLink] = []
    for joint in joints:
        if joint.get("type") not in HANGING or text(joint, "child", "") not in links:
            continue
        chain = _below(text(joint, "child"), joints)
        inside = [other for other in joints if text(other, "parent", "") in chain]
        if (
            base in chain
            or not links.keys() >= set(chain)
            or any(links[name].find("sensor") is not None for name in chain)
            or any(other.get("type") not in (*HANGING, "fixed") for other in inside)
        ):
            continue
        anchor = scope.pose(name_of(joint), joint).pos
        centres = {name: poses[name].to(_centre(links[name])).pos for name in chain}
        last = max(
            chain, key=lambda name: float(np.linalg.norm(np.subtract(centres[name], anchor)))
        )
        length = float(np.linalg.norm(np.subtract(centres[last], anchor)))
        if length < _SHORTEST_M:
            continue
        mass = sum(number(links[name], "inertial/mass", 1.0) for name in chain)
        found.append(SlungLink(last, _alone(links[last], mass), poses[last], anchor, length))
        for name in chain:
            element.remove(links.pop(name))
        for other in joints:
            if text(other, "child", "") in chain and other.getparent() is element:
                element.remove(other)
    return tuple(found)


def _below(link: str, joints: Sequence[Element]) -> list[str]:
    """A link and all that joints hold to it, downwards."""
    chain = [link]
    for name in chain:
        chain += [
            text(joint, "child", "")
            for joint in joints
            if text(joint, "parent", "") == name and text(joint, "child", "") not in chain
        ]
    return chain


def _centre(link: Element) -> Pose:
    inertial = link.find("inertial")
    return Pose() if inertial is None else pose_of(inertial)


def _alone(link: Element, mass: float) -> str:
    """A link as a model of its own, with another mass."""
    model = etree.Element("model", name=name_of(link))
    own = copy.deepcopy(link)
    for pose in own.findall("pose"):
        own.remove(pose)
    given = own.find("inertial/mass")
    if given is not None:
        given.text = f"{mass:g}"
    model.append(own)
    sdf = etree.Element("sdf", version="1.6")
    sdf.append(model)
    return etree.tostring(sdf, encoding="unicode")
