"""Registration at the ROS master, and services."""

import contextlib
import xmlrpc.client
from collections.abc import Iterator
from typing import Any

import rosgraph
import rospy
from rospy.impl.registration import Registration, RegistrationListener, get_registration_listeners
from rospy.impl.tcpros_base import TCPROSTransport

_TOGETHER = 1000  # registrations in one request to the master


class _Collector(RegistrationListener):  # type: ignore[misc]  # rospy has no types
    """Collects what a node registers: name, type or a service's address, and Registration."""

    def __init__(self) -> None:
        self.added: list[tuple[str, str, str]] = []

    def reg_added(self, resolved_name: str, data_type_or_uri: str, reg_type: str) -> None:
        """Keeps what is registered; see RegistrationListener."""
        self.added.append((resolved_name, data_type_or_uri, reg_type))


@contextlib.contextmanager
def registered_together() -> Iterator[None]:
    """Registers what the context declares with few requests; rospy sends one each, of 3 ms."""
    listeners, collector = get_registration_listeners(), _Collector()
    with listeners.lock:
        before, listeners.listeners = listeners.listeners, [collector]
    try:
        yield
    finally:
        with listeners.lock:
            listeners.listeners = before
    master = xmlrpc.client.ServerProxy(rosgraph.get_master_uri())
    me, address = rospy.get_name(), rospy.core.get_node_uri()
    for k in range(0, len(collector.added), _TOGETHER):
        added, calls = collector.added[k : k + _TOGETHER], xmlrpc.client.MultiCall(master)
        for name, kind, sort in added:
            register = {
                Registration.PUB: calls.registerPublisher,
                Registration.SUB: calls.registerSubscriber,
                Registration.SRV: calls.registerService,
            }[sort]
            register(me, name, kind, address)
        answers: Iterator[Any] = iter(calls())  # XML-RPC has no types
        for (name, _, sort), (_, _, publishers) in zip(added, answers):
            if sort == Registration.SUB:
                for listener in before:
                    listener.publisher_update(name, publishers)


class Service(rospy.Service):  # type: ignore[misc]  # rospy has no types
    """A service whose ServiceException reaches the caller without rospy's words before it."""

    def _write_service_error(self, transport: TCPROSTransport, err_msg: str) -> None:
        super()._write_service_error(
            transport, err_msg.removeprefix("service cannot process request: ")
        )
