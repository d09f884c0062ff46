"""Parts of the flight stack that a scenario replaces; what becomes of an estimator that fails."""

import math
from pathlib import Path

import numpy as np
import pytest
from pyulog import ULog

from own_ports import LATEST
from stack_flights import HEIGHT, Flight, each_step
from xtdrone_autopilot import interfaces as parts
from xtdrone_autopilot.control.allocation import Mixer
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.estimation.ekf import Ekf
from xtdrone_autopilot.estimation.status import fleet_solution_status
from xtdrone_autopilot.options import PARTS
from xtdrone_autopilot.safety.failures import GPS, OFF, OK, VISION
from xtdrone_autopilot.state.estimator_flags import AIRSPEED_USED, GPS_USED, RANGE_USED, VISION_USED
from xtdrone_control.agents import HoverAgent, SquareAgent
from xtdrone_core import Mode, Scenario, ScenarioError
from xtdrone_core.command import main
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

EXAMPLES = Path(__file__).parents[2] / "examples"
EMBEDDED = {part: group.table()["embedded"].value for part, group in PARTS.items()}


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def tilt_of(quat):
    """Angle between body z and the vertical, (...) [deg]."""
    x, y = quat[..., 0], quat[..., 1]
    return np.degrees(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1)))


@pytest.mark.long
def test_the_documented_example_flies_to_two_corners_of_a_square(examples):
    """tests/integration/test_examples.py flies and lands it, by make test-long."""
    names = {
        "estimator": "my_estimator:Complementary",
        "velocity_control": "my_velocity_control:Gentle",
    }
    corners = []

    def hear(t_us, name, **values):
        if name == "corner":
            corners.append(values["reached"])

    agent = SquareAgent(1, hold=0.5, on_event=hear)
    simulation = Simulation(
        Scenario(fleet("iris", 1), speed=0.0, gps="rtk", **names), agent=agent, links=False
    )
    errors, tilts = [], []

    def look(t_us, state, sensors):
        if t_us % 100_000 == 0:
            a = simulation.autopilot
            errors.append(np.abs(a.estimator.pos - state.pos).max())
            tilts.append(tilt_of(a.status["sp_quat"]).max())

    each_step(simulation, look)
    while len(corners) < 2 and simulation.t_us < 40_000_000:
        simulation.run(until_us=simulation.t_us + 1_000_000)
    assert type(simulation.autopilot.estimator).__name__ == "Complementary"
    assert corners == [True] * 2
    assert max(errors[20:]) < 0.6 and 5.0 < max(tilts) < 12.01
    simulation.close()


@pytest.mark.slow
def test_parts_are_named_on_the_command_line_and_kept_in_the_run_folder(runs, examples):
    assert (
        main(
            [
                "sim",
                "--duration",
                "0.5",
                "--estimator",
                "my_estimator:Complementary",
                "--mixer",
                "xtdrone_autopilot.control.allocation:Mixer",
                "--log",
                "full",
            ]
        )
        == 0
    )
    scenario = Scenario.load((runs / LATEST).resolve() / "scenario.yaml")
    assert scenario.estimator == "my_estimator:Complementary"
    assert scenario.mixer == "xtdrone_autopilot.control.allocation:Mixer"


def test_parts_named_as_classes_fly_as_the_embedded_ones_bit_for_bit():
    flights = []
    for names in ({}, EMBEDDED):
        simulation = Simulation(
            Scenario(fleet("iris", 1), speed=0.0, **names), agent=SquareAgent(1), links=False
        )
        simulation.run(until_us=8_000_000)
        flights.append(simulation.state.copy())
        simulation.close()
    assert np.array_equal(flights[0].pos, flights[1].pos)
    assert flights[0].pos[0, 2] > 1.0


class Blind(parts.Estimator):
    """Has no step()."""


class OnlyStep:
    """No rotors can be taken out of this mixer."""

    def __init__(self, fleet):
        pass

    def step(self, *args):
        pass


class Greedy:
    """Wants more than it gets."""

    def __init__(self, fleet, more):
        pass

    step = OnlyStep.step


HERE = __name__


