"""Real PX4 turns the gimbal of the shipped typhoon_h480; skipped where PX4_BUILD names none."""

import math
import os

import numpy as np
import pytest

import jointed
from px4_references import Recording
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_dynamics.earth.geodesy import to_geodetic

CAMERA = "cgo3_camera_link"


@pytest.mark.px4
@pytest.mark.skipif(
    not os.environ.get("PX4_BUILD"),
    reason="needs real PX4: set PX4_BUILD to its build folder (see docs/px4.md)",
)
def test_px4_turns_the_gimbal_to_angles_and_to_a_region_of_interest(tmp_path):
    recording = Recording(tmp_path, 0.0, 1, "typhoon_h480", gps="rtk")
    simulation, station, client = recording.simulation, recording.station, recording.client
    place = np.array([30.0, 40.0, -10.0])
    try:
        recording.await_ready()
        recording.arm(Mode.TAKEOFF)
        station.wait(12)
        assert simulation.state.pos[0, 2] > 1.5
        assert jointed.looks(simulation, CAMERA)[1] == pytest.approx(0.0, abs=2.0)

        itself = station.system, mavlink.MAV_COMP_ID_MISSIONPLANNER
        assert client.command(mavlink.MAV_CMD_DO_GIMBAL_MANAGER_CONFIGURE, *itself)[0] == 0
        locks = mavlink.GIMBAL_MANAGER_FLAGS_ROLL_LOCK | mavlink.GIMBAL_MANAGER_FLAGS_PITCH_LOCK
        nan = math.nan
        assert (
            client.command(
                mavlink.MAV_CMD_DO_GIMBAL_MANAGER_PITCHYAW, -35.0, 60.0, nan, nan, locks
            )[0]
            == 0
        )
        station.wait(3)
        _, pitch, yaw = jointed.looks(simulation, CAMERA)
        assert (pitch, yaw) == (pytest.approx(-35.0, abs=2.0), pytest.approx(60.0, abs=2.0))

        world = simulation.world
        lat, lon = to_geodetic(*place[:2], world.latitude, world.longitude)
        assert (
            client.command_int(
                mavlink.MAV_CMD_DO_SET_ROI_LOCATION,
                (0, 0, 0, 0),
                round(math.degrees(lat) * 1e7),
                round(math.degrees(lon) * 1e7),
                world.altitude + place[2],
            )[0]
            == 0
        )
        station.wait(3)
        assert jointed.off_axis(simulation, CAMERA, place) < 3.0
    finally:
        recording.close()
