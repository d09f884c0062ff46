"""mavsdk's plugins mission, mission_raw, geofence, param, follow_me, manual_control and failure,
and our own command line, against a running simulation."""

import contextlib
import io
import math
from pathlib import Path

import pytest

from mavsdk_pilot import Pilot, wait_for
from own_ports import PORTS
from processes import SimulationProcess
from xtdrone_core import command

LAT, LON = 47.397742, 8.545594  # of the world's origin
NORTH = 1 / 111_195.0  # degrees per metre
EAST = NORTH / math.cos(math.radians(LAT))
PLAN = Path(__file__).parents[2] / "docs" / "missions" / "survey.plan"
NAN = math.nan


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    running = SimulationProcess(tmp_path_factory.mktemp("runs"), "--gps", "rtk", "--speed", 4)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def pilot(simulation):
    one = Pilot(f"udpin://127.0.0.1:{PORTS.offboard(0)}", 1)
    wait_for(one.telemetry.health_all_ok)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def what_it_said(simulation):
    """The vehicle's texts, which pytest shows where a test fails."""
    yield
    for log in simulation.folder.glob("*/console/autopilot.log"):  # none before the first text
        print(log.read_text()[-3000:])


@pytest.fixture
def system(pilot):
    return next(s for s in pilot.mavsdk.get_systems() if s.get_system_id() == 1)


def on_ground(pilot):
    """Lands what still flies."""
    if pilot.telemetry.armed():
        pilot.action.land()
        wait_for(lambda: not pilot.telemetry.armed())