@pytest.mark.parametrize(
    "part, name, words",
    [
        ("estimator", "ekf", "unknown estimator 'ekf'.*module:Class"),
        ("mixer", f"{HERE}:Nothing", f"cannot load mixer '{HERE}:Nothing'"),
        ("rate_control", "no_such_module:X", "cannot load rate_control.*PYTHONPATH"),
        ("estimator", f"{HERE}:OnlyStep", "does not inherit from Estimator"),
        ("estimator", f"{HERE}:Blind", "has no step"),
        ("estimator", f"{HERE}:HERE", "is not a class"),
        ("attitude_control", f"{HERE}:Blind", "cannot be made"),
        ("mixer", f"{HERE}:OnlyStep", r"has no use_rotors\(\)"),
        ("velocity_control", f"{HERE}:Greedy", "cannot be made.*more"),
    ],
)
def test_a_wrong_class_is_refused_in_one_line(part, name, words):
    with pytest.raises((ScenarioError, AutopilotError), match=words) as caught:
        Simulation(Scenario(fleet("iris", 1), **{part: name}), links=False)
    assert "\n" not in str(caught.value)


def test_parts_are_not_for_px4():
    with pytest.raises(ScenarioError, match="cannot be flown by autopilot px4"):
        Scenario(fleet("iris", 1), autopilot="px4", estimator="my:Own")


def test_the_embedded_parts_are_what_the_registry_says():
    classes = parts.classes()
    assert classes["estimator"] is Ekf and classes["mixer"] is Mixer
    assert set(classes) == set(PARTS)


# Vision in the place of GPS, and estimators that fail, in flight ----------------------------


@pytest.fixture
def flight(request):
    """flight(...) is an iris in the air."""
    flown = []

    def start(**scenario):
        flown.append(Flight(**scenario).take_off())
        return flown[-1]

    yield start
    for one in flown:
        one.simulation.close()


@pytest.mark.slow
def test_gps_lost_for_30_s_in_flight_is_bridged_by_vision(flight):
    """Vision drifts off by 0.6 m meanwhile; neither loss nor return may be felt."""
    f = flight()
    a, noise, drift = f.autopilot, np.random.default_rng(1), np.zeros(3)
    place = f.pos

    def see(record=None):
        a.take_pose(
            0,
            f.simulation.t_us,
            f.pos + drift + noise.normal(0, 0.02, 3),
            f.simulation.state.quat[0],
        )
        if record is not None:
            record.append(
                (
                    a.estimator.pos[0].copy(),
                    a.estimator.vel[0].copy(),
                    tilt_of(a.status["sp_quat"][0]),
                    *(a.status["sp_vel"][0]),
                    *f.pos,
                )
            )

    f.run(5, see, rate=25)
    calm = []
    f.run(5, lambda: see(calm), rate=25)
    a.failures.inject(0, GPS, OFF, 0)
    rows = []

    def wander():
        drift[:] += np.array([0.02, -0.005, 0.0]) / 25
        see(rows)

    f.run(30, wander, rate=25)
    e = a.estimator
    assert e.flags[0] & VISION_USED and not e.flags[0] & GPS_USED
    assert f.mode == Mode.LOITER and a.status["armed"][0]
    a.failures.inject(0, GPS, OK, 0)
    f.run(20, lambda: see(rows), rate=25)
    assert e.flags[0] & GPS_USED and e.reset_count[0] == 0
    assert f.mode == Mode.LOITER and not any("Failsafe" in text for text in f.said)
    # The estimate never jumps, the loops stay as calm as they were with GPS, it comes home.
    pos, vel = (np.array([row[k] for row in rows]) for k in (0, 1))
    step = np.abs(np.diff(pos, axis=0) - 0.04 * vel[1:])
    assert step.max() < 0.05
    calmest = max(row[2] for row in calm)
    assert max(row[2] for row in rows) < calmest + 3.0
    wanted = np.array([row[3:6] for row in rows])
    assert np.abs(np.diff(wanted, axis=0)).max() < 0.15
    a.failures.inject(0, VISION, OFF, 0)
    f.run(6, see, rate=25)
    assert not e.flags[0] & VISION_USED and f.mode == Mode.LOITER
    strayed = np.array([row[6:9] for row in rows]) - place
    assert np.linalg.norm(strayed[29 * 25]) > 0.4 and np.linalg.norm(strayed[-1]) < 0.3


