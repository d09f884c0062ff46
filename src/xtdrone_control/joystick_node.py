"""The gamepad's node: /joy, or a Linux joystick device, to MANUAL_CONTROL and modes."""

import argparse
import os
import select
import time

import rospy
from sensor_msgs.msg import Joy
from std_msgs.msg import String

from mavros_msgs.msg import ManualControl
from xtdrone_core.errors import unknown_name
from xtdrone_ros1 import discovery, node

from .errors import ControlNodeError
from .joystick import Pad

PERIOD_S = 0.05  # period of the messages [s, wall]
SILENT_S = 1.0  # time without a publisher of /joy until the pad is disconnected [s, wall]


class Device:
    """A joystick device; it reports the state of every axis when it is opened."""

    def __init__(self, path: str, pad: Pad):
        self._path, self._pad = path, pad
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise ControlNodeError(
                f"cannot open '{path}': {error.strerror}; give the device of a "
                "pad, for example --device /dev/input/js0"
            ) from error

    def read(self, seconds: float) -> bool:
        """Passes on the events of this time [s]; returns False: a lost device is an error."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            data = b""
        if not data:
            raise ControlNodeError(f"'{self._path}' was disconnected: plug the pad in again")
        self._pad.feed(data, time.monotonic())
        return False


class Topic:
    """The topic /joy; it counts as connected as long as it has a publisher."""

    def __init__(self, pad: Pad):
        self._messages: list[Joy] = []
        self._pad = pad
        self._subscriber = rospy.Subscriber("/joy", Joy, self._messages.append, queue_size=5)
        self._heard, self._silent = time.monotonic(), False

    def read(self, seconds: float) -> bool:
        """Passes on the messages of this time [s]; returns whether there is no publisher."""
        time.sleep(seconds)
        while self._messages:
            message = self._messages.pop(0)
            self._pad.update(message.axes, message.buttons, time.monotonic())
        if self._subscriber.get_num_connections():
            self._heard = time.monotonic()
        silent = time.monotonic() - self._heard > SILENT_S
        if silent and not self._silent:
            print("/joy has no publisher: start a joy_node, or use --device", flush=True)
        self._silent = silent
        return silent


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end."""
    node.require_master()
    node.start("joystick", disable_rostime=True)
    names = discovery.fleet(args.wait)
    name = args.vehicle or names[0]
    if name not in names:
        raise ControlNodeError(unknown_name("vehicle", name, names))
    commands = rospy.Publisher(f"/xtdrone/{name}/cmd", String, queue_size=5)
    manual = rospy.Publisher(
        f"{discovery.mavros(name)}/manual_control/send", ManualControl, queue_size=1
    )
    rospy.Subscriber(f"/xtdrone/{name}/info", String, lambda m: print(m.data, flush=True))
    pad = Pad(
        commands.publish,
        args.axes,
        curve=args.curve,
        dead_man=args.dead_man,
        time_out=args.time_out,
        on_loss=args.on_loss,
    )
    if args.curve.full is not None:
        print(
            f"full stick is {args.curve.full:.0f} deg/s with MC_ACRO_R_MAX, MC_ACRO_P_MAX and "
            "MC_ACRO_Y_MAX at that",
            flush=True,
        )
    source: Device | Topic = Device(args.device, pad) if args.device else Topic(pad)
    print(f"controlling {name}", flush=True)
    due = 0.0
    while not rospy.is_shutdown():
        disconnected = source.read(PERIOD_S)
        sticks = pad.manual(time.monotonic())
        if sticks is None or disconnected or time.monotonic() < due:
            continue
        due = time.monotonic() + PERIOD_S
        message = ManualControl()
        message.x, message.y, message.z, message.r = sticks
        manual.publish(message)
