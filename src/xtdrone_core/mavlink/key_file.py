"""The key of MAVLink 2 message signing, from a file that only its owner can read."""

import argparse
import codecs
import hashlib
import os
import stat
from pathlib import Path

from .. import files
from ..errors import ScenarioError, shown

_LARGEST = 4096  # [bytes]


def read_key(path: Path | str) -> bytes:
    """The key of a passphrase in a file: SHA-256 of its first line, as MAVProxy and others do it.

    Raises:
        ScenarioError: It cannot be read, others may read it, or it holds no passphrase.
    """
    path = Path(path).expanduser()
    data = files.read_bytes(path, "key", _LARGEST, ScenarioError)
    state = path.stat()
    mode = stat.S_IMODE(state.st_mode)
    if mode != 0o600 or state.st_uid != os.geteuid():
        raise ScenarioError(
            f"key '{shown(path)}' has mode {mode:o} and owner {state.st_uid}: it "
            f"must be yours alone: chmod 600 '{shown(path)}'"
        )
    passphrase = data.removeprefix(codecs.BOM_UTF8).split(b"\n", 1)[0].rstrip(b"\r")
    if not passphrase:
        raise ScenarioError(
            f"key '{shown(path)}' holds no passphrase: write one into its first line"
        )
    return hashlib.sha256(passphrase).digest()


def add_option(parser: argparse.ArgumentParser) -> None:
    """--key of a program that speaks to vehicles of a running simulation."""
    parser.add_argument(
        "--key",
        metavar="FILE",
        default="",
        help="file with the key of the simulation, where it has one",
    )
