"""Wings of vehicles: read from SDF files, and how vehicles with them glide."""

import math
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jointed
from xtdrone_core import FleetModel, FleetState
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.errors import SdfError
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.vehicles.parts.wings import wing_figures
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

G, STEP_US, DENSITY = 9.80665, 4000, 1.2041
MASS, INERTIA = 1.5, (0.15, 0.1, 0.22)
MAIN, TAIL, FIN = 0.6, 0.1, 0.06  # areas [m^2]
ARM = 0.7  # of the tail behind the centre of gravity [m]
SLOPE, ZERO = 4.5, 0.05  # of lift [1/rad], angle of the main wing [rad]


def wing(name, area, x, more="", upward="0 0 1", drag=0.0, alpha0=0.0, induced=0.0):
    return (
        f'<plugin name="{name}" filename="libLiftDragPlugin.so"><link_name>base</link_name>'
        f"<cp>{x} 0 0</cp><area>{area}</area><air_density>{DENSITY}</air_density>"
        f"<forward>1 0 0</forward><upward>{upward}</upward><cla>{SLOPE}</cla>"
        f"<cda>{induced}</cda><cd_alpha0>{drag}</cd_alpha0><alpha0>{alpha0}</alpha0>"
        f"<alpha_stall>0.35</alpha_stall><cla_stall>-3</cla_stall>{more}</plugin>"
    )


def glider(tmp_path, drag=0.03, more=""):
    """Wing a little behind the centre of gravity, balanced by a tail that presses down."""
    body = (
        jointed.link("base", mass=MASS, inertia=INERTIA)
        + wing("main", MAIN, -0.02, drag=drag, alpha0=ZERO)
        + wing("tail", TAIL, -ARM)
        + wing("fin", FIN, -ARM, upward="0 1 0")
        + more
    )
    return jointed.write(tmp_path, body)


def trim():
    """Angle of attack at which no moment is left, and the lift coefficient on MAIN there."""
    main, tail = 0.02 * MAIN, ARM * TAIL
    alpha = -main * ZERO / (main + tail)
    return alpha, SLOPE * ((alpha + ZERO) * MAIN + alpha * TAIL) / MAIN


def flown(vehicle, seconds, speed, pitch, path):
    """States (K, 13) every 20 ms after a launch at 3 km; angles up [rad]."""
    engine = EmbeddedEngine(load_world("empty"), (jointed.spec(vehicle),), (vehicle,))
    stage = ActuatorStage(FleetModel.of([vehicle]))
    start = np.array(
        [
            0,
            0,
            3000.0,
            0,
            -math.sin(pitch / 2),
            0,
            math.cos(pitch / 2),
            speed * math.cos(path),
            0,
            speed * math.sin(path),
            0,
            0,
            0,
        ]
    )
    engine.place(0, start)
    rows, s = [], engine.state
    commands = np.zeros((1, len(vehicle.actuators)))
    for k in range(round(seconds * 250)):
        wrench = stage.step(commands, s, STEP_US)
        engine.step(wrench, stage.joint_targets, STEP_US)
        if k % 5 == 4:
            rows.append(np.concatenate([s.pos[0], s.quat[0], s.vel[0], s.ang_vel[0]]))
    engine.close()
    return np.array(rows)


def test_the_glide_ratio_is_that_of_lift_and_drag(tmp_path):
    """Let go in trim, it keeps speed, path and attitude for 20 s."""
    drag = 0.03
    alpha, lift = trim()
    path = -math.atan2(drag, lift)
    speed = math.sqrt(MASS * G * math.cos(path) / (0.5 * DENSITY * MAIN * lift))
    rows = flown(glider(tmp_path, drag), 20.0, speed, path + alpha, path)
    gone = rows[-1, :3] - rows[0, :3]
    assert -gone[0] / gone[2] == pytest.approx(lift / drag, rel=2e-3)
    np.testing.assert_allclose(np.linalg.norm(rows[:, 7:10], axis=1), speed, rtol=2e-3)
    assert abs(rows[:, 1]).max() < 1e-6  # straight ahead


