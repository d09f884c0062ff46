"""Flights of real PX4 instances; skipped where PX4_BUILD does not name one."""

import math
import os
import signal
import socket
import time
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink
from pyulog import ULog

import px4_references
from low_level_agent import PLACE, TURN, LowLevelAgent
from own_ports import LATEST, PORTS
from square import check_square
from waiting import until
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.parameters.store import ParameterStore, listed
from xtdrone_control.agents import SquareAgent
from xtdrone_core import Mode, Scenario, resources
from xtdrone_core.agent import EachVehicle
from xtdrone_core.command import main
from xtdrone_core.mavlink.client import param_value
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_flight_controllers.px4 import process as px4_process
from xtdrone_flight_controllers.px4.link import Peer
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(
        not os.environ.get("PX4_BUILD"),
        reason="needs real PX4: set PX4_BUILD to its build folder (see docs/px4.md)",
    ),
]
OUTFITTED = """<sdf version="1.7"><model name="iris_outfitted">
<include><uri>model://iris</uri></include>
<link name="laser"><pose>0 0 0.05 0 1.5707963 0</pose>
  <inertial><mass>0.01</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia>
  </inertial>
  <sensor name="laser" type="ray"><plugin name="laser" filename="libgazebo_lidar_plugin.so">
    <min_distance>0.02</min_distance><max_distance>35.0</max_distance></plugin></sensor></link>
<joint name="laser_joint" type="fixed"><parent>iris::base_link</parent><child>laser</child></joint>
<plugin name="airspeed" filename="libgazebo_airspeed_plugin.so"><linkName>iris::base_link</linkName>
</plugin></model></sdf>"""


@pytest.mark.parametrize(
    "n,engine",
    [(1, "embedded"), (3, "embedded"), pytest.param(1, "gazebo", marks=pytest.mark.gazebo)],
)
def test_offboard_square(runs, n, engine):
    """Armed, taken up, flown round a square within 0.3 m of the truth, landed; logs are there."""
    plugin = resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so"
    if engine == "gazebo" and not plugin.is_file():
        pytest.skip("needs Gazebo 11: run scripts/setup_gazebo.sh")
    assert (
        main(
            [
                "fly",
                "square",
                "--autopilot",
                "px4",
                "--gps",
                "rtk",
                "--n",
                str(n),
                "--engine",
                engine,
            ]
        )
        == 0
    )
    folder = (runs / LATEST).resolve()
    check_square(folder, n, 0.3)
    for i in range(n):
        (log,) = (folder / "ulog" / f"iris_{i}").rglob("*.ulg")
        truth = ULog(str(log)).get_dataset("vehicle_local_position_groundtruth")
        assert truth.data["z"].min() < -2.5
        assert "Ready for takeoff" in (folder / "console" / f"iris_{i}.log").read_text()