@pytest.mark.slow
def test_without_vision_a_gps_that_comes_back_does_not_throw_it(flight):
    """The estimate jumps; the way that it follows jumps along."""
    f = flight()
    a = f.autopilot
    a.parameters.set(0, "COM_POS_FS_EPH", -1)
    a.parameters.set(0, "EKF2_GPS_CTRL", 0)
    f.run(4)  # less than the time after which the position counts as lost
    a.estimator.filters["gps_t"] -= 4_000_000
    for pos in (a.estimator.filters["pos"], a.estimator.pos):
        pos[0, :2] += 2.0  # as if it had drifted, unnoticed
    drift = a.estimator.pos[0, :2] - f.pos[:2]
    a.status["smooth_pos"][0, :2] += 2.0
    a.status["target"][0, :2] += 2.0
    a.parameters.set(0, "EKF2_GPS_CTRL", 7)
    tilts = []
    f.run(10, lambda: tilts.append(tilt_of(a.status["sp_quat"][0])), rate=250)
    assert a.estimator.reset_count[0] == 1
    assert np.linalg.norm(a.estimator.reset_pos[0, :2] + drift) < 0.2
    assert max(tilts) < 20.0  # as on any way of 2 m; 35 where the controller sees the jump
    assert np.linalg.norm(f.pos[:2] - a.status["target"][0, :2]) < 0.5


class Diverging(Ekf):
    """Goes wrong in flight: what it says is no number, or far too vague."""

    how = "nan"
    since_us = math.inf

    def step(self, sensors, parameters=None):
        super().step(sensors, parameters)
        if sensors.t_us < self.since_us:
            return
        if self.how == "nan":
            self.pos[:] = self.vel[:] = self.quat[:] = self.ang_vel[:] = np.nan
        else:
            self.pos_std[:] = 7.0


def diverging(flight, how):
    f = flight(estimator=f"{HERE}:Diverging")
    f.autopilot.estimator.how, f.autopilot.estimator.since_us = how, f.simulation.t_us
    return f


def test_an_estimate_that_is_no_number_stops_the_rotors_and_reaches_none(flight):
    f = diverging(flight, "nan")
    commands = []
    f.run(1, lambda: commands.append(f.autopilot.commands.copy()), rate=250)
    assert np.isfinite(commands).all()
    assert any("the estimator has failed" in text for text in f.said)
    assert not f.autopilot.status["armed"][0] and not f.autopilot.commands.any()
    assert np.isfinite(f.simulation.state.pos).all()


class Late(parts.Estimator):
    """Says nothing but NaN before it is ready."""

    MEMORY = ("records", "ekf")

    def __init__(self, *args):
        super().__init__(*args)
        self.ekf = Ekf(*args)

    def step(self, sensors, parameters=None):
        self.ekf.step(sensors, parameters)
        for name in ("flags", "ready", "pos", "vel", "quat", "ang_vel", "accel_bias", "pos_std"):
            told = getattr(self.ekf, name)
            unknown = name not in ("flags", "ready") and not self.ekf.ready.all()
            getattr(self, name)[:] = np.nan if unknown else told


def test_an_estimator_may_say_nan_before_it_is_ready(flight):
    f = flight(estimator=f"{HERE}:Late")
    assert np.isfinite(f.autopilot.commands).all() and abs(f.pos[2] - HEIGHT) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("limit, lost", [(5.0, True), (-1.0, False), (20.0, False)])
def test_a_position_too_vague_counts_as_lost(flight, limit, lost):
    f = diverging(flight, "vague")
    f.autopilot.parameters.set(0, "COM_POS_FS_EPH", limit)
    f.run(1)
    assert (f.mode == Mode.LAND) == lost
    assert any("position lost" in text for text in f.said) == lost
    if lost:
        f.wait(lambda: not f.autopilot.status["armed"][0], 25)
        assert f.pos[2] < 0.3 < HEIGHT


