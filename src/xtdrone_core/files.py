"""Reading files: every file that a user names goes through here; outputs.py is for writing.

A file is read only if it is a regular one of a reasonable size, so that no FIFO, device or folder
blocks a start or fills the memory. Text is UTF-8, or UTF-16 with a byte-order mark; no reader sees
the mark. YAML and JSON give plain data that is neither
nested too deep nor larger than the file that it comes from: references to anchors are counted as
what they expand to, and numbers are finite. What is wrong is one line of a FileError, or of
another class that the caller names.
"""

import codecs
import io
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .errors import XtdroneError, shown

if TYPE_CHECKING:
    import yaml

Data: TypeAlias = Any  # plain data: whatever YAML or JSON holds
Element: TypeAlias = Any  # an element of lxml, whose class is private
MB = 1 << 20
# Errors of the readers of archives and NumPy arrays if the bytes are damaged.
DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)
_COMMENT = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)
_PRINTED = re.compile(rb"[^\r\n]")
_POINTER = b"version https://git-lfs.github.com/spec/"  # how a pointer of Git LFS begins
_DEPTH = 100  # greatest nesting of lists and mappings
_VALUES = 1_000_000  # greatest number of values in one document, after its references are expanded
_YAML = "tag:yaml.org,2002:"
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileError(XtdroneError):
    """A file that cannot be read, or not be written."""


def is_file(path: Path | str) -> bool:
    """Returns whether there is a regular file; False for a name that no file can have."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_folder(path: Path | str) -> bool:
    """Returns whether there is a folder; False for a name that none can have."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def kind_of(mode: int) -> str:
    """Names the kind of a path of this mode; empty for a regular file."""
    return next((kind for matches, kind in _KINDS if matches(mode)), "")


