"""Which port each vehicle's links use: PX4's numbers, and what follows past ten.

Instance i (0 to 249) has system id i + 1. PX4 itself sends the offboard links
of all instances past the tenth to port 14549, where the system id tells them
apart; that is kept. The ROS bridge has a link of its own, so that 14540 + i
stays free for MAVSDK and 14550 for a ground station while ROS runs. All bridge
links go to one port, since there is one bridge for the fleet. Every port lies
below 32768, where Linux's ephemeral ports begin, and no two ranges touch.
"""

import argparse

MAX_VEHICLES = 250  # MAVLink system ids 251 to 255 are left to ground stations

SIMULATOR = 4560  # TCP, simulator link of real PX4: + i
GROUND_STATION_LOCAL = 18570  # + i
GROUND_STATION = 14550
OFFBOARD_LOCAL = 14580  # + i
OFFBOARD = 14540  # + i up to 9, then 14549
BRIDGE_LOCAL = 16580  # + i
BRIDGE = 16540
CONTROL = 17540  # TCP, pause, step, speed and the clock of one simulation


def number(text: str) -> int:
    """A port number from a command line, for argparse.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port: give a number from 1 to 65535")
    return int(text)


def offboard_remote(i: int) -> int:
    """The port that instance i sends its offboard link to."""
    return OFFBOARD + min(i, 9)


def system_id(i: int) -> int:
    """MAVLink system id of instance i."""
    return i + 1