class GroundStation:
    """Uploads and flies a mission over PX4's ground station link."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", PORTS.ground_station))
        self.socket.setblocking(False)
        self.mavlink = mavlink.MAVLink(None, 255, 190)
        self.parser = mavlink.MAVLink(None)
        self.parser.robust_parsing = True
        self.partner = None

    def listen(self):
        """Takes in what has come; returns the messages."""
        found = []
        while True:
            try:
                data, self.partner = self.socket.recvfrom(65536)
            except BlockingIOError:
                return found
            for message in self.parser.parse_buffer(data) or ():
                found.append(message)

    def say(self, message):
        """Sends to PX4."""
        self.socket.sendto(message.pack(self.mavlink), self.partner)


def test_parameters_are_those_of_the_embedded_stack(runs):
    """PX4's list, indices, types, values and hash against the table of the embedded stack."""
    (runs / "console").mkdir()
    simulation = Simulation(Scenario(fleet("iris", 1), autopilot="px4", speed=0.0), runs)
    station, came = GroundStation(), {}
    try:
        for k in range(10_000):
            simulation.step()
            for message in station.listen():
                if message.get_type() == "PARAM_VALUE":
                    came[message.param_id] = message
            if k % 250 == 0 and station.partner:
                station.say(mavlink.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
            if k >= 4000 and k % 1000 == 0:
                station.say(mavlink.MAVLink_param_request_list_message(1, 1))
            if "_HASH_CHECK" in came and len(came) > came["_HASH_CHECK"].param_count:
                break
    finally:
        simulation.close()
        station.socket.close()
    told = param_value(came.pop("_HASH_CHECK"))
    assert set(came) == set(listed())
    store, others = ParameterStore(1), []
    for index, (name, p) in enumerate(listed().items()):
        value, kind = param_value(came[name]), came[name].param_type
        assert (came[name].param_index, kind) == (index, 6 if p.type is int else 9), name
        if value != store.reported(0, name) and not p.volatile:
            others.append(name)
        store.set(0, name, value)
    assert others in ([], ["EKF2_ASP_DELAY"])  # 0 here, since an airspeed arrives at once
    assert store.hash(0) == told


def test_mission(runs):
    """A mission from a ground station: upload, arm, waypoints, landing."""
    (runs / "console").mkdir()
    simulation = Simulation(Scenario(fleet("iris", 1), autopilot="px4", speed=0.0, gps="rtk"), runs)
    station, high, far = GroundStation(), 0.0, 0.0
    origin = np.degrees((simulation.world.latitude, simulation.world.longitude))
    item = mavlink.MAVLink_mission_item_int_message
    north = int(15 / 111_320 * 1e7)  # 15 m

    def waypoint(seq, command, offset, height, param1=0.0):
        return item(
            1,
            1,
            seq,
            mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
            command,
            int(seq == 0),
            1,
            param1,
            0,
            0,
            float("nan"),
            int(origin[0] * 1e7) + offset,
            int(origin[1] * 1e7),
            height,
        )

    items = [
        waypoint(0, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 8.0),
        waypoint(1, mavlink.MAV_CMD_NAV_WAYPOINT, north, 8.0),
        waypoint(2, mavlink.MAV_CMD_NAV_LAND, 0, 0.0),
    ]
    accepted, started, armed = False, False, False
    try:
        for k in range(30_000):
            simulation.step()
            high = max(high, simulation.state.pos[0, 2])
            far = max(far, simulation.state.pos[0, 1])
            if k % 5 or (not (messages := station.listen()) and station.partner is None):
                continue
            if k % 250 == 0:
                station.say(mavlink.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
                if simulation.t_us > 6_000_000 and not accepted:
                    station.say(mavlink.MAVLink_mission_count_message(1, 1, len(items)))
                elif accepted and not armed:
                    station.say(
                        mavlink.MAVLink_command_long_message(
                            1, 1, mavlink.MAV_CMD_DO_SET_MODE, 0, 1, 4, 4, 0, 0, 0, 0
                        )
                    )
                    station.say(
                        mavlink.MAVLink_command_long_message(
                            1, 1, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, 0, 0, 0, 0, 0, 0
                        )
                    )
            for message in messages:
                if message.get_type() in ("MISSION_REQUEST", "MISSION_REQUEST_INT"):
                    station.say(items[message.seq])
                elif message.get_type() == "MISSION_ACK":
                    accepted = accepted or message.type == 0
                elif message.get_type() == "HEARTBEAT" and message.get_srcComponent() == 1:
                    armed = bool(message.base_mode & 128)
                    started = started or armed
            if started and not armed:
                break
        assert accepted and started and not armed
        assert high == pytest.approx(8.0, abs=1.0)
        assert far == pytest.approx(15.0, abs=1.5)
        assert np.linalg.norm(simulation.state.pos[0, :2]) < 1.0
        assert simulation.state.pos[0, 2] < 0.3
    finally:
        station.socket.close()
        simulation.close()


def test_the_surveys_plan_is_uploaded_downloaded_and_flown(simulate, tmp_path, capsys):
    """By one command after the other, with a look by the doctor in between."""
    simulation = simulate("--autopilot", "px4", "--gps", "rtk", "--speed", 0)
    plan, back = resources.root() / "docs/missions/survey.plan", tmp_path / "back.plan"
    simulation.wait_until(6_000_000)
    assert main(["mission", "upload", str(plan)]) == 0
    assert main(["mission", "download", str(back)]) == 0
    wanted, found = (plan_file.load(path).items for path in (plan, back))
    assert [[item.command for item in items] for items in found.values()] == [
        [item.command for item in items] for items in wanted.values()
    ]
    assert [len(items) for items in found.values()] == [25, 5, 2]
    main(["doctor"])
    assert "AUTO.LOITER, disarmed" in capsys.readouterr().out
    assert main(["mission", "upload", str(back), "--start"]) == 0
    console = next(simulation.folder.glob("*/console/iris_0.log"))
    until(lambda: "Disarmed by landing" in console.read_text(), "it has flown", simulation.process)
    text = console.read_text()
    assert text.index("Executing Mission") < text.index("RTL: land at destination")


def test_a_plane_takes_off_from_the_runway_flies_its_mission_and_lands(simulate, tmp_path):
    """By PX4's own airframe, on lift and drag of its wings, without a ground station."""
    params = tmp_path / "alone.params"
    params.write_text("1\t1\tNAV_DLL_ACT\t0\t6\n")
    simulation = simulate(
        "--vehicle", "plane", "--autopilot", "px4", "--speed", 0, "--params", str(params)
    )
    simulation.wait_until(6_000_000)
    assert (
        main(["mission", "upload", str(resources.root() / "docs/missions/plane.plan"), "--start"])
        == 0
    )
    console = next(simulation.folder.glob("*/console/plane_0.log"))
    until(lambda: "Disarmed by landing" in console.read_text(), "it has landed", simulation.process)
    text = console.read_text()
    assert "Takeoff detected" in text and "failsafe" not in text.lower()
    _, states = read_truth(next(simulation.folder.glob("*/truth.bin")), 1)
    pos, speed = states[:, 0, :3], np.linalg.norm(states[:, 0, 7:10], axis=1)
    for corner in ((250, 0, 40), (250, 200, 40), (-150, 200, 40)):
        assert np.linalg.norm(pos - corner, axis=1).min() < 45.0
    aloft = pos[:, 2] > 25.0
    assert speed[aloft].min() > 10.0 and speed.max() < 25.0  # where the rotor has no thrust left
    assert pos[-1, 2] < 0.3 and np.linalg.norm(pos[-1, :2]) < 150.0


def test_one_that_is_killed_in_flight_is_named_and_the_other_flies_on(runs):
    for sub in ("console", "ulog"):
        (runs / sub).mkdir()
    scenario = Scenario(
        fleet("iris", 2), autopilot="px4", speed=0.0, gps="rtk", px4_loss="continue"
    )
    agent = SquareAgent(2)
    simulation = Simulation(scenario, runs, agent=agent)
    try:
        while simulation.t_us < 40_000_000 and simulation.state.pos[:, 2].min() < 2.5:
            simulation.step()
        os.kill(simulation.autopilot.pids[1], signal.SIGKILL)
        end = simulation.t_us + 3_000_000
        while simulation.t_us < end:
            simulation.step()
        assert simulation.autopilot.states.tolist() == [Peer.LOCKSTEP, Peer.LOST]
        assert simulation.state.pos[0, 2] > 2.5 and simulation.state.pos[1, 2] < 0.5
        assert "'iris_1' was ended by SIGKILL" in (runs / "console/autopilot.log").read_text()
    finally:
        simulation.close()


def test_nine_of_which_one_is_killed_and_restarted(runs, caplog):
    """The eight fly their squares to the end, the ninth's new PX4 takes off again and lands."""
    victim, killed, begun, lost = 4, [], [], []

    def look(simulation):
        height = simulation.state.pos[:, 2]
        if not killed and height.min() > 2.5:
            killed.append(simulation.t_us)
            os.kill(simulation.autopilot.pids[victim], signal.SIGKILL)
        elif killed and not begun and simulation.t_us >= killed[0] + 3_000_000:
            assert simulation.autopilot.states.tolist() == [
                Peer.LOST if i == victim else Peer.LOCKSTEP for i in range(9)
            ]
            lost.append(height.copy())
            simulation.reset([victim])
            begun.append(simulation.t_us)

    flown(runs, EachVehicle(9, lambda: SquareAgent(1)), n=9, at=look, px4_loss="continue")
    assert lost[0][victim] < 0.5 and np.delete(lost[0], victim).min() > 2.5
    assert f"'iris_{victim}' was ended by SIGKILL; the others fly on" in caplog.text
    for i in range(9):
        found = logs(runs, f"iris_{i}")
        assert len(found) == 1 + (i == victim)
        if i != victim:
            truth = found[0].get_dataset("vehicle_local_position_groundtruth").data
            assert truth["timestamp"][-1] > begun[0] and truth["z"].min() < -2.5
    again = logs(runs, f"iris_{victim}")[1].get_dataset("vehicle_local_position_groundtruth").data
    assert again["timestamp"][0] >= begun[0] and again["z"].min() < -2.5


def test_one_of_four_started_by_hand_is_killed_and_replaced(runs, monkeypatch):
    """On the ground, where it stays upright: another PX4 connects in its place, and flies."""
    run_folder.prepare(runs)
    installation = px4_process.find("")
    monkeypatch.delenv("PX4_BUILD")
    model = load_vehicle("iris")
    defaults = px4_process.simulation_defaults(0.1)
    outside = [
        px4_process.Px4Process(installation, i, f"iris_{i}", model, runs, PORTS, defaults=defaults)
        for i in range(4)
    ]
    agent = EachVehicle(4, lambda: SquareAgent(1))
    replaced = []
    try:
        simulation = Simulation(
            Scenario(fleet("iris", 4), autopilot="px4", speed=0.0, gps="rtk", px4_loss="continue"),
            runs,
            agent=agent,
        )
        while not agent.done and simulation.t_us < 120_000_000:
            simulation.step()
            if not replaced and simulation.t_us >= 2_000_000:
                os.kill(outside[2].pid, signal.SIGKILL)
                while simulation.autopilot.states[2] != Peer.LOST:
                    simulation.step()
                outside[2].stop()
                replaced.append(simulation.t_us)
                outside.append(
                    px4_process.Px4Process(
                        installation, 2, "iris_2", model, runs, PORTS, 2, defaults=defaults
                    )
                )
        assert replaced and agent.done
        assert (simulation.autopilot.states == Peer.LOCKSTEP).all()
        assert "was replaced" in (runs / "console/autopilot.log").read_text()
        simulation.close()
    finally:
        for process in outside:
            process.stop()
    again = logs(runs, "iris_2")[1].get_dataset("vehicle_local_position_groundtruth").data
    assert again["timestamp"][0] >= replaced[0] and again["z"].min() < -2.5


def send(simulation, message):
    """Sends a MAVLink message to the first PX4, on its onboard camera link."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(
            message.pack(mavlink.MAVLink(None, 1, 191)), ("127.0.0.1", PORTS.camera_local(0))
        )


def test_offboard_asked_on_the_ground_before_any_set_point(runs):
    """PX4 then answers no readings; it flies once set-points come. Likewise a parameter of NaN."""
    run_folder.prepare(runs)
    agent, states = SquareAgent(1), []
    simulation = Simulation(Scenario(fleet("iris", 1), autopilot="px4", speed=0.0, gps="rtk"), runs)
    try:
        while not simulation.autopilot.estimates().ready[0]:
            simulation.step()
        send(simulation, mavlink.MAVLink_param_set_message(1, 1, b"MPC_XY_CRUISE", math.nan, 9))
        send(
            simulation,
            mavlink.MAVLink_command_long_message(
                1, 1, mavlink.MAV_CMD_DO_SET_MODE, 0, 1, 6, 0, 0, 0, 0, 0
            ),
        )
        end = simulation.t_us + 4_000_000
        while simulation.t_us < end:
            simulation.step()
            states.append(int(simulation.autopilot.states[0]))
        assert states[-1] == Peer.SILENT and Peer.HANGING not in states
        assert simulation.autopilot.estimates().mode[0] == Mode.OFFBOARD
        simulation.agent = agent
        while not agent.done and simulation.t_us < 120_000_000:
            simulation.step()
        assert agent.done and simulation.autopilot.states[0] == Peer.LOCKSTEP
    finally:
        simulation.close()


def test_one_that_is_stopped_hangs_and_goes_on_when_it_is_continued(runs):
    run_folder.prepare(runs)
    simulation = Simulation(
        Scenario(fleet("iris", 1), autopilot="px4", speed=0.0, gps="rtk", px4_loss="continue"), runs
    )
    try:
        while not simulation.autopilot.estimates().ready[0]:
            simulation.step()
        os.kill(simulation.autopilot.pids[0], signal.SIGSTOP)
        end = simulation.t_us + 5_000_000
        while simulation.t_us < end:
            simulation.step()
        assert simulation.autopilot.states[0] == Peer.HANGING
        assert "no heartbeat: it hangs" in (runs / "console/autopilot.log").read_text()
        os.kill(simulation.autopilot.pids[0], signal.SIGCONT)
        while simulation.autopilot.states[0] != Peer.LOCKSTEP:
            assert simulation.t_us < end + 60_000_000
            simulation.step()
    finally:
        simulation.close()


@pytest.mark.parametrize("seed", range(1, 6))
def test_it_holds_velocity_zero_for_30_s_within_half_a_metre(tmp_path, seed):
    """By the truth: a bias that moves faster than PX4's estimator allows makes it drift."""
    recording = px4_references.Recording(tmp_path, 0.0, seed)
    apart = []
    try:
        recording.await_ready()
        with px4_references.set_points(recording) as want:
            recording.station.wait(1.5)
            recording.arm(Mode.OFFBOARD)
            recording.station.wait(20)
            want((0.0, 0.0, 0.0))
            start = recording.simulation.state.pos[0].copy()
            for _ in range(300):
                recording.station.wait(0.1)
                apart.append(np.linalg.norm(recording.simulation.state.pos[0] - start))
    finally:
        recording.close()
    assert max(apart) < 0.5, max(apart)


def flown(folder, agent, vehicle="iris", n=1, at=None, **options):
    """Flies an Agent; calls at(simulation) after each step. The simulation is closed then."""
    run_folder.prepare(folder)
    options = {"gps": "rtk", **options}
    simulation = Simulation(
        Scenario(fleet(vehicle, n), autopilot="px4", speed=0.0, **options), folder, agent=agent
    )
    try:
        while not agent.done and simulation.t_us < 120_000_000:
            simulation.step()
            if at is not None:
                at(simulation)
        assert agent.done
    finally:
        simulation.close()


def logs(folder, name="iris_0"):
    """ULogs of a vehicle, in their order."""
    return [ULog(str(path)) for path in sorted((folder / "ulog" / name).rglob("*.ulg"))]


@pytest.mark.parametrize("level", ["attitude", "rates"])
def test_a_leg_by_attitude_or_body_rates_with_force(runs, level):
    """2.2 m with a turn: the place within 0.3 m and the heading within 5 degrees, as estimated."""
    errors, turns = [], []
    agent = LowLevelAgent(level, load_vehicle("iris").mass)

    def look(simulation):
        if agent.phase == "fly":
            e = simulation.autopilot.estimates()
            errors.append(e.pos[0] - agent.home[0] - PLACE - (0, 0, agent.height))
            x, y, z, w = e.quat[0]
            turns.append(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))

    flown(runs, agent, at=look)
    assert np.abs(errors[-500:]).max() < 0.3  # 2 s; gravity and bias are not integrated away
    assert np.abs(np.array(turns[-500:]) - turns[0] - TURN).max() < math.radians(5.0)


def test_it_flies_by_the_true_pose_alone(runs):
    """Without GPS, all places as given: the height is not that above the sea."""
    apart = []

    def look(simulation):
        estimates = simulation.autopilot.estimates()
        if estimates.ready[0] and simulation.t_us % 100_000 == 0:
            apart.append(np.abs(estimates.pos - simulation.state.pos).max())

    flown(runs, SquareAgent(1), pose_source="truth", at=look)
    assert max(apart) < 0.3
    (log,) = logs(runs)
    flags = log.get_dataset("estimator_status_flags").data
    assert flags["cs_ev_pos"][-1] and flags["cs_ev_hgt"][-1] and not flags["cs_gps"].any()


def test_it_flies_by_the_range_finder_and_logs_the_pitot_tube(runs):
    """By the range finder's height, which as a mere aid beside GPS drifts with its bias in PX4."""
    sdf = runs / "outfitted" / "model.sdf"
    sdf.parent.mkdir()
    sdf.write_text(OUTFITTED)
    params = runs / "own.params"
    params.write_text(
        "1\t1\tEKF2_HGT_REF\t2\t6\n1\t1\tEKF2_RNG_CTRL\t2\t6\n1\t1\tMAV_SYS_ID\t9\t6\n"
    )
    flown(runs, SquareAgent(1, side=8.0), str(sdf), params=str(params), wind="-4,2,0")
    (log,) = logs(runs, "outfitted_0")
    has = log.initial_parameters
    assert has["EKF2_RNG_CTRL"] == 2 and has["MAV_SYS_ID"] == 1  # not 9
    place = log.get_dataset("vehicle_local_position").data
    truth = log.get_dataset("vehicle_local_position_groundtruth").data
    height = -np.interp(place["timestamp"], truth["timestamp"], truth["z"])
    for name, found in (("distance", place["dist_bottom"]), ("height", -place["z"])):
        assert np.median(np.abs(found - height)[height > 2.0]) < 0.2, name
    assert place["dist_bottom_valid"].all()
    assert log.get_dataset("estimator_status_flags").data["cs_rng_hgt"].mean() > 0.5
    pressure = log.get_dataset("differential_pressure").data["differential_pressure_pa"]
    assert np.median(pressure) == pytest.approx(9.8, abs=2.0)  # 4 m/s from ahead


def test_a_reset_vehicle_boots_and_flies_again(runs):
    """Its PX4 is a new one with a log of its own; the other one goes on."""
    begun = []

    def reset(simulation):
        if simulation.t_us == 15_000_000:
            assert simulation.autopilot.estimates().armed.all()
            pids = simulation.autopilot.pids
            simulation.reset([0])
            assert np.allclose(simulation.state.pos[0, :2], 0.0, atol=1e-6)
            assert [old == new for old, new in zip(pids, simulation.autopilot.pids)] == [
                False,
                True,
            ]
            begun.append(simulation.t_us)

    agent = EachVehicle(2, lambda: SquareAgent(1))
    flown(runs, agent, n=2, at=reset)
    assert begun and len(logs(runs)) == 2 and len(logs(runs, "iris_1")) == 1
    second = logs(runs)[1].get_dataset("vehicle_local_position_groundtruth").data
    assert second["timestamp"][0] > 15_000_000 and second["z"].min() < -2.5


def window_speed(control):
    """Simulated over wall time in a quarter of a second of simulated time."""
    start, begin = control.request("status")["t_us"], time.monotonic()
    while (now := control.request("status")["t_us"]) < start + 250_000:
        pass
    return (now - start) * 1e-6 / (time.monotonic() - begin)


def test_pause_step_and_speed(simulate):
    """PX4's clock stands still in a pause, goes on by single steps, follows the speed factor."""
    simulation = simulate("--autopilot", "px4", "--gps", "rtk", "--speed", "0")
    control = simulation.control
    console = Path(control.request("status")["folder"]) / "console" / "iris_0.log"
    simulation.wait_until(5_000_000)
    paused = control.request("pause")["t_us"]
    end = time.monotonic() + 15
    while "poll timeout" not in console.read_text():  # PX4 misses its readings
        assert control.request("status")["t_us"] - paused <= 4000
        assert time.monotonic() < end
    for n in (1, 50):
        wanted = control.request("step", n=n)["t_us"]
        while (now := control.request("status")["t_us"]) < wanted:
            assert time.monotonic() < end
        assert now == wanted
    control.request("resume")
    for speed in (0.5, 2.0):
        control.request("speed", speed=speed)
        found = [window_speed(control) for _ in range(8)]
        while max(found) < 0.9 * speed and len(found) < 100:  # a busy machine may need a while
            found.append(window_speed(control))
        assert 0.9 * speed < max(found) and np.median(found) < 1.1 * speed, found
    control.request("speed", speed=0)
    while "Ready for takeoff" not in console.read_text():
        assert control.request("status")["t_us"] < 60_000_000


def test_a_restarted_simulation_says_that_a_living_px4_does_not_reconnect(runs, monkeypatch):
    """The PX4 of another terminal, whose simulation has ended."""
    (runs / "console").mkdir()
    installation = px4_process.find("")
    outside = px4_process.Px4Process(installation, 0, "iris_0", load_vehicle("iris"), runs)
    scenario = Scenario(fleet("iris", 1), autopilot="px4", speed=0.0)
    try:
        with pytest.raises(AutopilotError, match="does not reconnect to a new simulation"):
            with monkeypatch.context() as without:
                without.delenv("PX4_BUILD")
                first = Simulation(scenario, runs)
                first.run(until_us=4_000_000)
                first.close()
            Simulation(scenario, runs)
        monkeypatch.delenv("PX4_BUILD")
        second = Simulation(scenario, runs)
        Timer(4.0, second.stop).start()
        second.step()
        second.close()
        assert "will not reconnect: restart it" in (runs / "console/autopilot.log").read_text()
    finally:
        outside.stop()


def test_it_is_px4(monkeypatch):
    """PX4_BUILD names something that starts."""
    assert px4_process.find("").binary.name == "px4"
