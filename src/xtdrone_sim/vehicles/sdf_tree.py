"""The grammar of SDF files: elements, numbers, frames, links.

Reads SDF 1.4 to 1.7 as Gazebo 11 does, with nested models, includes and
`relative_to`. What the elements mean for a vehicle or a world is in sdf.py.
"""

import copy
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from lxml import etree

from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.sdf_numbers import leading_numbers

from .pose import Pose
from .sdf_file import OWN, Element, fail, note, parse, resolve_model

_Numbers = TypeVar("_Numbers", bound=tuple[float, ...])
_MAX_NESTING = 16
_MAX_MERGED = 200
_LARGEST = 1e18
TRUE = ("1", "true")  # texts of a truth value, in lower case
FARTHEST = 1e6  # largest coordinate of a pose, and largest side of a shape [m]


def refuse_unknown(element: Element, known: Iterable[str]) -> None:
    """Refuses children of an element that are not known, or appear twice.

    Args:
        element: In the xtdrone namespace.
        known: Names of its children.
    """
    what = element.tag.replace(OWN, "xtdrone:")
    if (element.text or "").strip():
        fail(
            element,
            f"<{what}> holds the text '{element.text.strip()}': it holds "
            + (
                f"the elements {', '.join(known)}"
                if known
                else "nothing; leave it out to switch it off"
            ),
        )
    seen = set()
    for child in element:
        if child.tag not in known:
            fail(
                child,
                unknown_name(f"element of <{what}>", str(child.tag), known)
                if known
                else f"<{what}> holds nothing: take <{child.tag}> out",
            )
        if child.tag in seen:
            fail(child, f"<{child.tag}> appears twice in <{what}>")
        seen.add(child.tag)


def text(element: Element, tag: str, default: str | None = None) -> str:
    """The text of a child; without a default the child must be there."""
    child = element.find(tag)
    if _is_empty(child):
        if default is None:
            name = element.tag.replace(OWN, "xtdrone:")
            fail(element, f"<{name}>{_named(element)} has no <{tag}>")
        return default
    return child.text.strip()


def numbers(element: Element, count: int) -> tuple[float, ...]:
    """The numbers that an element's text lists; 1e16, which SDF has for 'no limit', is one.

    What follows them is noted and left out, as Gazebo does.
    """
    given = element.text or ""
    values, rest = leading_numbers(given, count)
    if not values or not all(abs(x) <= _LARGEST for x in values):
        what = "a number" if count == 1 else f"{count} numbers"
        fail(
            element,
            f"<{element.tag}> is '{shown(' '.join(given.split()))}': give {what} within "
            f"{_LARGEST:g}",
        )
    if rest:
        taken = " ".join(f"{value:g}" for value in values)
        note(element, f"<{element.tag}> is '{shown(' '.join(given.split()))}': {taken} is taken")
    return values


def number(element: Element, tag: str, default: float | None = None) -> float:
    """The number in a child; without a default it must be there."""
    child = element.find(tag)
    if default is not None and _is_empty(child):
        return default
    text(element, tag)
    return numbers(child, 1)[0]


def flag(element: Element, tag: str, default: bool = False) -> bool:
    """The truth value in a child: 1, or true in any case; all else is false, as for sdformat."""
    return text(element, tag, str(default)).lower() in TRUE


def vector(element: Element, tag: str, default: _Numbers) -> _Numbers:
    """Returns the numbers in a child, as many as the default has; that where there is no text."""
    child = element.find(tag)
    return default if _is_empty(child) else cast(_Numbers, numbers(child, len(default)))


def pose_of(element: Element) -> Pose:
    """The <pose> of an element in its own reference frame."""
    child = element.find("pose")
    if _is_empty(child):
        return Pose()
    values = numbers(child, 6)
    if max(map(abs, values)) > FARTHEST:
        fail(child, f"<pose> is '{shown(child.text)}': give metres and radians up to {FARTHEST:g}")
    return Pose.of(*values)


def name_of(element: Element) -> str:
    """The name attribute, which must be there."""
    if not element.get("name"):
        fail(element, f"<{element.tag}> has no name attribute")
    return element.get("name")


def to_dict(element: Element) -> dict[str, Any]:
    """An element's tags as text, nested tags as dicts, repeated tags as lists."""
    out: dict[str, Any] = {}
    for child in element:
        value = to_dict(child) if len(child) else (child.text or "").strip()
        if child.tag in out:
            known = out[child.tag]
            out[child.tag] = [*known, value] if isinstance(known, list) else [known, value]
        else:
            out[child.tag] = value
    return out


