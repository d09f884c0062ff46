"""A fleet over XTDrone's and MAVROS's topics: estimates in, set-points out."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xtdrone_core import ARM, KEEP, ControlError, Estimates, Mode, SetPoints
from xtdrone_core.contracts import Agent, GoalCounter, goals_missed
from xtdrone_core.errors import MISSED, XtdroneError
from xtdrone_core.modes import FROM_ROS_NAME, ROS_NAME
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_mavros import ros_serialisation

from .. import serialisation
from ..commands import progress
from ..declarations import TOPIC_PERIOD_US
from ..hovering import require_hovering
from .ros import Ros

_STANDBY = 3  # MAV_STATE from which on a vehicle can be armed
_ON_GROUND = 1  # MAV_LANDED_STATE
_HEALTH_US = 500_000  # simulated time between two questions about the vehicles [us]
_PATIENCE_US = 60_000_000  # simulated time without a position after which it is given up [us]
# XTDrone's velocity topics have no acceleration. PX4 commands gain * (velocity error) plus the
# acceleration feed-forward, so adding acceleration / gain to the velocity is equivalent
# (MPC_XY_VEL_P_ACC, MPC_Z_VEL_P_ACC) [1/s].
_VELOCITY_GAIN = np.array([1.8, 1.8, 4.0])


def end_simulation(client: ControlClient) -> str | None:
    """Stops the simulation, waits for its end, and returns its run folder (or None)."""
    folder = client.request("status")["folder"]
    client.request("stop")
    try:
        client.request("subscribe", truth=False)
        while True:
            client.next_time()
    except ControlError:
        return folder


class Listener:
    """Keeps the last serialised message of one topic of each vehicle."""

    def __init__(
        self,
        ros: Ros,
        names: Sequence[str],
        topic: str,
        kind: str,
        on_message: Callable[[int, bytes], None] | None = None,
    ) -> None:
        """Subscribes.

        Args:
            ros: The node.
            names: The vehicles' namespaces.
            topic: Name below V/mavros/.
            kind: Type of the messages.
            on_message: Called with the index of the vehicle and each message.
        """
        self.last: list[Any] = [None] * len(names)
        self._on_message = on_message
        for i, name in enumerate(names):
            ros.listen(f"{ros.mavros(name)}/{topic}", kind, functools.partial(self._keep, i))

    def _keep(self, i: int, data: bytes) -> None:
        self.last[i] = data
        if self._on_message is not None:
            self._on_message(i, data)

    @property
    def complete(self) -> bool:
        """Whether a message of every vehicle has been received."""
        return None not in self.last


class RosFleet:
    """All vehicles of a fleet. wait() paces the caller by the time stamps of the vehicles.

    Attributes:
        ros: The node.
        names: The vehicles' namespaces.
        n: Number of vehicles.
    """

    def __init__(self, ros: Ros, names: Sequence[str], info: bool = True) -> None:
        """Subscribes and advertises.

        Args:
            ros: The node.
            names: The vehicles' namespaces.
            info: Whether to subscribe to landed states as well.
        """
        n = len(names)
        self.ros, self.names, self.n = ros, names, n
        self._tick = threading.Condition()
        self._t_us = 0
        self._due_us = 0
        self._since_us: int | None = None  # when a vehicle was heard without a position
        self._odometry = Listener(
            ros, names, "local_position/odom", "nav_msgs/Odometry", self._on_odometry
        )
        self._state = Listener(ros, names, "state", "mavros_msgs/State")
        self._extended = (
            Listener(ros, names, "extended_state", "mavros_msgs/ExtendedState") if info else None
        )
        self._command = [ros.output(f"/xtdrone/{name}/cmd", "std_msgs/String") for name in names]
        self._set_point = {
            what: [ros.output(f"/xtdrone/{name}/cmd_{what}_enu", kind) for name in names]
            for what, kind in (
                ("pose", "geometry_msgs/Pose"),
                ("vel", "geometry_msgs/Twist"),
                ("accel", "geometry_msgs/Twist"),
            )
        }

    def _on_odometry(self, i: int, data: bytes) -> None:
        # A period ends with the message of the last vehicle, or, if that is late, with any other.
        t_us = serialisation.stamp(data)
        if t_us >= self._due_us and (i == self.n - 1 or t_us - self._due_us > TOPIC_PERIOD_US):
            with self._tick:
                self._t_us = t_us
                self._tick.notify()

    def wait(self, timeout: float = 0.5) -> int | None:
        """Returns the simulated time [us] of the next period; None after a time-out [s, wall]."""
        with self._tick:
            if self._t_us < self._due_us or self._t_us == 0:
                self._tick.wait(timeout)
            if self._t_us < self._due_us or self._t_us == 0:
                return None
            self._due_us = self._t_us + TOPIC_PERIOD_US
            return self._t_us

    def estimates(self, t_us: int) -> Estimates | None:
        """Returns estimates of the fleet; None before messages of all vehicles were received."""
        if not (self._odometry.complete and self._state.complete):
            return None
        table = np.array([sum(serialisation.odometry(data), ()) for data in self._odometry.last])
        pos, quat, vel, rate = table[:, 0:3], table[:, 3:7], table[:, 7:10], table[:, 10:13]
        armed = np.zeros(self.n, dtype=np.bool_)
        ready, landed = armed.copy(), armed.copy()
        mode = np.zeros(self.n, dtype=np.int8)
        for i, data in enumerate(self._state.last):
            connected, armed[i], name, status = serialisation.state(data)
            ready[i] = connected and status >= _STANDBY
            mode[i] = FROM_ROS_NAME.get(name, Mode.MANUAL)
        if self._extended is not None:
            landed[:] = [
                data is not None and serialisation.landed_state(data) == _ON_GROUND
                for data in self._extended.last
            ]
        return Estimates(t_us, pos, quat, rotate(quat, vel), rate, armed, landed, mode, ready)

    def periods(self) -> Iterator[tuple[int, Estimates]]:
        """Yields simulated time [us] and estimates of each period, until the node ends.

        Raises:
            XtdroneError: A vehicle that is there has had no position for a minute.
        """
        while not self.ros.ended():
            t_us = self.wait()
            estimates = None if t_us is None else self.estimates(t_us)
            if t_us is not None and estimates is not None:
                yield t_us, estimates
            else:
                self._give_up_without_positions()

    def _give_up_without_positions(self) -> None:
        lost = [name for name, last in zip(self.names, self._odometry.last) if last is None]
        stamps = [serialisation.stamp(data) for data in self._state.last if data is not None]
        if not (lost and stamps):
            return
        now_us = max(stamps)
        if self._since_us is None:
            self._since_us = now_us
        if now_us - self._since_us > _PATIENCE_US:
            raise XtdroneError(
                f"{', '.join(lost[:5])}: no position after {_PATIENCE_US * 1e-6:g} s of simulated "
                "time, so that it cannot be armed: its messages are in the run folder's console/"
            )

    def require_followers(self) -> None:
        """Checks that every vehicle but the first can hold a slot.

        Raises:
            FormationError: One cannot.
        """
        kinds = [(name, self.ros.kind(name)) for name in self.names[1:]]
        require_hovering((name, kind.value) for name, kind in kinds if kind is not None)

    def send_command(self, i: int, command: str) -> None:
        """Sends a command to one vehicle's communication node."""
        self._command[i].publish(ros_serialisation.text(command))

    def send(self, set_points: SetPoints) -> None:
        """Sends set-points and requests of the whole fleet; NaN is not sent."""
        for i in range(self.n):
            if set_points.mode[i] != KEEP:
                self.send_command(i, ROS_NAME[Mode(set_points.mode[i])])
            if set_points.arm[i] != KEEP:
                self.send_command(i, "ARM" if set_points.arm[i] == ARM else "DISARM")
        pos, vel, acc = (
            np.isfinite(values).all(axis=1)
            for values in (set_points.pos, set_points.vel, set_points.acc)
        )
        for i in np.flatnonzero(pos):
            half = 0.0 if np.isnan(set_points.yaw[i]) else 0.5 * set_points.yaw[i]
            self._set_point["pose"][i].publish(
                ros_serialisation.pose(set_points.pos[i], (0.0, 0.0, np.sin(half), np.cos(half)))
            )
        lead = set_points.vel + np.nan_to_num(set_points.acc) / _VELOCITY_GAIN
        for i in np.flatnonzero(vel & ~pos):
            self._set_point["vel"][i].publish(ros_serialisation.twist(lead[i]))
        for i in np.flatnonzero(acc & ~vel & ~pos):
            self._set_point["accel"][i].publish(ros_serialisation.twist(set_points.acc[i]))