@pytest.mark.parametrize("name", ["glider", "phi_tailsitter"])
def test_the_forces_of_wings_turn_with_the_vehicle_its_motion_and_the_wind(tmp_path, name):
    """Of whole wings and of half wings behind rotors."""
    vehicle = glider(tmp_path) if name == "glider" else load_vehicle(name)

    def wrench(turn):
        """Of a vehicle that is turned with its velocity, its angular velocity and the wind."""
        stage = ActuatorStage(FleetModel.of([vehicle]))
        state = FleetState.zeros(1, len(vehicle.actuators))
        state.pos[0, 2] = state.body_pos[0, 0, 2] = 1000.0
        state.body_quat[0, 0] = state.quat[0] = turn.as_quat()
        state.body_vel[0, 0] = state.vel[0] = turn.apply((12.0, 2.0, -1.0))
        state.body_ang_vel[0, 0] = state.ang_vel[0] = 0.3, -0.2, 0.1  # in the frame of the body
        stage.wind[0] = turn.apply((-3.0, 1.0, 0.5))
        commands = np.full((1, len(vehicle.actuators)), 0.4)
        return turn.inv().apply(stage.step(commands, state, STEP_US)[0, 0].reshape(2, 3))

    level = wrench(Rotation.identity())
    assert (abs(level[0]) > 0.05).all()
    for turn in Rotation.random(3, random_state=1):
        np.testing.assert_allclose(wrench(turn), level, atol=1e-9)


def test_stall_and_level_flight_are_those_of_the_lift_slope(tmp_path):
    """The main wing stalls first; what it loses beyond is more than the tail gains."""
    found = wing_figures(glider(tmp_path))
    weight, stall = 2.0 * MASS * G / DENSITY, 0.35 - ZERO
    maximum = SLOPE * ((stall + ZERO) * MAIN + stall * TAIL)
    speed = math.sqrt(weight / maximum)
    assert found["stall_speed_m_s"] == pytest.approx(speed, rel=2e-3)
    alpha = (maximum / 1.2**2 / SLOPE - ZERO * MAIN) / (MAIN + TAIL)
    drag = 0.03 * MAIN * (1.2 * speed) ** 2 * DENSITY / 2
    assert found["level_flight"][0] == (
        f"{1.2 * speed:.1f} m/s: angle of attack {math.degrees(alpha):.1f} deg, drag {drag:.2f} N"
    )


def linear():
    """System matrix of forward speed, climb, nose-up rate and pitch, about level trim; speed."""
    alpha, lift = trim()
    speed = math.sqrt(MASS * G / (0.5 * DENSITY * MAIN * lift))

    def rates(s):
        u, w, q, pitch = s
        force = np.zeros(2)
        moment = 0.0
        for area, x, zero in ((MAIN, -0.02, ZERO), (TAIL, -ARM, 0.0)):
            up = w + q * x
            coefficient = SLOPE * (zero + math.atan2(-up, u))
            one = 0.5 * DENSITY * area * math.hypot(u, up) * coefficient * np.array((-up, u))
            force += one
            moment += x * one[1]
        return np.array(
            (
                force[0] / MASS - G * math.sin(pitch) + q * w,
                force[1] / MASS - G * math.cos(pitch) - q * u,
                moment / INERTIA[1],
                q,
            )
        )

    level = np.array((speed * math.cos(alpha), -speed * math.sin(alpha), 0.0, alpha))
    step = 1e-5 * np.eye(4)
    return np.array([(rates(level + d) - rates(level - d)) / 2e-5 for d in step]).T, speed