class Scope:
    """A model with its frames: names of links, joints, frames and nested models to poses."""

    def __init__(
        self,
        element: Element,
        pose: Pose,
        prefix: str = "",
        depth: int = 0,
        placed: Mapping[str, Pose] | None = None,
    ) -> None:
        """Reads the names in a model.

        Args:
            element: The <model>, or a <world> (whose models count as nested).
            pose: Pose of the model in the root's frame.
            prefix: What names of this scope begin with in the root's terms, like "gps0::".
            depth: How deep this scope is nested.
            placed: Poses of links and nested models in the root's frame, in place of the files';
                names in nested models as "model::link".
        """
        if depth > _MAX_NESTING:
            fail(
                element, f"models are nested more than {_MAX_NESTING} deep: a model includes itself"
            )
        self.element = element
        self.prefix = prefix
        self._pose = pose
        self._known = dict(placed or {})
        self._elements: dict[str, Element] = {}
        self._renamed: dict[str, Element] = {}  # joints with the name of another element
        self._nested: dict[str, Scope] = {}
        self._lights: list[tuple[Element, Pose]] = []
        self._actors: list[Element] = []
        included: dict[
            str, tuple[Element, Element]
        ] = {}  # name: the <model> of an <include>, with that pose if it has one
        includes = list(element.iterchildren("include"))
        for child in includes:  # a merged model adds its own
            self._include(child, included, includes)
        own = element.iterchildren("link", "joint", "frame", "model")
        for child in sorted(own, key=lambda each: each.tag == "joint"):  # joints last
            child.set("name", self._own_name(name_of(child)))
            if child.tag == "joint":
                self._rename(child)
            self._add(name_of(child), child)
        self._lights += [
            (light, pose.to(pose_of(light))) for light in element.iterchildren("light")
        ]
        self._actors += element.iterchildren("actor")
        models = {name_of(child): (child, child) for child in element.iterchildren("model")}
        within: dict[str, dict[str, Pose]] = defaultdict(dict)  # what of `placed` is in each
        for place, there in (placed or {}).items():
            head, _, rest = place.partition("::")
            if rest:
                within[head][rest] = there
        for name, (source, model) in {**included, **models}.items():
            where = self.pose(name, source)
            anchor = source.findtext("placement_frame", model.get("placement_frame", "")).strip()
            if anchor:
                where = where.to(Scope(model, Pose(), "", depth + 1).pose(anchor, source).inverse())
            self._nested[name] = Scope(model, where, f"{prefix}{name}::", depth + 1, within[name])

    def links(self) -> list[tuple[str, Element, Pose]]:
        """(full name, element, pose in the root's frame) of all links, nested ones too."""
        own = [
            (self.prefix + name_of(link), link, self.pose(name_of(link), link))
            for link in self.element.iterchildren("link")
        ]
        return own + [below for nested in self._nested.values() for below in nested.links()]

    def models(self) -> "list[tuple[str, Scope]]":
        """(name, its scope) of the models nested directly in it."""
        return list(self._nested.items())

    def elements(self, tag: str) -> "list[tuple[Scope, Element]]":
        """(scope, element) of every direct child with a tag, nested models' too."""
        own = [(self, child) for child in self.element.iterchildren(tag)]
        return own + [below for nested in self._nested.values() for below in nested.elements(tag)]

    def own(self, name: str) -> Element:
        """The vehicle's block <xtdrone:name>, of the model or of one nested in it; or None."""
        blocks = [element for _, element in self.elements(OWN + name)]
        if len(blocks) > 1:
            fail(blocks[1], f"a second <xtdrone:{name}>: give a vehicle one")
        return blocks[0] if blocks else None

    def lights(self) -> list[tuple[Element, Pose]]:
        """(element, pose in the root's frame) of all lights, nested models' too."""
        return self._lights + [
            below for nested in self._nested.values() for below in nested.lights()
        ]

    def actors(self) -> list[Element]:
        """The <actor>s of this scope."""
        return self._actors

    def find(self, tag: str, name: str, asker: Element) -> Element:
        """The link or joint of a name, which must be there."""
        if not self.has(tag, name):
            fail(asker, f"there is no {tag} '{name}' in model '{name_of(self.element)}'")
        return self._named(tag, name)

    def has(self, tag: str, name: str) -> bool:
        """Whether there is a link or joint of a name, also like "nested::joint"."""
        return self._named(tag, name) is not None

    def _named(self, tag: str, name: str) -> Element | None:
        scope, last = self._split(name)
        if scope is None:
            return None
        element = scope._elements.get(last)
        if element is None or element.tag != tag:
            element = scope._renamed.get(last) if tag == "joint" else None
        return element

    def _split(self, name: str) -> "tuple[Scope | None, str]":
        """(scope, name in it) of a name; a link of a model that was flattened is "gps0::link"."""
        if name in self._elements:
            return self, name
        head, _, last = name.rpartition("::")
        return self._inner(head), last

    def _inner(self, head: str) -> "Scope | None":
        """The scope of a nested model by its name, "" for this one; None where it is not there."""
        scope: Scope | None = self
        for part in head.split("::") if head else ():
            if scope is not None:
                scope = scope._nested.get(part)
        return scope

    def pose(self, name: str, asker: Element) -> Pose:
        """Where a frame lies in the root's frame.

        Raises:
            SdfError: No such frame, or frames that refer to each other in a circle.
        """
        scope, chain, open_ = self, [], set()  # chain: from this frame outwards
        while name not in ("", "__model__", "world") and name not in scope._known:
            if "::" in name and name not in scope._elements:
                head, _, rest = name.partition("::")
                if head not in scope._nested:
                    fail(asker, f"there is no model '{head}' for '{name}'")
                scope, name = scope._nested[head], rest
                continue
            element = scope._elements.get(name)
            if element is None:
                fail(asker, f"there is no frame '{name}' in model '{name_of(scope.element)}'")
            if element in open_:
                fail(element, f"the frame '{name}' is relative to itself")
            open_.add(element)
            chain.append((scope, name, element))
            name, asker = scope._reference(element), element
        pose = scope._known.get(name, scope._pose)
        for scope, name, element in reversed(chain):
            pose = scope._known[name] = pose.to(pose_of(element))
        return pose

    def _reference(self, element: Element) -> str:
        child = element.find("pose")
        if child is not None:
            named = child.get("relative_to") or child.get("frame")
            if named:
                return named
        if element.tag == "joint":
            return text(element, "child")
        return element.get("attached_to", "") if element.tag == "frame" else ""

    def _add(self, name: str, element: Element) -> None:
        if self._elements.get(name, element) is not element:
            fail(element, f"there are two elements called '{name}'")
        self._elements[name] = element

    def _rename(self, joint: Element) -> None:
        """Gives a joint with the name of a link or model another one, as Gazebo 11 does."""
        name = new = name_of(joint)
        while new in self._elements:
            if self._elements[new].tag == "joint":
                return  # which is refused
            new += "_joint"
        if new != name:
            note(joint, f"joint '{name}' has the name of another element: it is called '{new}'")
            joint.set("name", new)
            self._renamed[name] = joint

    def _own_name(self, name: str) -> str:
        """A name for something in this scope; Gazebo loads a world's models of one name, too."""
        if self.element.tag != "world" or name not in self._elements:
            return name
        return next(
            f"{name}_{k}" for k in itertools.count(1) if f"{name}_{k}" not in self._elements
        )

    def _include(
        self,
        element: Element,
        included: dict[str, tuple[Element, Element]],
        includes: list[Element],
    ) -> None:
        path = resolve_model(element, text(element, "uri"))
        model = parse(path, "model", "light", "actor")
        if model.tag == "light":  # as Gazebo's own model://sun
            self._lights.append((model, self._pose.to(pose_of(model))))
        elif model.tag == "actor":
            self._actors.append(model)
        elif element.get("merge", "").lower() in TRUE:
            self._merge(element, model, includes)
        else:
            name = self._own_name(text(element, "name", name_of(model)))
            source = element if element.find("pose") is not None else model
            self._add(name, source)
            included[name] = source, model

    def _merge(self, element: Element, model: Element, includes: list[Element]) -> None:
        """Takes over what an included model consists of, at a frame in place of its own.

        What it includes is added to `includes`.
        """
        if len(includes) > _MAX_MERGED:
            fail(element, f"more than {_MAX_MERGED} models are merged: a model includes itself")
        own = f"_merged__{name_of(model)}__model_{len(self.element)}__"  # grows with each merge
        frame = etree.SubElement(self.element, "frame", name=own)
        pose = element.find("pose")
        frame.append(
            copy.deepcopy(model.find("pose") if pose is None else pose)
            if model.find("pose") is not None or pose is not None
            else etree.Element("pose")
        )
        for child in list(model):
            if child.tag in ("link", "frame", "model", "include", "light"):
                place = child.find("pose")
                if place is None:
                    place = etree.SubElement(child, "pose")
                if not (place.get("relative_to") or place.get("frame") or child.get("attached_to")):
                    place.set("relative_to", own)
            if child.tag not in ("pose", "static", "self_collide"):
                base = child.base
                self.element.append(child)
                child.base = base
                if child.tag == "include":
                    includes.append(child)


def _is_empty(child: Element | None) -> bool:
    """Whether an element is not there or without text, so that SDF's default holds."""
    return child is None or not (child.text or "").strip()


def _named(element: Element) -> str:
    return f" '{element.get('name')}'" if element.get("name") else ""