def xtdrone(*words):
    """Runs our command line; returns its status and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = command.main([str(word) for word in words])
    return status, said.getvalue()


def test_files_are_listed_and_read_but_not_written(simulation, pilot, system, tmp_path):
    from mavsdk.plugins.ftp import Ftp, FtpError, FtpResult

    ftp = Ftp(system)
    assert [entry.name for entry in ftp.list_directory("/").entries] == ["etc", "log", "params"]
    assert [entry.name for entry in ftp.list_directory("/log").entries] == ["log001.ulg"]
    done = []
    ftp.download_async(
        "/log/log001.ulg",
        str(tmp_path),
        True,  # in bursts
        lambda result, *_: done.append(result),
    )
    wait_for(lambda: done and done[-1] != FtpResult.NEXT)
    assert done[-1] == FtpResult.SUCCESS
    got = (tmp_path / "log001.ulg").read_bytes()
    logged = next(simulation.folder.glob("*/ulog/*/log001.ulg")).read_bytes()
    assert len(got) > 50_000 and logged.startswith(got)
    with pytest.raises(FtpError, match=FtpResult.FILE_DOES_NOT_EXIST.name):
        ftp.list_directory("/../..")
    with pytest.raises(FtpError, match=FtpResult.FILE_PROTECTED.name):
        ftp.remove_file("/log/log001.ulg")


def test_mission_is_uploaded_flown_and_followed(pilot, system):
    from mavsdk.plugins.mission import Mission, MissionItem, MissionPlan
    from mavsdk.plugins.telemetry import FlightMode

    mission = Mission(system)

    def waypoint(east, north, through=True, **more):
        return MissionItem(
            LAT + north * NORTH,
            LON + east * EAST,
            6.0,
            4.0,
            through,
            acceptance_radius_m=1.5,
            **more,
        )

    plan = MissionPlan([waypoint(0, 5), waypoint(8, 5, False, loiter_time_s=6.0), waypoint(8, 0)])
    mission.set_return_to_launch_after_mission(True)
    mission.upload_mission(plan)
    back = mission.download_mission()
    assert [round(item.latitude_deg, 6) for item in back.mission_items] == [
        round(item.latitude_deg, 6) for item in plan.mission_items
    ]
    pilot.action.set_return_to_launch_altitude(6.0)
    pilot.action.arm()
    mission.start_mission()
    wait_for(lambda: mission.mission_progress().current == 1)  # for the next 8 s or so
    mission.pause_mission()
    wait_for(lambda: pilot.telemetry.flight_mode() == FlightMode.HOLD)
    mission.start_mission()
    wait_for(mission.is_mission_finished)
    wait_for(lambda: pilot.telemetry.flight_mode() == FlightMode.RETURN_TO_LAUNCH)
    wait_for(lambda: not pilot.telemetry.armed(), 60)
    assert mission.is_mission_finished()
    mission.clear_mission()
    assert mission.mission_progress().total == 0 or not mission.download_mission().mission_items


def test_raw_items_come_back_unchanged_and_bad_ones_are_refused(pilot, system):
    from mavsdk.plugins.mission_raw import (
        MissionItem,
        MissionRaw,
        MissionRawError,
        MissionRawResult,
    )

    raw = MissionRaw(system)
    items = [
        MissionItem(0, 6, 22, 1, 1, 0, 0, 0, NAN, round(LAT * 1e7), round(LON * 1e7), 5.0, 0),
        MissionItem(1, 6, 16, 0, 1, 0, 0, 0, NAN, round(LAT * 1e7) + 500, round(LON * 1e7), 5.0, 0),
        MissionItem(2, 2, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0.0, 0),
    ]
    raw.upload_mission(items)
    got = raw.download_mission()
    assert [(g.command, g.frame, g.x, g.y, g.z) for g in got] == [
        (i.command, i.frame, i.x, i.y, i.z) for i in items
    ]
    with pytest.raises(MissionRawError) as error:
        raw.upload_mission([MissionItem(0, 6, 84, 1, 1, 0, 0, 0, NAN, 0, 0, 5.0, 0)])
    assert MissionRawResult.UNSUPPORTED.name in str(error.value)
    assert len(raw.download_mission()) == 3


def test_geofence_is_uploaded_and_cleared(pilot, system):
    from mavsdk.plugins.geofence import Circle, FenceType, Geofence, GeofenceData, Point, Polygon

    fence = Geofence(system)
    corners = [
        Point(LAT + n * NORTH, LON + e * EAST)
        for n, e in ((-50, -50), (50, -50), (50, 50), (-50, 50))
    ]
    circle = Circle(Point(LAT + 40 * NORTH, LON), 3.0, FenceType.EXCLUSION)
    fence.upload_geofence(GeofenceData([Polygon(corners, FenceType.INCLUSION)], [circle]))
    back = fence.download_geofence()
    assert len(back.polygons[0].points) == 4 and back.circles[0].radius == pytest.approx(3.0)
    fence.clear_geofence()


def test_parameters(pilot, system):
    from mavsdk.plugins.param import Param, ParamError

    param = Param(system)
    assert param.get_param_float("MPC_XY_CRUISE") == pytest.approx(5.0)
    param.set_param_float("MPC_XY_CRUISE", 6.0)
    assert param.get_param_float("MPC_XY_CRUISE") == pytest.approx(6.0)
    param.set_param_int("GF_ACTION", 3)
    assert param.get_param_int("GF_ACTION") == 3
    param.set_param_int("GF_ACTION", 2)
    with pytest.raises(ParamError):
        param.get_param_float("NO_SUCH_NAME")
    names = {p.name for p in param.get_all_params().int_params}
    assert "NAV_DLL_ACT" in names


@pytest.mark.long  # as test_posctl_flies_with_the_sticks_and_stops_without, through mavsdk
def test_manual_control_climbs(pilot, system):
    from mavsdk.plugins.manual_control import ManualControl
    from mavsdk.plugins.param import Param

    on_ground(pilot)
    pilot.take_off(3.0)
    wait_for(lambda: pilot.place[2] < -2.5)
    manual, param = ManualControl(system), Param(system)
    param.set_param_float("COM_RC_LOSS_T", 8.0)  # 2 s in which this process may be stalled
    start = pilot.place[0]

    def forward():
        manual.set_manual_control_input(0.0, 0.0, 0.8, 0.0)
        return pilot.place[2] < -6.0

    try:
        manual.set_manual_control_input(0.0, 0.0, 0.5, 0.0)
        manual.start_position_control()
        wait_for(forward)
        assert abs(pilot.place[0] - start) < 1.0
    finally:
        on_ground(pilot)
        param.set_param_float("COM_RC_LOSS_T", 0.5)


def test_follow_me(pilot, system):
    from mavsdk.plugins.follow_me import Config, FollowMe, TargetLocation

    on_ground(pilot)
    follow = FollowMe(system)
    follow.set_config(Config(follow_height_m=8.0, follow_distance_m=5.0))
    pilot.take_off(6.0)
    wait_for(lambda: pilot.place[2] < -5.0)
    place = TargetLocation(
        LAT + 15 * NORTH, LON, pilot.telemetry.position().absolute_altitude_m, 0.0, 0.0, 0.0
    )
    follow.start()
    wait_for(follow.is_active)

    def near():
        follow.set_target_location(place)
        north, east, down = pilot.place
        return abs(math.hypot(north - 15, east) - 5.0) < 0.7 and abs(down + 8.0) < 0.7

    wait_for(near)
    follow.stop()
    on_ground(pilot)


@pytest.mark.long  # as test_gps_loss_descends_level_and_lands, through mavsdk
def test_failure_of_the_gps_ends_in_a_descent(pilot, system):
    from mavsdk.plugins.failure import Failure, FailureType, FailureUnit

    on_ground(pilot)
    failure = Failure(system)
    pilot.take_off(4.0)
    wait_for(lambda: pilot.place[2] < -3.5)
    failure.inject(FailureUnit.SENSOR_GPS, FailureType.OFF, 0)
    try:
        wait_for(lambda: not pilot.telemetry.armed(), 60)
    finally:
        failure.inject(FailureUnit.SENSOR_GPS, FailureType.OK, 0)
    wait_for(pilot.telemetry.health_all_ok)


def test_command_line_uploads_downloads_and_starts(pilot, tmp_path):
    on_ground(pilot)
    status, text = xtdrone("mission", "upload", PLAN)
    assert status == 0 and "mission: 25 items" in text and "geofence: 5 items" in text
    status, text = xtdrone("mission", "download", tmp_path / "back.plan")
    assert status == 0 and "25, 5, 2 items" in text
    status, text = xtdrone("mission", "upload", tmp_path / "back.plan", "--start")
    assert status == 0 and "flies its mission" in text
    wait_for(pilot.telemetry.armed)
    wait_for(lambda: pilot.place[2] < -4.0)
    on_ground(pilot)


def test_command_line_saves_and_loads_parameters(simulation, pilot, tmp_path):
    path = tmp_path / "iris.params"
    status, text = xtdrone("params", "save", path)
    assert status == 0 and "parameters of vehicle 1" in text
    path.write_text(path.read_text().replace("MPC_Z_P\t1.0", "MPC_Z_P\t1.2"))
    status, text = xtdrone("params", "load", path)
    assert status == 0, text
    assert "MPC_Z_P = 1.2" in xtdrone("params", "get", "MPC_Z_P")[1]
    with pytest.raises(SystemExit):
        xtdrone("params", "set", "MPC_Z_P", "nan")
    path.write_text("1\t1\tMPC_Z_PP\t1.0\t9\n1\t1\tSDLOG_MODE\t2\t6\n")
    status, text = xtdrone("params", "load", path)
    assert status == 1 and "did you mean 'MPC_Z_P'?" in text and "1 parameters changed" in text
    assert "* MPC_Z_P          1.2\n" in xtdrone("params", "list", "--effect")[1]
    assert "  SDLOG_MODE       2\n" in xtdrone("params", "list")[1]
    assert "does not answer" in xtdrone("params", "get", "MPC_Z_P", "--vehicle", 9)[1]