def test_the_phugoid_has_the_period_of_linear_theory(tmp_path):
    """Lanchester's pi sqrt(2) V / g, longer here since the tail resists the turns of the path."""
    a, speed = linear()
    slow = min(abs(root.imag) for root in np.linalg.eigvals(a) if root.imag)
    rows = flown(glider(tmp_path, 0.0), 40.0, 1.03 * speed, trim()[0], 0.0)
    climb = rows[:, 9]
    rising = np.flatnonzero((climb[:-1] < 0.0) & (climb[1:] >= 0.0))
    assert len(rising) >= 3
    assert np.diff(rising).mean() * 0.02 == pytest.approx(math.tau / slow, rel=0.01)
    assert math.tau / slow > math.pi * math.sqrt(2.0) * speed / G


def test_short_period_and_damping_are_those_of_linear_theory(tmp_path):
    """The first second after a gust that turns the air by 0.02 rad."""
    a, speed = linear()
    alpha, _ = trim()
    rows = flown(glider(tmp_path, 0.0), 1.0, speed, alpha + 0.02, 0.0)
    turned = np.array((-speed * alpha, -speed, 0.0, 1.0)) * 0.02
    values, vectors = np.linalg.eig(a)
    share = np.linalg.solve(vectors, turned.astype(complex))
    times = 0.02 * np.arange(1, len(rows) + 1)
    expected = (vectors @ (share[:, None] * np.exp(np.outer(values, times)))).real
    # Forces are held for a step of 4 ms, which is 8 % of this motion's time constant.
    np.testing.assert_allclose(-rows[:, 11], expected[2], atol=0.06 * abs(expected[2]).max())


def test_a_deflected_surface_turns_the_nose(tmp_path):
    """An elevator with its trailing edge up pushes the tail down."""
    flap = (
        jointed.link("flap_link", f"{-ARM} 0 0 0 0 0", 0.001, (1e-6, 1e-6, 1e-6))
        + jointed.joint("elevator", "base", "flap_link", "0 1 0")
        + wing(
            "elevator",
            0.05,
            -ARM,
            "<control_joint_name>elevator</control_joint_name>"
            "<control_joint_rad_to_cl>-2.0</control_joint_rad_to_cl>",
        )
        + jointed.channels(jointed.channel(1, "elevator", 0.4))
    )
    vehicle = glider(tmp_path, more=flap)
    stage = ActuatorStage(FleetModel.of([vehicle]))
    engine = EmbeddedEngine(load_world("empty"), (jointed.spec(vehicle),), (vehicle,))
    engine.place(0, np.array([0, 0, 100.0, 0, 0, 0, 1, 15.0, 0, 0, 0, 0, 0]))
    still = stage.step(np.zeros((1, 1)), engine.state, STEP_US)[0, 0].copy()
    for _ in range(500):
        turned = stage.step(np.ones((1, 1)), engine.state, STEP_US)[0, 0]
    q = 0.5 * DENSITY * 15.0**2 * 0.05
    change = turned - still
    np.testing.assert_allclose(change[2], q * -2.0 * 0.4, rtol=2e-3)
    arm = -ARM - vehicle.cog[0]
    np.testing.assert_allclose(change[4], -arm * change[2], rtol=5e-3)
    engine.close()


SLIPSTREAM = (
    "<xtdrone:slipstream><motorNumber>0</motorNumber><radius>0.1</radius></xtdrone:slipstream>"
)


def blown(tmp_path, fall=""):
    """A wing behind a tractor rotor."""
    motor = (
        jointed.rotor(0, "base", "0.2 0 0")
        .replace("0 0 1", "1 0 0")
        .replace("</plugin>", f"{fall}</plugin>")
    )
    return jointed.write(
        tmp_path,
        jointed.link("base", mass=MASS, inertia=INERTIA)
        + motor
        + wing("main", 0.05, -0.02, SLIPSTREAM, alpha0=0.1),
    )


