"""Results of a team: one JSON file, signed, that can be made again bit for bit."""

import hashlib
import hmac
import inspect
import json
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from xtdrone_core import files
from xtdrone_core.errors import shown

from .declarations import CHALLENGES
from .errors import ChallengeError
from .judge import team_class
from .programs import program_of

_FORMAT = "xtdrone challenge result 1"
_PACKAGES = ("xtdrone", "numpy", "numba", "mujoco")
_KEYS = ("format", "challenge", "team", "flights", "score", "signature")


def seeds_of(challenge: str, count: int, key: bytes | None) -> list[int]:
    """Returns the seeds of the flights: 1, 2, ... or, with an organiser's key, those it draws."""
    if key is None:
        return list(range(1, count + 1))
    digests = [
        hmac.digest(key, f"{challenge} {number}".encode(), "sha256") for number in range(count)
    ]
    return [int.from_bytes(digest[:4], "big") >> 1 for digest in digests]


def compose(
    challenge: str, team: str, flights: Sequence[dict[str, Any]], key: bytes | None
) -> dict[str, Any]:
    """Makes the result of judged flights, signed by a key, else by a checksum."""
    rules = inspect.getsource(inspect.getmodule(CHALLENGES.load(challenge)))  # type: ignore[arg-type]
    content: dict[str, Any] = {
        "format": _FORMAT,
        "challenge": challenge,
        "rules": _digest(rules.encode()),
        "team": team,
        "source": _digest(b"".join(path.read_bytes() for path in _sources(team))),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "flights": list(flights),
        "score": round(sum(flight["points"] for flight in flights) / max(len(flights), 1), 3),
    }
    return {**content, "signature": _signature(content, key)}


def _sources(team: str) -> Sequence[Path]:
    """The files of a team: its Agent's, or those that its command names."""
    program = program_of(team)
    return [Path(inspect.getfile(team_class(team)))] if program is None else program.files


def again(claimed: dict[str, Any], flown: dict[str, Any]) -> tuple[list[str], str]:
    """Compares a result with that of the same flights flown again.

    Returns:
        Names of what is not as claimed, and what was found, in words.
    """
    names = [name for name in flown if flown[name] != claimed.get(name) and name != "signature"]
    if program_of(claimed["team"]) is None:
        return names, "as claimed, bit for bit"
    return (
        [name for name in names if name not in ("flights", "score")],
        f"rules, source and versions as claimed; score {flown['score']:.1f}, claimed "
        f"{claimed['score']:.1f}: a program is paced by the wall clock, so its flights differ and "
        "are not verified bit for bit",
    )


def write(path: Path, result: dict[str, Any]) -> None:
    """Writes a result; the same result gives the same bytes."""
    path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def read(path: Path | str) -> dict[str, Any]:
    """Reads a result.

    Raises:
        ChallengeError: It is none.
    """
    data = files.read_json(path, "result", error=ChallengeError)
    found = files.check_keys(data, f"result '{shown(path)}'", _KEYS, ChallengeError)
    if found["format"] != _FORMAT:
        raise ChallengeError(
            f"'{shown(path)}' is no result of a challenge: give the file that `xtdrone challenge "
            "run` has written"
        )
    return found


def is_signed(result: dict[str, Any], key: bytes | None) -> bool:
    """Whether the signature of a result fits its content and the key."""
    content = {name: value for name, value in result.items() if name != "signature"}
    return hmac.compare_digest(str(result["signature"]), _signature(content, key))


def _signature(content: dict[str, Any], key: bytes | None) -> str:
    text = json.dumps(content, sort_keys=True).encode()
    return (
        "sha256:" + _digest(text)
        if key is None
        else "hmac:" + hmac.digest(key, text, "sha256").hex()
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
