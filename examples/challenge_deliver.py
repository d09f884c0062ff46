#!/usr/bin/env python3
"""A client of MAVLink as a team: each vehicle takes the nearest parcel, brings it, takes the next.

xtdrone challenge run delivery_in_wind --team mavlink:examples/challenge_deliver.py --seeds 1
"""

import json
import math
import os

from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

HEIGHTS_M = (3.0, 6.0, 9.0)  # a height for each vehicle, so that none meets another
NEAR_M, STAY_S = 0.6, 1.0
PERIOD_S = 0.1  # of set-points, in simulated time
POSITION = 0b110111111000  # type_mask of SET_POSITION_TARGET_LOCAL_NED


class Carrier:
    """One vehicle, and the places where it has to go next."""

    def __init__(self, address, number):
        self.link, self.system = mavutil.mavlink_connection(address), number + 1
        self.height, self.places, self.near_since, self.sent = HEIGHTS_M[number], [], None, -1.0

    def hear(self, parcels):
        """Takes in what has come; returns whether it has something to do."""
        while message := self.link.recv_msg():
            if message.get_type() == "HEARTBEAT":
                self.link.mav.heartbeat_send(mavlink.MAV_TYPE_ONBOARD_CONTROLLER, 8, 0, 0, 0)
                if not message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED:
                    self.order(mavlink.MAV_CMD_DO_SET_MODE, 1, 6)  # OFFBOARD
                    self.order(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1, 0)
            elif message.get_type() == "LOCAL_POSITION_NED":
                self.fly(message.time_boot_ms * 1e-3, (message.y, message.x), parcels)
        return bool(self.places or parcels)

    def order(self, command, first, second):
        self.link.mav.command_long_send(self.system, 1, command, 0, first, second, *[0] * 5)

    def fly(self, now, here, parcels):
        """Chooses a parcel, sees whether the next place is reached, sends where to go."""
        if not self.places and parcels:
            parcel = min(parcels, key=lambda parcel: math.dist(parcel[:2], here))
            parcels.remove(parcel)
            self.places = [parcel[:2], parcel[2:]]
        east, north = self.places[0] if self.places else here
        if math.dist((east, north), here) > NEAR_M:
            self.near_since = None
        self.near_since = self.near_since or now
        if self.places and now - self.near_since > STAY_S:
            self.places.pop(0)
            self.near_since = None
        if now - self.sent >= PERIOD_S:
            self.sent, place = now, (north, east, -self.height)
            frame = mavlink.MAV_FRAME_LOCAL_NED
            self.link.mav.set_position_target_local_ned_send(
                0, self.system, 1, frame, POSITION, *place, *[0.0] * 8
            )


def main():
    told = json.loads(os.environ["XTDRONE_CHALLENGE"])
    carriers = [Carrier(address, k) for k, address in enumerate(told["mavlink"])]
    parcels, busy = told["told"]["parcels"], [True]
    while any(busy):
        carriers[0].link.select(0.005)
        busy = [carrier.hear(parcels) for carrier in carriers]


if __name__ == "__main__":
    main()