@pytest.mark.parametrize(
    "fall, speed",
    [("", -3.0), ("", 0.0), ("", 12.0), ("<maxRelativeAirspeed>25</maxRelativeAirspeed>", 12.0)],
)
def test_a_wing_lies_in_the_slipstream_of_momentum_theory(tmp_path, fall, speed):
    """Its dynamic pressure is that of v^2 + 2 T / (rho A), by the thrust that is left at v."""
    vehicle = blown(tmp_path, fall)
    stage, state = ActuatorStage(FleetModel.of([vehicle])), FleetState.zeros(1, 1)
    state.vel[0, 0] = state.body_vel[0, 0, 0] = speed
    for _ in range(500):
        wrench = stage.step(np.array([[0.5]]), state, STEP_US)[0, 0]
    thrust = 5.84e-6 * 550.0**2 * (1.0 - speed / 25.0 if fall else 1.0)
    square = speed * abs(speed) + 2.0 * thrust / (stage.density[0] * math.pi * 0.1**2)
    assert wrench[2] == pytest.approx(0.5 * DENSITY * 0.05 * SLOPE * 0.1 * square, rel=1e-3)


@pytest.mark.parametrize(
    "tags, words",
    [
        ("<radius>0</radius>", "<radius> of a rotor is 0: give metres above 0"),
        ("<motorNumber>3</motorNumber>", "lies in the slipstream of motor 3: give the motorNumber"),
        ("<area>1</area>", "unknown element of <xtdrone:slipstream>"),
    ],
)
def test_slipstreams_that_make_no_sense_are_refused(tmp_path, tags, words):
    tag = tags[1 : tags.index(">")]
    block = re.sub(f"<{tag}>.*?</{tag}>", "", SLIPSTREAM).replace("</xt", f"{tags}</xt")
    with pytest.raises(SdfError, match=words):
        jointed.write(
            tmp_path,
            jointed.link("base")
            + jointed.rotor(0, "base", "0.2 0 0")
            + wing("main", 0.05, -0.02, block),
        )


@pytest.mark.parametrize(
    "tags, words",
    [
        ("<area>0</area>", "<area> of wing 'main' is 0: give a number above 0"),
        ("<air_density>-1</air_density>", "<air_density> of wing 'main' is -1"),
        ("<alpha_stall>0</alpha_stall>", "<alpha_stall> of wing 'main' is 0"),
        ("<upward>1 0 0</upward>", "<forward> and <upward> of wing 'main' are parallel"),
        ("<forward>0 0 0</forward>", "<forward> and <upward> of wing 'main' are parallel"),
    ],
)
def test_wings_that_make_no_sense_are_refused(tmp_path, tags, words):
    link = "" if "link_name" in tags else "<link_name>base</link_name>"
    with pytest.raises(SdfError, match=words):
        jointed.write(
            tmp_path,
            jointed.link("base") + f'<plugin name="main" '
            f'filename="libLiftDragPlugin.so">{link}{tags}</plugin>',
        )


def test_a_number_with_a_second_point_is_read_up_to_it(tmp_path):
    """As "0.0." in PX4's VTOLs."""
    vehicle = glider(tmp_path, more=wing("strake", 0.02, 0.0, "<cma>-0.5.</cma>"))
    assert vehicle.wings[-1].cma == -0.5


def test_a_surface_that_nothing_deflects_is_named(tmp_path):
    vehicle = glider(
        tmp_path, more=wing("rudder", 0.02, -ARM, "<control_joint_name>hinge</control_joint_name>")
    )
    assert any("'rudder' is never deflected" in line for line in vehicle.remarks)


def test_aerodynamics_that_are_not_computed_are_named(tmp_path):
    """As in PX4's advanced_plane and quadtailsitter, which load without a force of the air."""
    vehicle = glider(
        tmp_path, more='<plugin name="aircraft" filename="libAdvancedLiftDragPlugin.so"/>'
    )
    assert any(
        "plugin 'aircraft' is left out: the air exerts no force" in line for line in vehicle.remarks
    )


def test_vehicles_without_wings_have_no_records():
    fleet = FleetModel.of([load_vehicle("iris")])
    assert fleet.wing.shape == (1, 0) and fleet.vehicle["wings"][0] == 0