def read_bytes(
    path: Path | str,
    what: str = "file",
    maximum: int | None = 64 * MB,
    error: type[XtdroneError] = FileError,
) -> bytes:
    """The contents of a regular file.

    Args:
        path: The file.
        what: What it should be, for messages.
        maximum: The largest size [bytes]; None for any.
        error: Class of the errors.

    Raises:
        XtdroneError: There is no such file, it is no regular one, is too large, or cannot be read.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            _check_kind(status.st_mode, path, what, error)
            if maximum is not None and status.st_size > maximum:
                raise error(
                    f"cannot read {what} '{shown(path)}': it has "
                    f"{status.st_size / MB:.0f} MB, and at most {maximum / MB:g} MB are read"
                )
            data = file.read() if maximum is None else file.read(maximum)
    except OSError as failed:
        raise error(f"cannot read {what} '{shown(path)}': {failed.strerror or failed}") from failed
    except ValueError as failed:  # a NUL in the name
        raise error(f"cannot read {what} '{shown(path)!r}': {failed}") from failed
    _check_whole(data, path, what, error)
    return data


def check(path: Path | str, what: str = "file", error: type[XtdroneError] = FileError) -> None:
    """Refuses what is no regular file, for readers that open the file themselves.

    Raises:
        XtdroneError: There is no such file, or it is no regular one.
    """
    try:
        _check_kind(os.stat(path).st_mode, path, what, error)
        with open(path, "rb", opener=_without_waiting) as file:
            begin = file.read(len(_POINTER))
    except (OSError, ValueError) as failed:
        raise error(
            f"cannot read {what} '{shown(path)}': {getattr(failed, 'strerror', None) or failed}"
        ) from failed
    _check_whole(begin, path, what, error)


def _check_whole(data: bytes, path: Path | str, what: str, error: type[XtdroneError]) -> None:
    """Refuses the pointer that Git leaves in the place of a large file."""
    if data.startswith(_POINTER):
        raise error(
            f"cannot read {what} '{shown(path)}': it is a pointer of Git LFS in place of the file, "
            "fetch that by 'git lfs pull'"
        )


def read_text(
    path: Path | str,
    what: str = "file",
    maximum: int = 64 * MB,
    error: type[XtdroneError] = FileError,
) -> str:
    """The text of a regular file, as decode_text(); arguments and errors as of read_bytes().

    Raises:
        XtdroneError: As read_bytes(), or it is not text in UTF-8.
    """
    data = read_bytes(path, what, maximum, error)
    try:
        return decode_text(data)
    except UnicodeDecodeError as failed:
        raise error(
            f"cannot read {what} '{shown(path)}': byte {failed.start} is no UTF-8, give a text file"
        ) from failed


def decode_text(data: bytes, errors: str = "strict") -> str:
    """The text of bytes in UTF-8, or in UTF-16 as its byte-order mark says; without the mark.

    Line ends of Windows become newlines, as open() has them.

    Args:
        data: The bytes of a whole file.
        errors: What to do with bytes that are no text, as in bytes.decode().

    Raises:
        UnicodeDecodeError: They are no text, and errors is "strict".
    """
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if wide else "utf-8-sig", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(
    path: Path | str,
    what: str = "file",
    maximum: int = 64 * MB,
    error: type[XtdroneError] = FileError,
) -> Data:
    """The plain data of a JSON file; arguments and errors as of read_bytes().

    Raises:
        XtdroneError: As read_text() and parse_json().
    """
    return parse_json(read_text(path, what, maximum, error), f"{what} '{shown(path)}'", error)


def parse_json(text: str, what: str, error: type[XtdroneError] = FileError) -> Data:
    """The plain data of a JSON text.

    Args:
        text: The text.
        what: Where it comes from, for messages.
        error: Class of the errors.

    Raises:
        XtdroneError: It is no JSON, nested too deep, or has a number that is not finite.
    """

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{shown(word)} is no finite number")

    def number(word: str) -> float:
        value = float(word)
        return value if math.isfinite(value) else refuse(word)

    try:
        data = json.loads(text, parse_constant=refuse, parse_float=number)
        _check_depth(data)
    except ValueError as failed:
        raise error(f"{what} is not JSON: {shown(failed)}") from failed
    except RecursionError as failed:
        raise error(f"{what} is nested too deep") from failed
    return data


def read_yaml(
    path: Path | str,
    what: str = "file",
    maximum: int = 4 * MB,
    error: type[XtdroneError] = FileError,
) -> Data:
    """The plain data of a YAML file; arguments and errors as of read_bytes().

    Raises:
        XtdroneError: As read_text() and parse_yaml().
    """
    return parse_yaml(read_text(path, what, maximum, error), f"{what} '{shown(path)}'", error)


def parse_yaml(text: str, what: str, error: type[XtdroneError] = FileError) -> Data:
    """The plain data of a YAML text.

    Args:
        text: The text.
        what: Where it comes from, for messages.
        error: Class of the errors.

    Raises:
        XtdroneError: It is no YAML, has a key twice, is nested too deep, or its references expand
            to too much.
    """
    import yaml  # here, so that what reads no YAML needs none

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # The depth first, since the C loader recurses without a limit.
        depth = 0
        for event in yaml.parse(text, loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH:
                raise RecursionError
        node = yaml.compose(text, loader)
        if node is None:
            return None
        made = loader("")
        _check_nodes(node, made)
        return made.construct_document(node)
    except yaml.MarkedYAMLError as failed:
        mark = failed.problem_mark or failed.context_mark
        where = f" in line {mark.line + 1}" if mark else ""
        raise error(
            f"{what} is not YAML: {shown(failed.problem or failed.context)}{where}"
        ) from failed
    except (yaml.YAMLError, ValueError) as failed:
        raise error(f"{what} is not YAML: {shown(failed)}") from failed
    except RecursionError as failed:
        raise error(f"{what} is nested too deep") from failed


def read_xml(
    path: Path | str,
    what: str = "file",
    maximum: int = 64 * MB,
    error: type[XtdroneError] = FileError,
) -> Element:
    """The root element (lxml's) of an XML file; arguments and errors as of read_bytes().

    Raises:
        XtdroneError: As read_bytes() and parse_xml().
    """
    return parse_xml(read_bytes(path, what, maximum, error), str(path), error)


def parse_xml(
    data: bytes,
    name: str,
    error: type[XtdroneError] = FileError,
    **options: Any,  # lxml's parser has no types
) -> Element:
    """The root element (lxml's) of a document: elements only, no comments, no entities of its own.

    Comments may hold hyphens, which XML forbids: Gazebo's TinyXML ends a comment at the first -->.

    Args:
        data: The document.
        name: Name of its file, for messages.
        error: Class of the errors.
        **options: Further ones of lxml's parser.

    Raises:
        XtdroneError: Malformed XML, or a DOCTYPE.
    """
    from lxml import etree  # here, so that what reads no XML needs none

    try:
        root = etree.fromstring(
            without_comments(data.removeprefix(codecs.BOM_UTF8)),
            etree.XMLParser(
                remove_comments=True,
                remove_pis=True,
                resolve_entities=False,
                no_network=True,
                **options,
            ),
            base_url=name,
        )
    except etree.XMLSyntaxError as failed:
        raise error(f"{name}:{failed.lineno}: not well-formed XML: {failed.msg}") from failed
    if root is None:
        raise error(f"{name}: not well-formed XML: it has no element")
    described: Any = root.getroottree().docinfo
    if described.doctype:
        raise error(f"{name}: has a DOCTYPE: take it out, and write its entities out")
    return root


def without_comments(data: bytes) -> bytes:
    """An XML document in which blanks stand for the comments; its lines keep their numbers."""
    return _COMMENT.sub(
        lambda found: _PRINTED.sub(b" ", found[0]) if found[0].startswith(b"<!--") else found[0],
        data,
    )


def open_zip(
    path: Path | str,
    what: str = "file",
    maximum: int = 1024 * MB,
    error: type[XtdroneError] = FileError,
) -> zipfile.ZipFile:
    """A zip archive, also of NumPy's arrays, that does not unpack to more than `most` bytes.

    Raises:
        XtdroneError: As read_bytes(), or it is no archive, or a larger one.
    """
    data = read_bytes(path, what, maximum, error)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except DAMAGED as failed:
        raise error(f"cannot read {what} '{shown(path)}': {failed}") from failed
    if sum(info.file_size for info in archive.infolist()) > maximum:
        raise error(
            f"cannot read {what} '{shown(path)}': it unpacks to more than {maximum / MB:g} MB"
        )
    return archive


def check_keys(
    data: object, what: str, required: Iterable[str] = (), error: type[XtdroneError] = FileError
) -> dict[str, Any]:
    """Plain data that has to be a mapping with some keys.

    Raises:
        XtdroneError: It is none, or lacks one of them.
    """
    if not isinstance(data, dict):
        raise error(f"{what} is {shown(data)!r}: it has to be a mapping")
    for name in required:
        if name not in data:
            raise error(f"{what} has no '{name}'")
    return data


def _without_waiting(path: str, flags: int) -> int:
    """Opens a FIFO, too, at once, and not only when somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_kind(mode: int, path: Path | str, what: str, error: type[XtdroneError]) -> None:
    kind = kind_of(mode)
    if kind:
        raise error(f"cannot read {what} '{shown(path)}': it is {kind}, give a file")


def _check_depth(data: object, depth: int = 0) -> None:
    """Refuses data that is nested too deep."""
    if depth > _DEPTH:
        raise RecursionError
    for value in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        _check_depth(value, depth + 1)


def _check_nodes(top: "yaml.Node", resolver: "yaml.resolver.Resolver") -> None:
    """Refuses YAML that is no plain data.

    That is circles, keys that are no text or appear twice, tags, dates, and references that expand
    to too much.
    """
    import yaml

    sizes: dict[int, int] = {}  # values that a node expands to; 0 while it is counted

    def size(node: yaml.Node) -> int:
        if sizes.get(id(node)) == 0:
            raise ValueError(f"line {_line(node)} contains itself")
        if id(node) in sizes:
            return sizes[id(node)]
        sizes[id(node)] = 0
        total = 1
        if isinstance(node, yaml.ScalarNode):
            _check_scalar(node, resolver.resolve(yaml.ScalarNode, node.value, (True, False)))
        elif node.tag not in (_YAML + "map", _YAML + "seq"):
            raise ValueError(f"the tag {shown(node.tag)} in line {_line(node)} is not known here")
        elif isinstance(node, yaml.MappingNode):
            _check_keys(node)
            total += sum(size(part) for pair in node.value for part in pair)
        else:
            total += sum(map(size, node.value))
        if total > _VALUES:
            raise ValueError(f"its references expand to more than {_VALUES} values")
        sizes[id(node)] = total
        return total

    size(top)


def _check_scalar(node: "yaml.ScalarNode", plain: str) -> None:
    """Refuses a scalar whose tag is not the one that its text has without it."""
    if node.tag not in (plain, _YAML + "str"):
        raise ValueError(f"the tag {shown(node.tag)} in line {_line(node)} is not known here")
    if node.tag == _YAML + "timestamp":
        raise ValueError(f"{shown(node.value)} in line {_line(node)} is a date: put it in quotes")


def _check_keys(node: "yaml.MappingNode") -> None:
    import yaml

    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError(f"the key in line {_line(key)} is no text")
        if key.value in seen and key.tag != _YAML + "merge":
            raise ValueError(f"'{shown(key.value)}' appears twice, again in line {_line(key)}")
        seen.add(key.value)


def _line(node: "yaml.Node") -> int:
    return int(node.start_mark.line) + 1
