"""INDI on half wings: its closed forms against the trim of DarkO, and flights there and back."""

import math

import numpy as np
import pytest

import xtdrone as xd
from darko import DARKO, WEIGHT, trim
from xtdrone_autopilot.interfaces import ESTIMATE
from xtdrone_autopilot.state.vehicle_status import STAGE_FLIGHT, STAGE_RAMP, VEHICLE_STATUS
from xtdrone_control.agents import HoverAgent
from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.quaternion import rotate, rotate_inverse
from xtdrone_guidance.agents import GuidanceAgent, TrajectoryAgent
from xtdrone_guidance.indi.aerodynamics import flies, learn_wind, point_wings, turn_heading
from xtdrone_guidance.indi.half_wings import HalfWings
from xtdrone_guidance.indi.trim import REACH, braking_limit, half_wings_of, held_path, within_reach

HANGING, FLYING = 0.0, 1.0
GUSTS = "mean=0,5,0 dryden=5"
INDI = {"velocity_control": "indi", "rate_control": "indi"}


@pytest.fixture(scope="module")
def wings():
    """Sums of the half wings of phi_tailsitter."""
    return half_wings_of(FleetModel.of([xd.load_vehicle("phi_tailsitter")]))[0]


def test_a_vehicle_that_cannot_be_trimmed_is_refused_in_one_line(tmp_path):
    text = xd.load_vehicle("phi_tailsitter").sdf.read_text()
    path = tmp_path / "model.sdf"
    path.write_text(
        text.replace("<upper>0.523599</upper>", "<upper>0.4</upper>").replace(
            "<lower>-0.523599</lower>", "<lower>-0.4</lower>"
        )
    )
    fleet = FleetModel.of([xd.load_vehicle(str(path))])
    with pytest.raises(XtdroneError, match="cannot be trimmed at .* m/s") as caught:
        HalfWings(fleet)
    assert "\n" not in str(caught.value)


def test_elevons_that_cannot_hold_the_moment_of_the_thrust_do_not_hover(tmp_path):
    text = xd.load_vehicle("tal_tailsitter").sdf.read_text()
    path = tmp_path / "model.sdf"
    path.write_text(text.replace("0.610865", "0.15"))  # 0.2 rad are needed
    with pytest.raises(XtdroneError, match="pitch") as caught:
        xd.Simulation(xd.Scenario(vehicles=str(path), log="none", **INDI))
    assert "\n" not in str(caught.value)


def test_the_thrust_leans_where_elevons_hold_its_moment():
    fleet = FleetModel.of([xd.load_vehicle("tal_tailsitter")])
    sums = half_wings_of(fleet)[0]
    assert sums["lift"] == pytest.approx(0.29, rel=0.01)  # c_LV: neutral wings need no elevon
    assert sums["lean"] == pytest.approx(0.025 / 0.1, rel=0.02)
    vehicle, estimate = upright()
    weight = 0.68 * 9.80665
    vehicle["mass"], vehicle["thrust_max"], vehicle["sp_thrust"] = 0.68, 20.0, weight
    point_wings(vehicle, sums, estimate, 0.0, HANGING, (0.0, 0.0, 0.0), (0.0, 0.0, weight))
    lean = math.atan(float(sums["lean"]))
    assert nose(vehicle["sp_quat"]) == pytest.approx((-math.sin(lean), 0.0, math.cos(lean)))


def test_wings_turn_with_no_more_braking_than_elevons_hold(wings):
    mass = WEIGHT / 9.80665
    path = np.array([-1.5, 0.3, 0.1, 0.6, 0.2, 0.4])
    fast = held_path(wings, mass, (15.0, 0.0, 0.0), path)
    assert (*fast[0], *fast[1]) == pytest.approx(tuple(path))
    most = braking_limit(wings, 6.0, WEIGHT) / mass
    acceleration, jerk = held_path(wings, mass, (6.0, 0.0, 0.0), path)
    assert -1.5 < most < 0.0 and acceleration == pytest.approx((most, 0.3, 0.1))
    assert jerk == pytest.approx((0.6 * -most / 1.5, 0.2, 0.4))
    speeding = held_path(wings, mass, (6.0, 0.0, 0.0), -path)
    assert (*speeding[0], *speeding[1]) == pytest.approx(tuple(-path))


