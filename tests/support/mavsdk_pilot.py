"""A vehicle flown through MAVSDK, as a user's script does it."""

import math
import time

from waiting import LIMIT_S


def wait_for(condition, seconds=LIMIT_S):
    """Polls until the condition holds; client libraries give no other way."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the vehicle did not get there"
        time.sleep(0.02)


class Pilot:
    """One vehicle flown through mavsdk."""

    def __init__(self, url, system_id):
        from mavsdk import ComponentType, Configuration, Mavsdk
        from mavsdk.plugins.action import Action
        from mavsdk.plugins.offboard import Offboard
        from mavsdk.plugins.param import Param
        from mavsdk.plugins.telemetry import Telemetry

        self.mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
        self.mavsdk.add_any_connection(url)
        wait_for(lambda: system_id in [s.get_system_id() for s in self.mavsdk.get_systems()])
        system = next(s for s in self.mavsdk.get_systems() if s.get_system_id() == system_id)
        self.action, self.telemetry, self.offboard = (
            Action(system),
            Telemetry(system),
            Offboard(system),
        )
        # This process may be stalled while simulated time runs on: before it has taken off, or
        # while it streams set-points.
        Param(system).set_param_float("COM_DISARM_PRFLT", -1.0)
        Param(system).set_param_float("COM_OF_LOSS_T", 30.0)

    @property
    def place(self):
        """North, east, down [m]."""
        p = self.telemetry.position_velocity_ned().position
        return p.north_m, p.east_m, p.down_m

    def take_off(self, height):
        wait_for(self.telemetry.health_all_ok)
        self.action.set_takeoff_altitude(height)
        self.action.hold()  # as PX4's, a mission leaves its mode behind, in which nothing arms then
        self.action.arm()
        self.action.takeoff()

    def go_to(self, north, east, down):
        from mavsdk.plugins.offboard import PositionNedYaw

        self.offboard.set_position_ned(PositionNedYaw(north, east, down, 0.0))

    def wait_near(self, north, east, down, within):
        wait_for(lambda: math.dist(self.place, (north, east, down)) < within)

    def close(self):
        self.mavsdk.destroy()
