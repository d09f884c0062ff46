"""SETUP_SIGNING: another key for a vehicle whose links are guarded by one."""

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage
from xtdrone_core.mavlink.signing import AHEAD, now

from ..state.handlers import receives
from ..state.outbox import NOTICE, WARNING, Outbox
from .links import Link, Links


class SetupSigning:
    """Changes the key of a vehicle's links while the simulation runs.

    It comes signed with the present key, or not at all. Without a key it is ignored, as PX4 1.15
    does: otherwise any program on this machine could lock the others out. It cannot turn signing
    off either, since the scenario asks for it.
    """

    def __init__(self, status: np.ndarray, outbox: Outbox, links: Links) -> None:
        """status: (N,) of VEHICLE_STATUS."""
        self._status, self._outbox, self._links = status, outbox, links

    @receives("SETUP_SIGNING")
    def _set_up(self, link: Link, message: MavlinkMessage) -> None:
        i = link.vehicle
        why = self._refusal(link, message)
        if why:
            self._outbox.say(i, WARNING, f"SETUP_SIGNING refused: {why}")
            return
        self._outbox.say(i, NOTICE, "The key of the links was changed")  # signed with the old one
        for of_kind in self._links.by_kind:
            if of_kind[i].signer is not None:
                of_kind[i].signer.set_key(bytes(message.secret_key), message.initial_timestamp)

    def _refusal(self, link: Link, message: MavlinkMessage) -> str:
        if link.signer is None:
            return "this link has no key; start the simulation with one"
        if message.target_system != link.system:
            return "it is not meant for this vehicle alone"
        if self._status["armed"][link.vehicle]:
            return "disarm first"
        if not any(message.secret_key):
            return "signing cannot be turned off; start the simulation without a key"
        if message.initial_timestamp > now() + AHEAD:
            return "its time is more than a day ahead"
        return ""