@pytest.mark.slow
def test_it_flies_a_loop_and_goes_on():
    agent = Loop(1, curve="loop", speed=7.0, height=10.0)
    scenario = xd.Scenario(vehicles="tal_tailsitter", gps="rtk", log="none", seed=1, **INDI)
    with xd.Simulation(scenario, agent=agent) as simulation:
        simulation.run_until(lambda: agent.rms is not None, "through the loop", 60.0)
    assert agent.rms < 0.15
    assert min(agent.noses) < -0.9 and agent.noses[-1] > 0.9


@pytest.mark.slow
def test_from_rest_it_joins_a_circle_whose_field_turns_faster_than_it_can(tmp_path):
    angles = 2.0 * np.pi * np.arange(40) / 40
    path = tmp_path / "circle.csv"
    points = 20.0 * np.column_stack([np.sin(angles), 1.0 - np.cos(angles), 0.0 * angles])
    np.savetxt(path, points, delimiter=",")
    agent = GuidanceAgent(
        1, path=str(path), closed=True, speed=10.0, acceleration=6.0, width=2.5, height=10.0
    )
    scenario = xd.Scenario(vehicles="tal_tailsitter", gps="rtk", log="none", seed=2, **INDI)
    aside = []
    with xd.Simulation(scenario, agent=agent) as simulation:
        while simulation.state.pos[0, 1] < 20.0 and len(aside) < 1000:
            simulation.step(5)
            x, y = simulation.state.pos[0, :2]
            aside.append(math.hypot(x, y - 20.0) - 20.0)
    assert np.abs(aside).max() < 1.0  # 38 m where errors count for less than the turns of the field


def upright(vel=(0.0, 0.0, 0.0)):
    """Records of status and estimate of the vehicle, nose up and belly to the east."""
    vehicle, estimate = np.zeros(1, VEHICLE_STATUS)[0], np.zeros(1, ESTIMATE)[0]
    vehicle["mass"], vehicle["thrust_max"], vehicle["sp_yaw"] = WEIGHT / 9.80665, 9.0, 0.0
    estimate["quat"], estimate["vel"] = (0.0, 0.0, 0.0, 1.0), vel
    return vehicle, estimate


def nose(quat):
    return np.array(rotate(*quat, 0.0, 0.0, 1.0))


def test_other_vehicles_have_no_half_wings():
    names = ("iris", "plane", "tailsitter", "tiltrotor")
    sums = half_wings_of(FleetModel.of([xd.load_vehicle(name) for name in names]))
    assert not sums["lift"].any()


@pytest.mark.parametrize("speed", [0.0, 2.0, 6.0, 10.0, 15.0, 20.0])
def test_the_thrust_points_as_in_level_trim(wings, speed):
    vehicle, estimate = upright((speed, 0.0, 0.0))
    air = (speed, 0.0, 0.0)
    point_wings(vehicle, wings, estimate, 0.0, FLYING, air, (0.0, 0.0, WEIGHT))
    alpha, _, _ = trim(speed)
    wanted = (math.cos(alpha), 0.0, math.sin(alpha))
    assert nose(vehicle["sp_quat"]) == pytest.approx(wanted, abs=2e-3)
    left = np.array(rotate(*vehicle["sp_quat"], 0.0, 1.0, 0.0))
    assert left == pytest.approx((0.0, 1.0, 0.0), abs=1e-9)


def test_a_turn_to_the_left_lowers_the_left_wing(wings):
    vehicle, estimate = upright((15.0, 0.0, 0.0))
    air = (15.0, 0.0, 0.0)
    point_wings(vehicle, wings, estimate, 0.0, FLYING, air, (0.0, 0.5 * WEIGHT, WEIGHT))
    assert rotate(*vehicle["sp_quat"], 0.0, 1.0, 0.0)[2] < -0.3


