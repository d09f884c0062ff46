"""A MAVSDK client takes off, flies a square by OFFBOARD set-points and lands.

xtdrone sim                              # in one terminal
python examples/mavsdk_square.py         # in another
"""

import math
import time

from mavsdk import ComponentType, Configuration, Mavsdk
from mavsdk.plugins.action import Action
from mavsdk.plugins.offboard import Offboard, PositionNedYaw
from mavsdk.plugins.telemetry import Telemetry

from xtdrone_core.runs.ports import Ports

HEIGHT = 3.0  # [m]
SQUARE = [(0.0, 4.0), (4.0, 4.0), (4.0, 0.0), (0.0, 0.0)]  # north, east [m]


def wait(condition, what, seconds=120.0):
    """Polls, for simulated time runs on its own."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not {what} in {seconds:g} s")
        time.sleep(0.05)


def away(north, east):
    """Distance of the vehicle from a corner [m]."""
    p = telemetry.position_velocity_ned().position
    return math.dist((p.north_m, p.east_m, p.down_m), (north, east, -HEIGHT))


mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
mavsdk.add_any_connection(f"udpin://127.0.0.1:{Ports().offboard(0)}")  # 14540
wait(mavsdk.get_systems, "connected")
system = mavsdk.get_systems()[0]
action, telemetry, offboard = Action(system), Telemetry(system), Offboard(system)
wait(telemetry.health_all_ok, "ready to arm")
action.set_takeoff_altitude(HEIGHT)
action.arm()
action.takeoff()
wait(lambda: away(0.0, 0.0) < 0.5, "at its height")
offboard.set_position_ned(PositionNedYaw(0.0, 0.0, -HEIGHT, 0.0))
offboard.start()
for corner in SQUARE:
    offboard.set_position_ned(PositionNedYaw(*corner, -HEIGHT, 0.0))
    wait(lambda corner=corner: away(*corner) < 0.3, f"at {corner}")
    print(f"at {corner}")
action.land()
wait(lambda: not telemetry.armed(), "landed")
print("landed")
