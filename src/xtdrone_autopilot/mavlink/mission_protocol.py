"""MAVLink's mission protocol: upload, download, clear and errors, for each vehicle.

An upload is taken whole or not at all: items are collected and checked one by
one, and replace the stored ones only when the last has come and all agree.
Missions, geofences and rally points go the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ..navigation.mission import Missions
from ..navigation.mission_items import (
    ALL,
    CAPACITY,
    FENCE,
    FENCE_ITEMS,
    MISSION,
    TYPE_NAME,
    Item,
    ItemError,
    check_all,
    check_item,
    of_message,
    opaque_id,
)
from ..state.clock import StepClock
from ..state.handlers import receives
from .links import Address, Link

RETRY_US = 500_000  # a missing item is requested again after this time [us]
GIVE_UP_US = 20_000_000  # an upload is forgotten after this silence [us]
BUSY_US = 5_000_000  # another client may upload after this silence, as in PX4 [us]
ACCEPTED = mavlink.MAV_MISSION_ACCEPTED


@dataclass
class _Upload:
    """One upload in progress."""

    link: Link
    address: Address | None  # sender's address, for repeated requests
    partner: tuple[int, int]  # system and component id of the sender
    kind: int
    count: int
    items: list[Item]
    heard_t: int  # when the sender last spoke [us]
    requested_t: int  # time of the last item request [us]


class MissionProtocol:
    """The vehicle's side of the mission protocol, for a fleet."""

    def __init__(
        self,
        store: Missions,
        reply: Callable[..., None],
        say: Callable[..., None],
        current: Callable[[int], int],
        clock: StepClock,
    ) -> None:
        """A protocol without a transfer in progress.

        Args:
            store: Has items(i, kind) -> list and replace(i, kind, items).
            reply: reply(link, message) sends to the sender of the message being handled.
            say: say(i, severity, text) sends a STATUSTEXT.
            current: current(i) -> number of the item being flown.
            clock: Time of the flight stack.
        """
        self._store, self._reply, self._say, self._current = store, reply, say, current
        self._clock = clock
        self._uploads: dict[int, _Upload] = {}  # vehicle -> _Upload

    def step(self) -> None:
        """Asks again for items that did not come; call it now and then."""
        t_us = self._clock.t_us
        for i, upload in list(self._uploads.items()):
            if t_us - upload.heard_t > GIVE_UP_US:
                del self._uploads[i]
                self._say(
                    i,
                    mavlink.MAV_SEVERITY_WARNING,
                    f"Upload of {TYPE_NAME[upload.kind]} given up: item "
                    f"{len(upload.items)} did not come",
                )
            elif t_us - upload.requested_t >= RETRY_US:
                self._ask(upload)

    def _partner(self, message: MavlinkMessage) -> tuple[int, int]:
        return message.get_srcSystem(), message.get_srcComponent()

    def _is_of(self, upload: _Upload, link: Link, message: MavlinkMessage) -> bool:
        """Returns whether a message is from the sender of an upload, by its ids and address."""
        return upload.partner == self._partner(message) and upload.address == link.sender

    def _answer(
        self,
        link: Link,
        message: MavlinkMessage,
        result: int,
        kind: int,
        items: Sequence[Item] = (),
    ) -> None:
        self._reply(
            link,
            mavlink.MAVLink_mission_ack_message(
                *self._partner(message), result, kind, opaque_id(items)
            ),
        )

    def _refuse(self, link: Link, message: MavlinkMessage, kind: int, error: ItemError) -> None:
        self._say(link.vehicle, mavlink.MAV_SEVERITY_WARNING, f"Upload refused: {error}")
        self._answer(link, message, error.result, kind)

    def _ask(self, upload: _Upload) -> None:
        upload.requested_t = self._clock.t_us
        upload.link.sender = upload.address
        self._reply(
            upload.link,
            mavlink.MAVLink_mission_request_int_message(
                *upload.partner, len(upload.items), upload.kind
            ),
        )

    @receives("MISSION_COUNT")
    def _count(self, link: Link, message: MavlinkMessage) -> None:
        i, kind = link.vehicle, message.mission_type
        running = self._uploads.get(i)
        if kind not in CAPACITY:
            self._answer(link, message, mavlink.MAV_MISSION_UNSUPPORTED, kind)
        elif (
            running is not None
            and not self._is_of(running, link, message)
            and self._clock.t_us - running.heard_t <= BUSY_US
        ):
            self._refuse(
                link,
                message,
                kind,
                ItemError(mavlink.MAV_MISSION_ERROR, "another upload is in progress, try again"),
            )
        elif message.count > CAPACITY[kind]:
            self._refuse(
                link,
                message,
                kind,
                ItemError(
                    mavlink.MAV_MISSION_NO_SPACE,
                    f"{message.count} items are too many, room is for {CAPACITY[kind]}",
                ),
            )
        elif message.count == 0:
            self._uploads.pop(i, None)
            self._store.replace(i, kind, [])
            self._answer(link, message, ACCEPTED, kind)
        else:
            upload = _Upload(
                link,
                link.sender,
                self._partner(message),
                kind,
                message.count,
                [],
                self._clock.t_us,
                self._clock.t_us,
            )
            self._uploads[i] = upload
            self._ask(upload)

    @receives("MISSION_ITEM_INT", "MISSION_ITEM")
    def _item(self, link: Link, message: MavlinkMessage) -> None:
        i = link.vehicle
        upload = self._uploads.get(i)
        if upload is None or not self._is_of(upload, link, message):
            self._answer(link, message, mavlink.MAV_MISSION_ERROR, message.mission_type)
            return
        upload.heard_t = self._clock.t_us
        if message.mission_type != upload.kind:
            self._answer(link, message, mavlink.MAV_MISSION_ERROR, message.mission_type)
            return
        if message.seq != len(upload.items):
            if message.seq > len(upload.items):  # one was lost: request it again, keep the others
                self._ask(upload)
            return
        item = of_message(message)
        try:
            check_item(upload.kind, message.seq, item, self._store.is_for_vtol(i))
            upload.items.append(item)
            if len(upload.items) < upload.count:
                self._ask(upload)
                return
            check_all(upload.kind, upload.items)
        except ItemError as error:
            del self._uploads[i]
            self._refuse(link, message, upload.kind, error)
            return
        del self._uploads[i]
        self._store.replace(i, upload.kind, upload.items)
        if upload.kind == FENCE:
            self._say_what_bounds_nothing(i, upload.items)
        self._answer(link, message, ACCEPTED, upload.kind, upload.items)

    def _say_what_bounds_nothing(self, i: int, items: Sequence[Item]) -> None:
        found = [
            f"{k} ({item.name})" for k, item in enumerate(items) if item.command not in FENCE_ITEMS
        ]
        if found:
            self._say(
                i,
                mavlink.MAV_SEVERITY_WARNING,
                f"Geofence: {len(found)} of {len(items)} items bound nothing and are "
                f"ignored, first item {found[0]}",
            )

    @receives("MISSION_REQUEST_LIST")
    def _list(self, link: Link, message: MavlinkMessage) -> None:
        kind = message.mission_type
        if kind not in CAPACITY:
            self._answer(link, message, mavlink.MAV_MISSION_UNSUPPORTED, kind)
            return
        items = self._store.items(link.vehicle, kind)
        self._reply(
            link,
            mavlink.MAVLink_mission_count_message(
                *self._partner(message), len(items), kind, opaque_id(items)
            ),
        )

    @receives("MISSION_REQUEST_INT", "MISSION_REQUEST")
    def _request(self, link: Link, message: MavlinkMessage) -> None:
        kind, seq, i = message.mission_type, message.seq, link.vehicle
        items = self._store.items(i, kind) if kind in CAPACITY else []
        if seq >= len(items):
            self._answer(link, message, mavlink.MAV_MISSION_INVALID_SEQUENCE, kind)
            return
        item = items[seq]
        current = int(kind == MISSION and seq == self._current(i))
        if message.get_type() == "MISSION_REQUEST_INT":
            make, x, y = mavlink.MAVLink_mission_item_int_message, item.x, item.y
        else:
            make, x, y = mavlink.MAVLink_mission_item_message, item.x * 1e-7, item.y * 1e-7
            if item.frame == mavlink.MAV_FRAME_MISSION:
                x, y = float(item.x), float(item.y)
        self._reply(
            link,
            make(
                *self._partner(message),
                seq,
                item.frame,
                item.command,
                current,
                item.autocontinue,
                *item.params,
                x,
                y,
                item.z,
                kind,
            ),
        )

    @receives("MISSION_ACK")
    def _ack(self, link: Link, message: MavlinkMessage) -> None:
        upload = self._uploads.get(link.vehicle)
        if upload is not None and self._is_of(upload, link, message) and message.type != ACCEPTED:
            del self._uploads[link.vehicle]  # the sender cancelled; the stored items are kept

    @receives("MISSION_CLEAR_ALL")
    def _clear(self, link: Link, message: MavlinkMessage) -> None:
        kind = message.mission_type
        if kind not in CAPACITY and kind != ALL:
            self._answer(link, message, mavlink.MAV_MISSION_UNSUPPORTED, kind)
            return
        self._uploads.pop(link.vehicle, None)
        for each in CAPACITY if kind == ALL else (kind,):
            self._store.replace(link.vehicle, each, [])
        self._answer(link, message, ACCEPTED, kind)
