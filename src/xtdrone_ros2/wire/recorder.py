"""Records topics into a bag of rosbag2, in the process that publishes them: nothing is sent twice.

Times are simulated. A disk that takes no more ends the recording, not the flight.
"""

import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer

from ..errors import Ros2Error
from .quality import Quality
from .types import Types

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
# Version of metadata.yaml.
_VERSIONS: dict[str, Literal[8, 9]] = {"humble": 8, "jazzy": 9}
_FOREVER = QosTime(2147483647, 4294967295)


class Recorder:
    """A bag that is being written.

    Attributes:
        now_us: Simulated time [us], to be kept up to date.
    """

    def __init__(
        self, path: Path, storage: str, topics: str, types: Types, warn: Callable[[str], None]
    ):
        """Begins a bag.

        Args:
            path: Folder of the bag, which must not exist.
            storage: One of STORAGES.
            topics: Regular expression of whole names: what is recorded.
            types: Types of the messages.
            warn: Called with a line if the recording ends early.

        Raises:
            Ros2Error: It cannot be written, or the expression is none.
        """
        try:
            self._pattern = re.compile(topics)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = Writer(
                path, version=_VERSIONS[types.distribution], storage_plugin=STORAGES[storage]
            )
            self._writer.open()
        except re.error as error:
            raise Ros2Error(f"ros2_topics '{topics}' is no regular expression: {error}") from error
        except Exception as error:  # the disk's, or the storage library's
            raise Ros2Error(f"cannot record into '{path}': {error}") from error
        self.now_us = 0
        self._types, self._warn = types, warn
        self._open = True
        self._lock = threading.Lock()
        self._connections: dict[str, Connection] = {}

    def tap(self, topic: str, kind: str, quality: Quality) -> Callable[[bytes], None] | None:
        """Returns a function that records a topic's messages; None if it is not recorded.

        Args:
            topic: Name of the topic.
            kind: Type of the topic.
            quality: QoS that the publisher offers.
        """
        if not self._pattern.fullmatch(topic):
            return None
        connection = self._connections.get(topic)
        if connection is None:
            connection = self._connections[topic] = self._writer.add_connection(
                topic, kind, typestore=self._types.store, offered_qos_profiles=[_profile(quality)]
            )
        return lambda data: self._write(connection, data)

    def _write(self, connection: Connection, data: bytes) -> None:
        with self._lock:
            if not self._open:
                return
            try:
                self._writer.write(connection, self.now_us * 1000, data)
            except Exception as error:  # the disk's, or the storage library's
                self._open = False
                self._warn(f"the recording ends at {self.now_us * 1e-6:.2f} s: {error}")

    def close(self) -> None:
        """Completes the bag."""
        with self._lock:
            self._open = False
            with contextlib.suppress(Exception):  # a failure to write was reported
                self._writer.close()


def _profile(quality: Quality) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        quality.depth,
        QosReliability.RELIABLE if quality.reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if quality.latched else QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        False,
    )
