"""Which vehicles can follow a leader."""

from collections.abc import Iterable

from .errors import FormationError


def require_hovering(kinds: Iterable[tuple[str, str]]) -> None:
    """Checks that followers can hold a slot.

    Args:
        kinds: Name and kind of each follower, such as ("plane_1", "plane").

    Raises:
        FormationError: One of them is neither a multirotor nor a VTOL.
    """
    for name, kind in kinds:
        if kind not in ("multirotor", "VTOL"):
            raise FormationError(
                f"{name} is a {kind}, which cannot hold a slot beside its leader: "
                "give followers that hover; only the leader may be of any type"
            )