def test_wind_along_the_span_does_not_tilt_a_hover(wings):
    vehicle, estimate = upright()
    air = (0.0, -5.0, 0.0)
    point_wings(vehicle, wings, estimate, 0.0, HANGING, air, (0.0, 0.0, WEIGHT))
    assert nose(vehicle["sp_quat"]) == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("air", "stage", "over_weight"),
    [
        ((0.0, -5.0, 0.0), STAGE_FLIGHT, 0.5),  # along the span
        ((5.0, 0.0, 0.0), STAGE_FLIGHT, 1.5),  # onto the wings
        ((5.0, 0.0, 0.0), STAGE_RAMP, 0.5),  # and at a take-off, which it must not hasten
    ],
)
def test_air_onto_the_wings_gets_slipstream_for_the_elevons(wings, air, stage, over_weight):
    vehicle, estimate = upright()
    vehicle["stage"], vehicle["sp_torque"][1] = stage, 100.0
    force = (0.0, 0.0, 0.1 * WEIGHT)
    point_wings(vehicle, wings, estimate, 0.0, HANGING, air, force)
    assert vehicle["sp_thrust"] == pytest.approx(over_weight * WEIGHT)


@pytest.mark.parametrize("speed", [5.0, 6.0, 8.0, 12.0])
def test_at_the_limit_of_braking_the_elevons_are_at_their_end(wings, speed):
    along = braking_limit(wings, speed, WEIGHT)
    ahead = along + wings["lift"] * speed**2
    alpha = math.atan2(WEIGHT, ahead)
    thrust = along * math.cos(alpha) + WEIGHT * math.sin(alpha)
    elevon = speed**2 * math.sin(alpha)
    elevon /= DARKO.zeta_m * (speed**2 * math.cos(alpha) + wings["wash"] * thrust)
    assert math.degrees(elevon) == pytest.approx(30.0 * REACH, abs=0.2)


def test_braking_has_no_limit_in_a_slow_hover(wings):
    assert braking_limit(wings, 2.0, WEIGHT) == -math.inf


def test_what_carries_a_descent_is_no_braking(wings):
    air, force = (0.2, -0.1, -1.5), (-0.1 * WEIGHT, 0.1 * WEIGHT, WEIGHT)
    assert within_reach(wings, WEIGHT, air, force) == force
    fx, _, _ = within_reach(wings, WEIGHT, (1.0, 0.0, 0.0), (-WEIGHT, 0.0, WEIGHT))
    assert fx == pytest.approx(-0.25 * WEIGHT)


def test_wings_are_edge_on_in_a_hover_in_wind_and_face_the_air_in_flight():
    vehicle, estimate = upright()
    heading, air = 0.2, (-5.0, 0.0, 0.0)
    assert not flies(vehicle, estimate, air)
    for _ in range(1000):
        heading = turn_heading(vehicle, estimate, heading, False, air, 0.008)
    assert abs(math.cos(heading)) < 1e-9
    for _ in range(1000):
        heading = turn_heading(vehicle, estimate, heading, True, air, 0.008)
    assert math.cos(heading) == pytest.approx(-1.0)
    vehicle["sp_vel"] = (6.0, 0.0, 0.0)
    assert flies(vehicle, estimate, air)