def test_armed_in_offboard_on_the_ground_it_is_not_tilted():
    """The set-point of the first steps, while the rotors hardly turn."""
    simulation = Simulation(
        Scenario(fleet("iris", 3), speed=0.0, gps="m8n"), agent=HoverAgent(3), links=False
    )
    a, tilts = simulation.autopilot, []

    def look(t_us, state, sensors):
        tilts.append(np.where(a.status["armed"], tilt_of(a.status["sp_quat"]), 0.0).max())

    each_step(simulation, look)
    simulation.run(until_us=6_000_000)
    simulation.close()
    assert 0.0 < max(tilts) < 5.0


# Range finder and pitot tube on a vehicle in flight -----------------------------------------

OUTFITTED = """<sdf version="1.7"><model name="iris_outfitted">
<include><uri>model://iris</uri></include>
<link name="laser"><pose>0 0 -0.04 0 1.5707963 0</pose>
  <inertial><mass>0.01</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia>
  </inertial>
  <sensor name="laser" type="ray"><update_rate>20</update_rate>
    <ray><range><min>0.02</min><max>35</max></range></ray>
    <plugin name="laser" filename="libgazebo_lidar_plugin.so"/></sensor></link>
<joint name="laser_joint" type="fixed"><parent>iris::base_link</parent><child>laser</child></joint>
<link name="pitot"><pose>0.1 0 0 0 0 0</pose>
  <inertial><mass>0.01</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia>
  </inertial></link>
<joint name="pitot_joint" type="fixed"><parent>iris::base_link</parent><child>pitot</child></joint>
<plugin name="airspeed" filename="libgazebo_airspeed_plugin.so"><linkName>pitot</linkName></plugin>
</model></sdf>"""


@pytest.mark.slow
def test_a_range_finder_and_a_pitot_tube_are_used_and_logged(tmp_path):
    sdf, params, folder = (tmp_path / name for name in ("outfitted.sdf", "own.params", "run"))
    sdf.write_text(OUTFITTED)
    params.write_text("1\t1\tEKF2_ARSP_THR\t2.0\t9\n1\t1\tEKF2_RNG_CTRL\t2\t6\n")
    folder.mkdir()
    run_folder.prepare(folder)
    simulation = Simulation(
        Scenario(fleet(str(sdf), 1), speed=0.0, gps="rtk", wind="-4,2,0", params=str(params)),
        folder,
        agent=SquareAgent(1, side=12.0),
        links=False,
    )
    heights = []
    each_step(
        simulation,
        lambda t_us, state, sensors: heights.append(
            (simulation.autopilot.estimator.terrain[0], state.pos[0, 2])
            if t_us % 200_000 == 0
            else None
        ),
    )
    simulation.run(until_us=20_000_000)
    e = simulation.autopilot.estimator
    status = int(fleet_solution_status(e.records)[0])
    wind = e.wind[0].copy()
    simulation.close()
    assert e.flags[0] & RANGE_USED and e.flags[0] & AIRSPEED_USED
    np.testing.assert_allclose(wind, (-4.0, 2.0), atol=1.0)
    assert np.abs([terrain for terrain, z in filter(None, heights[2500:])]).max() < 0.25
    assert status & mavlink.ESTIMATOR_POS_VERT_AGL and status & mavlink.ESTIMATOR_POS_HORIZ_ABS
    assert not status & (mavlink.ESTIMATOR_CONST_POS_MODE | mavlink.ESTIMATOR_GPS_GLITCH)
    log = ULog(str(next(folder.glob("ulog/*/*.ulg"))))
    flags = log.get_dataset("estimator_status_flags").data
    assert flags["cs_fuse_aspd"][-1] and flags["cs_wind"][-1] and not flags["cs_wind"][0]
    told = log.get_dataset("estimator_status").data
    assert told["solution_status_flags"][-1] == status
    assert 0 < told["hagl_test_ratio"][-1] < 1 and 0 < told["tas_test_ratio"][-1] < 1
    logged = log.get_dataset("wind").data  # only since it is known
    assert logged["timestamp"][0] > 1_000_000
    assert (logged["windspeed_north"][-1], logged["windspeed_east"][-1]) == pytest.approx(
        (wind[1], wind[0]), abs=0.1
    )
    place = log.get_dataset("vehicle_local_position").data
    assert place["dist_bottom_valid"][-1]
    assert place["dist_bottom"][-1] == pytest.approx(heights[-1][1], abs=0.3)
