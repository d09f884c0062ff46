"""Vehicles as SDF: numbers out of range, entities, processing instructions, chains of frames."""

import copy
import os
import random
from pathlib import Path

from lxml import etree

from . import commands, samples
from .common import EXTREMES, Kind, mutated_bytes, mutated_text, number, text

_CHAIN = (
    "".join(
        f'<frame name="f{k}"><pose relative_to="f{k + 1}">0 0 0 0 0 0</pose></frame>'
        for k in range(3000)
    )
    + '<frame name="f3000"/>'
)
_BOMB = (
    '<!DOCTYPE sdf [<!ENTITY a0 "x">'
    + "".join(f'<!ENTITY a{k} "&a{k - 1};&a{k - 1};">' for k in range(1, 40))
    + "]>"
)


def odd(source: str) -> list[str]:
    """A document with each of the things that XML allows and nobody expects."""
    head, body = source.split("<sdf", 1)
    inside = body.index(">") + 1
    first = body.index(">", inside) + 1  # in the model or world
    return [
        head + "<?php x ?><sdf" + body,
        f"{head}<sdf{body[:first]}<?go now?>{body[first:]}",
        f"{_BOMB}<sdf{body[:first]}&a39;{body[first:]}",
        f'<!DOCTYPE sdf [<!ENTITY f SYSTEM "/etc/passwd">]><sdf{body[:first]}&f;{body[first:]}',
        f"{head}<sdf{body[:first]}{_CHAIN}{body[first:]}",
        f"{head}<sdf{body[:first]}<![CDATA[x]]>{body[first:]}",
        f"{head}<sdf{body[:first]}{'<a>' * 3000}{'</a>' * 3000}{body[first:]}",
        f'<?xml version="1.0" encoding="nonsense"?><sdf{body}',
        f'<?xml version="1.0" encoding="utf-16"?><sdf{body}',
        f"{head}<sdf{body[:first]}<include><uri>{'x' * 300}</uri></include>{body[first:]}",
        f"{head}<sdf{body[:first]}<include><uri>fifo</uri></include>{body[first:]}",
        f"{head}<sdf{body[:first]}<include><uri>.</uri></include>{body[first:]}",
        source.replace("<pose>0 ", "<pose>1e308 "),
    ]


def mutated(rng: random.Random, source: str) -> str | bytes:
    """A document after changes of its elements, seldom of its words or bytes."""
    choice = rng.random()
    if choice < 0.15:
        return mutated_text(rng, source)
    if choice < 0.3:
        return mutated_bytes(rng, source.encode())
    root = etree.fromstring(source.encode())
    for _ in range(rng.choice((1, 1, 2, 5))):
        _change(rng, rng.choice(list(root.iter("*"))))
    return etree.tostring(root)


def _change(rng, element):
    parent, action = element.getparent(), rng.randrange(7)
    if action < 3:
        words = (element.text or "").split()
        if words and rng.random() < 0.8:
            words[rng.randrange(len(words))] = str(number(rng))
            element.text = " ".join(words)
        else:
            element.text = _plain(rng.choice((text(rng), str(rng.choice(EXTREMES)))))
    elif action == 3 and element.attrib:
        element.set(rng.choice(list(element.attrib)), _plain(text(rng)))
    elif action == 4 and parent is not None:
        parent.remove(element)
    elif action == 5 and parent is not None:
        for _ in range(rng.choice((1, 1, 30))):
            parent.append(copy.deepcopy(element))
    elif action == 6 and parent is not None:
        rng.choice(list(element.getroottree().iter("*"))).append(copy.deepcopy(element))


def _plain(words):
    """A text without what XML cannot hold."""
    return "".join(c if c.isprintable() else "?" for c in words)


class Sdf(Kind):
    """The text of an SDF file, read by `xtdrone sim`.

    Attributes:
        sources: Paths of the valid files, from the project's folder.
        given: Name of the changed file.
        option: Of `xtdrone sim`, and its value.
    """

    sources: tuple[str, ...] = ()
    given = ""
    option: tuple[str, str] = ("", "")

    def prepare(self):
        commands.load()
        self._texts = [(samples.ROOT / source).read_text() for source in self.sources]
        self._odd = self.odd()

    def odd(self) -> list[str]:
        """The inputs that are tried first."""
        raise NotImplementedError

    def start(self, folder: Path):
        os.environ["XTDRONE_RUNS"] = str(folder / "runs")
        samples.put_samples(folder)
        commands.cut_flights()

    def make(self, rng, index):
        if index < len(self._odd):
            return self._odd[index]
        return mutated(rng, rng.choice(self._texts))

    def try_one(self, value):
        samples.write(self.given, value)
        commands.run(["sim", *self.option, "--no_run_folder", "--duration", "0.1"])


class Vehicle(Sdf):
    """The text of a vehicle's SDF."""

    sources = ("models/iris/model.sdf", "models/typhoon_h480/model.sdf")
    given, option = "given.sdf", ("--vehicle", "v=given.sdf")
    per_fork = 1000

    def odd(self):
        return [each for source in self._texts for each in odd(source)]


KIND = Vehicle