def rotate(quat: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (N, 3) from body to world by quaternions (N, 4) xyzw."""
    u, w = quat[:, :3], quat[:, 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def run_agent(
    fleet: RosFleet, agent: Agent, before_step: Callable[[int], None] | None = None
) -> int:
    """Runs an Agent on a fleet until it is done or its node ends.

    Args:
        fleet: The fleet.
        agent: Any Agent.
        before_step: Called with the simulated time [us] before each step of the Agent.

    Returns:
        The exit status: MISSED if it is done and has missed some of its goals, else 0.
    """
    for t_us, estimates in fleet.periods():
        if before_step is not None:
            before_step(t_us)
        fleet.send(agent.step(t_us, estimates))
        if agent.done:
            break
    reached = agent.goals_reached() if agent.done and isinstance(agent, GoalCounter) else {}
    for what, (count, asked) in reached.items():
        print(f"reached {count} of {asked} {what}", flush=True)
    return MISSED if goals_missed(reached) else 0


class EventLog:
    """Writes events to the log of the running simulation, if it has one."""

    def __init__(self, instance: int | None, echo: bool = False) -> None:
        """Makes a log that connects at the first event.

        Args:
            instance: Instance of the simulation; None: no log.
            echo: Whether to print the events as well.
        """
        self.client: ControlClient | None = None
        self._instance, self._echo = instance, echo

    def __call__(self, t_us: int, name: str, **values: Any) -> None:  # values of JSON
        if self._echo:
            progress(t_us, name, values)
        self.request("event", event=name, values=values)

    def request(self, op: str, **values: Any) -> dict[str, Any]:
        """Asks the simulation; returns the answer, {} if there is none."""
        if self._instance is None:
            return {}
        try:
            if self.client is None:
                self.client = ControlClient(self._instance)
            return self.client.request(op, **values)
        except ControlError as error:
            print(f"no more events are written: {error}", file=sys.stderr, flush=True)
            self.client = self._instance = None
            return {}


class Health:
    """What a simulation says about its vehicles, asked for twice in a simulated second."""

    def __init__(self, log: EventLog) -> None:
        """Asks through a log, whose simulation may be on another machine: then nothing is known."""
        self._log = log
        self._last: list[dict[str, Any]] = []  # plain data of JSON
        self._asked_us = -_HEALTH_US

    def update(self, t_us: int) -> None:
        """Asks again if it is time to."""
        if t_us - self._asked_us >= _HEALTH_US:
            self._asked_us = t_us
            self._last = self._log.request("health").get("health", [])

    def __call__(self) -> list[dict[str, Any]]:
        """Returns the last answer, as of Autopilot.health()."""
        return self._last