@pytest.mark.parametrize("seed", [2, 6])
def test_it_takes_off_in_gusts_and_does_not_fight_the_ground(seed):
    agent = HoverAgent(1, height=2.0)
    scenario = xd.Scenario(
        vehicles="phi_tailsitter", gps="rtk", log="none", seed=seed, wind=GUSTS, **INDI
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        simulation.run_until(lambda: simulation.state.pos[0, 2] > 1.5, "in the air", 12.0)
        assert nose(simulation.state.quat[0])[2] > 0.5


def test_one_that_a_gust_drags_over_the_ground_lifts_off_before_it_tips_over():
    agent = GuidanceAgent(1, path="circle", speed=8.0, height=30.0)
    scenario = xd.Scenario(
        vehicles="phi_tailsitter", gps="rtk", log="none", seed=6, wind=GUSTS, **INDI
    )
    noses, dragged = [], 0.0
    with xd.Simulation(scenario, agent=agent) as simulation:
        while simulation.state.pos[0, 2] < 1.5 and len(noses) < 600:
            simulation.step(5)
            noses.append(nose(simulation.state.quat[0])[2])
            dragged = max(dragged, np.hypot(*simulation.state.pos[0, :2]))
    assert dragged > 0.3 and min(noses) > 0.5
    assert len(noses) < 600  # steps of 20 ms


@pytest.mark.parametrize("alpha", [0.2, 0.5, 1.2])
@pytest.mark.parametrize("true", [(3.0, 0.0, 0.0), (0.0, 0.0, 1.0), (-2.0, 0.0, 0.0)])
def test_the_wind_is_learnt_from_the_force_on_the_wings(wings, alpha, true):
    quat = np.array([0.0, math.sin(0.25 * math.pi - 0.5 * alpha), 0.0, 0.0])
    quat[3] = math.sqrt(1.0 - quat[1] ** 2)
    wind = np.zeros(3)
    vel = np.array([12.0, 0.0, 0.0])
    for _ in range(200):
        felt, taken = (_normal_force(wings, quat, vel - each) for each in (true, wind))
        air = rotate_inverse(*quat, *(vel - wind))
        force = rotate(*quat, felt - taken, 0.0, 0.0)
        learn_wind(wings, quat, air, force, 0.01, wind)
    largest = int(np.argmax(np.abs(true)))
    assert wind[largest] * true[largest] > 0.0 or (alpha, largest) == (1.2, 2)  # hardly felt there
    assert _normal_force(wings, quat, vel - wind) == pytest.approx(
        _normal_force(wings, quat, vel - true), rel=0.25, abs=0.3
    )


def _normal_force(wings, quat, air):
    """Force along the normal of wings with level elevons [N]."""
    return -wings["normal"] * np.linalg.norm(air) * rotate_inverse(*quat, *air)[0]


class Loop(TrajectoryAgent):
    """Notes where the nose points, and the error of position by the estimates."""

    rms = None

    def attach(self, flight):
        self.flight, self.noses = flight, []

    def event(self, t_us, name, **values):
        self.rms = values.get("rms_m", self.rms)
        super().event(t_us, name, **values)

    def fly(self, t_us, estimates, out):
        self.noses.append(nose(self.flight.state.quat[0])[2])
        return super().fly(t_us, estimates, out)


class Dash(GuidanceAgent):
    """Notes true heights and speeds along the path, and for 8 s after it."""

    def attach(self, flight):
        self.flight, self.heights, self.speeds = flight, [], []
        self.over_us, self.rests = None, False

    def fly(self, t_us, estimates, out):
        over = super().fly(t_us, estimates, out)
        state = self.flight.state
        self.heights.append(state.pos[0, 2] - self.home[0, 2] - self.height)
        self.speeds.append(np.linalg.norm(state.vel[0]))
        if over and self.over_us is None:
            self.over_us = t_us
        self.rests = over and t_us - self.over_us > 8_000_000
        return self.rests


def dash(tmp_path, way, lands=False, **options):
    """Flies 200 m at 15 m/s, from hover to hover; returns heights and speeds."""
    path = tmp_path / "line.csv"
    path.write_text(f"0,0,0\n{200 * way[0]},{200 * way[1]},0\n")
    agent = Dash(1, path=str(path), speed=15.0, acceleration=1.5, width=8.0, height=20.0)
    scenario = xd.Scenario(vehicles="phi_tailsitter", gps="rtk", log="none", **INDI, **options)
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not (agent.done if lands else agent.rests):
            simulation.step(250)
    return np.array(agent.heights), np.array(agent.speeds)


@pytest.mark.long
def test_from_hover_to_fast_flight_and_back_within_a_metre_of_height(tmp_path):
    heights, speeds = dash(tmp_path, (1, 0), lands=True, seed=1)
    assert abs(heights).max() < 1.0
    assert speeds.max() > 14.5 and speeds[-1] < 0.5


@pytest.mark.long
@pytest.mark.parametrize("way", [(1, 0), (0, 1), (-1, 0)])
def test_in_wind_with_turbulence_likewise(tmp_path, way):
    heights, speeds = dash(tmp_path, way, seed=2, wind=GUSTS)
    assert abs(heights).max() < 1.0
    assert speeds.max() > 14.0 and speeds[-1] < 2.0
