"""Options of a scenario that autopilots and stations declare beside their own code.

A declaration is a frozen dataclass whose fields are made by option(). An entry point in the group
`xtdrone.autopilot_options` or `xtdrone.stations` names it. Its module imports little: it is loaded
with each command line.
"""

import dataclasses
import functools
import logging
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from .. import registry
from ..errors import ScenarioError
from ..runs.ports import Ports
from .options import Option, checked, default_of, options_of

_log = logging.getLogger(__name__)
Settings = TypeVar("Settings", bound="DeclaredOptions")


class FleetSettings(Protocol):
    """The part of a scenario that the check of a declaration may read."""

    @property
    def n(self) -> int:
        """Number of vehicles."""

    @property
    def autopilots(self) -> tuple[str, ...]:
        """The autopilot of each vehicle."""

    @property
    def flown_by(self) -> str:
        """The autopilots in words."""

    @property
    def ports(self) -> Ports:
        """The ports of the vehicles."""


class DeclaredOptions:
    """Base class of a declaration."""

    def check(self, fleet: FleetSettings) -> None:
        """Refuses values that the fleet cannot be flown with.

        Raises:
            ScenarioError: Such a value.
        """


class AutopilotOptions(DeclaredOptions):
    """Base class of the declaration of an autopilot, which has the autopilot's name.

    Attributes:
        OWN_PARTS: Parts of the embedded flight stack that it has itself, so that no scenario can
            replace them.
        PX4_MODES: Whether its flight modes are PX4's.
        REAL_PX4: Whether it is a real PX4, on which programs have the off-board link alone.
        SIGNED_LINKS: Whether its links can be signed, and be open to other machines.
    """

    OWN_PARTS: ClassVar[tuple[str, ...]] = ()
    PX4_MODES: ClassVar[bool] = True
    REAL_PX4: ClassVar[bool] = False
    SIGNED_LINKS: ClassVar[bool] = False


@functools.cache
def autopilot_options() -> dict[str, type[AutopilotOptions]]:
    """The declarations of autopilots, by the names of the autopilots."""
    return _loaded(registry.AUTOPILOT_OPTIONS)


@functools.cache
def stations() -> dict[str, type[DeclaredOptions]]:
    """The stations by name."""
    return _loaded(registry.STATIONS)


def options_of_autopilot(name: str) -> type[AutopilotOptions]:
    """The declaration of an autopilot; the base class for one without any."""
    return autopilot_options().get(name, AutopilotOptions)


def declarations() -> tuple[type[DeclaredOptions], ...]:
    """All declarations."""
    return *autopilot_options().values(), *stations().values()


def table_of(
    classes: Mapping[str, type[DeclaredOptions]],
) -> dict[str, tuple[dataclasses.Field[Any], Option]]:
    """Field and Option of each option of some declarations, by name.

    Raises:
        ScenarioError: Two of them declare one name in different ways.
    """
    table: dict[str, tuple[dataclasses.Field[Any], Option]] = {}
    for owner, cls in classes.items():
        for name, (field, declared) in options_of(cls).items():
            if table.setdefault(name, (field, declared))[1] != declared:
                raise ScenarioError(
                    f"'{owner}' declares option '{name}' unlike another autopilot or station: "
                    "give it a name of its own"
                )
    return table


def settings_of(
    values: Mapping[str, Any], former: tuple[DeclaredOptions, ...] = ()
) -> tuple[DeclaredOptions, ...]:
    """The declarations with their values.

    Args:
        values: Values by the names of options.
        former: Declarations with the values of the options that are not given.

    Raises:
        ScenarioError: A value that is not allowed.
        TypeError: A name that no declaration has.
    """
    known: set[str] = set()
    settings = []
    for cls in declarations():
        before = next((each for each in former if type(each) is cls), None)
        given = {}
        for name, (field, declared) in options_of(cls).items():
            known.add(name)
            usual = default_of(field) if before is None else getattr(before, name)
            given[name] = checked(name, field.type, declared, values.get(name, usual))
        settings.append(cls(**given))
    for name in values:
        if name not in known:
            raise TypeError(f"Scenario() got an unexpected keyword argument '{name}'")
    return tuple(settings)


def _loaded(group: registry.Group) -> dict[str, Any]:
    """The declarations of a group. One that cannot be loaded leaves the others usable."""
    classes = {}
    for name in group.table():
        try:
            classes[name] = group.load(name)
        except ScenarioError as error:
            _log.warning("warning: %s; its options are left out", error)
    return classes
