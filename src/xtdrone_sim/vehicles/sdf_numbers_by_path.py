"""Numbers of an SDF file by paths, to read and to change them and leave all else as it is.

A path names elements from the model down, with the name of each where several have its tag, and a
place in a list of numbers after `#`:

    link[base_link]/inertial/mass
    plugin[*_motor_model]/motorConstant
    plugin[mavlink_interface]/control_channels/channel[rotor?]/input_scaling
    link[rotor_0]/pose#3
    xtdrone:battery/capacity

`*` and `?` stand for any characters, so that one path may mean several elements, which then have
the same number.
"""

import codecs
import difflib
import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lxml import etree

from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.files import parse_xml, read_bytes
from xtdrone_core.outputs import cannot_write
from xtdrone_core.sdf_numbers import leading_numbers

from ..errors import SdfError

Element = Any  # lxml's elements, which have no types
_NAMESPACE = {"xtdrone": "urn:xtdrone"}
_STEP = re.compile(r"(?P<tag>[\w:.-]+)(?:\[(?P<name>[^\]]+)\])?")
_DECLARATION = b'<?xml version="1.0"?>\n'


class SdfNumbers:
    """An SDF file whose numbers can be changed."""

    def __init__(self, path: Path | str) -> None:
        """Reads a file.

        Raises:
            XtdroneError: It cannot be read, or has no model.
        """
        self.path = Path(path)
        self._text = read_bytes(self.path, "SDF file", error=SdfError)
        self._root = _with_comments(self._text)
        if self._root is None:
            self._root = parse_xml(self._text, str(path), SdfError)
        self._model = self._root.find("model")
        if self._model is None:
            raise SdfError(f"'{path}' has no <model>: give the SDF file of a vehicle")

    def numbers(self, path: str) -> list[float]:
        """Returns the numbers that a path means, in the order of the file.

        Raises:
            SdfError: It means nothing, or no number.
        """
        steps, place = _parsed(path)
        out = []
        for element in self._found(path, steps):
            words = (element.text or "").split()
            numbers, _ = leading_numbers(element.text or "", max(len(words), 1))
            if not numbers or place >= len(numbers):
                raise SdfError(
                    f"'{path}' in '{self.path}' is '{shown(element.text or '')}': "
                    f"{'it has no such place' if numbers else 'it is no number'}"
                )
            out.append(numbers[place])
        return out

    def has(self, path: str) -> bool:
        """Returns whether a path means a number."""
        try:
            return bool(self.numbers(path))
        except SdfError:
            return False

    def set(self, path: str, value: float) -> None:
        """Writes a number wherever a path means one.

        Raises:
            SdfError: It means nothing, or no number.
        """
        self.change(path, lambda _: value)

    def change(self, path: str, function: Callable[[float], float]) -> None:
        """Replaces each number that a path means by a function of it.

        Raises:
            SdfError: It means nothing, or no number.
        """
        numbers = self.numbers(path)
        steps, place = _parsed(path)
        for element, number in zip(self._found(path, steps), numbers, strict=True):
            words = element.text.split()
            words[place] = f"{function(number):.9g}"
            element.text = " ".join(words)

    def text(self) -> str:
        """Returns the file with the changes."""
        body: bytes = etree.tostring(self._root.getroottree(), encoding="utf-8")
        return (_DECLARATION + body).decode() + "\n"

    def original(self) -> str:
        """Returns the file without the changes, written as text() writes it."""
        return SdfNumbers(self.path).text()

    def difference(self) -> str:
        """Returns the changes as `diff -u` writes them."""
        name = f"{self.path.parent.name}/{self.path.name}"
        before, after = (text.splitlines(keepends=True) for text in (self.original(), self.text()))
        return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=1))

    def write_model(self, folder: Path) -> Path:
        """Copies the model's folder with the changes; returns its SDF file.

        Raises:
            XtdroneError: It cannot be written.
        """
        target = folder / self.path.name
        try:
            shutil.copytree(self.path.parent, folder, dirs_exist_ok=True)
            target.write_text(self.text())
        except OSError as failed:
            raise cannot_write(target, failed, SdfError) from failed
        return target

    def _found(self, path: str, steps: list[tuple[str, str]]) -> list[Element]:
        found = [self._model]
        for tag, name in steps:
            inside = [child for element in found for child in element if _is(child, tag)]
            if not inside:
                tags = {_tag(child) for element in found for child in element.iterchildren("*")}
                raise SdfError(
                    f"'{path}' means nothing in '{self.path}': {unknown_name('element', tag, tags)}"
                )
            found = [child for child in inside if fnmatchcase(child.get("name", ""), name)]
            if not found:
                names = {child.get("name", "") for child in inside}
                raise SdfError(
                    f"'{path}' means nothing in '{self.path}': {unknown_name(tag, name, names)}"
                )
        return found


def _with_comments(text: bytes) -> Element:
    """Returns the root with its comments; None where they are not as XML wants them."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        return etree.fromstring(text.removeprefix(codecs.BOM_UTF8), parser)
    except etree.XMLSyntaxError:
        return None


def _parsed(path: str) -> tuple[list[tuple[str, str]], int]:
    """Returns tag and pattern of the name of each step, and the place in the list."""
    text, _, place = path.partition("#")
    steps = list(_steps(path, text))
    if place and not place.isdecimal():
        raise SdfError(f"'{path}': behind # stands the place in a list of numbers, from 0")
    return steps, int(place or 0)


def _steps(path: str, text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"/(?![^\[]*\])", text):
        match = _STEP.fullmatch(part)
        if match is None:
            raise SdfError(
                f"'{path}' is no path of a number: give for example link[base_link]/inertial/mass "
                "or plugin[*_motor_model]/motorConstant"
            )
        yield match["tag"], match["name"] or "*"


def _is(element: Element, tag: str) -> bool:
    return isinstance(element.tag, str) and _tag(element) == tag


def _tag(element: Element) -> str:
    """Returns the tag as a path has it."""
    name = etree.QName(element)
    prefix = next((p for p, uri in _NAMESPACE.items() if uri == name.namespace), "")
    return f"{prefix}:{name.localname}" if prefix else str(name.localname)
