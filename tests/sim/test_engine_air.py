"""Effects and wind where they meet the vehicle."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from physics import MULTIROTORS, STEP_US, aloft, effects, fall, push, state_of, with_block
from sensor_models.parameters import presets
from xtdrone_core import FleetModel, FleetState, Scenario
from xtdrone_core.command import main
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_dynamics.earth import atmosphere
from xtdrone_sim.engines.body import place_bodies
from xtdrone_sim.errors import SdfError, WindError
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.plant.wind import Gust, Wind, WindParameters
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.parts.effects import EFFECTS
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle

G = 9.80665


def iris(**effects):
    return dataclasses.replace(load_vehicle("iris"), effects=effects)


def wrench_of(model, vel=(0, 0, 0), height=100.0, command=0.6, wind=(0, 0, 0), altitude=0.0):
    stage = ActuatorStage(FleetModel.of([model]), altitude)
    state = FleetState.zeros(1, len(model.rotors))
    state.pos[0, 2], state.vel[0], stage.wind[0] = height, vel, wind
    for _ in range(500):
        wrench = stage.step(np.full((1, len(model.rotors)), command), state, STEP_US)[:, 0]
    return wrench[0]


def test_drags_add_to_the_rotors_force():
    plain = wrench_of(iris(), (4.0, 0.0, 3.0))
    linear = wrench_of(iris(linear_drag={"coefficients": (0.5, 0.3, 0.2)}), (4.0, 0.0, 3.0))
    np.testing.assert_allclose(linear - plain, (-2.0, 0, -0.6, 0, 0, 0), atol=1e-12)
    square = wrench_of(iris(quadratic_drag={"areas": (0.02, 0.02, 0.04)}), (4.0, 0.0, 3.0))
    np.testing.assert_allclose(
        (square - plain)[:3],
        -0.5 * 1.225 * 5.0 * np.array((0.02 * 4.0, 0.0, 0.04 * 3.0)),
        atol=1e-12,
    )


def test_moving_air_and_a_moving_vehicle_are_the_same():
    model = iris(quadratic_drag={"areas": (0.02, 0.02, 0.04)})
    np.testing.assert_allclose(
        wrench_of(model, (3.0, -1.0, 0.5)), wrench_of(model, wind=(-3.0, 1.0, -0.5)), atol=1e-12
    )


def test_ground_effect_lifts_near_the_ground_only():
    plain = wrench_of(iris(), height=0.1)
    near = wrench_of(iris(ground_effect={"rotor_radius": (0.128,)}), height=0.1)
    hub = 0.1 + load_vehicle("iris").rotors[0].pos[2]
    assert near[2] / plain[2] == pytest.approx(1.0 / (1.0 - (0.128 / 4 / hub) ** 2))
    far = wrench_of(iris(ground_effect={"rotor_radius": (0.128,)}), height=50.0)
    assert far[2] == pytest.approx(plain[2], rel=1e-6)


def test_translational_lift_and_climb_damping():
    model = iris(translational_lift={"lift": (0.01,), "damping": (1e-4,)})
    plain = wrench_of(iris())
    assert wrench_of(model)[2] == pytest.approx(plain[2])
    assert wrench_of(model, (5.0, 0, 0))[2] - plain[2] == pytest.approx(4 * 0.01 * 25.0)
    assert wrench_of(model, (0, 0, 2.0))[2] - plain[2] == pytest.approx(-4 * 1e-4 * 700.0 * 2.0)


def test_thin_air_carries_less():
    model = iris(air_density={})
    ratio = atmosphere.density(3100.0) / 1.225
    assert wrench_of(model, altitude=3000.0)[2] == pytest.approx(
        ratio * wrench_of(iris())[2], rel=1e-7
    )


def test_downwash_pushes_the_lower_vehicle_only():
    model = iris(downwash={"rotor_radius": (0.128,)}, linear_drag={"coefficients": (0.5, 0.5, 0.5)})
    stage = ActuatorStage(FleetModel.of([model] * 3))
    state = FleetState.zeros(3, 4)
    state.pos[:] = (0, 0, 12), (0.1, 0, 10), (5, 0, 10)
    for _ in range(500):
        wrench = stage.step(np.full((3, 4), 0.6), state, STEP_US)[:, 0]
    assert wrench[0, 2] == pytest.approx(wrench[2, 2])
    assert wrench[1, 2] < wrench[0, 2] - 1.0


def test_terminal_velocity_under_quadratic_drag():
    """v = v_t tanh(g t / v_t), v_t = sqrt(2 m g / rho A)."""
    model = iris(quadratic_drag={"areas": (0.02, 0.02, 0.05)})
    terminal = math.sqrt(2.0 * model.mass * G / (1.225 * 0.05))
    t = np.arange(1, 2501) * 0.004
    np.testing.assert_allclose(fall(model, 10.0), terminal * np.tanh(G * t / terminal), atol=0.02)
    assert fall(model, 20.0)[-1] == pytest.approx(terminal, rel=1e-6)


def test_terminal_velocity_under_linear_drag():
    """v = v_t (1 - exp(-g t / v_t)), v_t = m g / k."""
    model = iris(linear_drag={"coefficients": (0.5, 0.5, 0.8)})
    terminal = model.mass * G / 0.8
    t = np.arange(1, 2501) * 0.004
    np.testing.assert_allclose(
        fall(model, 10.0), terminal * -np.expm1(-G * t / terminal), atol=0.02
    )


def test_a_hover_without_control_drifts_with_the_wind():
    """The rotors' H-force alone carries the iris: it ends at the speed of the wind."""
    model = iris()
    engine, stage, _ = aloft(model, 50.0)
    stage.wind[0] = 4.0, -3.0, 0.0
    rotors = vehicle_figures(model)["hover_speed_rad_s"]
    commands = np.array([vehicle_figures(model)["hover_command"]])
    factor = sum(speed * r.rotor_drag_coefficient for speed, r in zip(rotors, model.rotors))
    engine.state.actuator[0] = rotors
    for _ in range(500):
        wrench = stage.step(commands, engine.state, STEP_US)[:, 0]
        wrench[0, 3:] = 0.0  # attitude is held: what is left is the drift
        state = push(engine, wrench, STEP_US)
    expected = np.array((4.0, -3.0)) * (1.0 - math.exp(-factor / model.mass * 2.0))
    np.testing.assert_allclose(state.vel[0, :2], expected, rtol=2e-3)


WAKE = (
    "<downwash><rotor_radius>0.1</rotor_radius></downwash>"
    "<linear_drag><coefficients>0 0 1</coefficients></linear_drag>"
)


@pytest.mark.parametrize(
    "block, message",
    [
        (effects("<lift>1</lift>"), "<xtdrone:effects> 'lift': choose one of air_density"),
        (effects("linear_drag"), "holds the text 'linear_drag'"),
        (effects("<linear_drag/>"), "has no <coefficients>"),
        (effects("<linear_drag><coefficients>1 2</coefficients></linear_drag>"), "give 3 numbers"),
        (
            effects("<linear_drag><coefficients>1 2 -3</coefficients></linear_drag>"),
            "give numbers from 0",
        ),
        (
            effects("<linear_drag><coefficients>1 2 nan</coefficients></linear_drag>"),
            "give 3 numbers",
        ),
        (
            effects("<quadratic_drag><areas>1 1 1</areas><cd>1</cd></quadratic_drag>"),
            "<quadratic_drag> 'cd': choose one of areas",
        ),
        (effects("<ground_effect><rotor_radius>0</rotor_radius></ground_effect>"), "above 0"),
        (effects("<air_density/><air_density/>"), "<air_density> appears twice"),
        (effects("<air_density>0</air_density>"), "leave it out to switch it off"),
        (effects(WAKE.replace("0 0 1", "1 1 0")), "downwash is felt through drag along z"),
        (effects("<air_density/>") * 2, "a second <xtdrone:effects>"),
        ("<xtdrone:efects/>", "did you mean 'effects'"),
        ("<effects/>", "write <xtdrone:effects xmlns:xtdrone="),
        ("<xtdrone:propeller/>", "is in <model>: put it into <plugin>"),
    ],
)
def test_bad_effects_say_where(tmp_path, block, message):
    path = with_block(tmp_path, block)
    with pytest.raises(SdfError, match=r"model\.sdf:\d+: ") as caught:
        load_vehicle(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


BY_NAME = {
    "linear_drag": "<linear_drag><coefficients>0.5 0.3 0</coefficients></linear_drag>",
    "quadratic_drag": "<quadratic_drag><areas>0.02 0.02 0.05</areas></quadratic_drag>",
    "ground_effect": "<ground_effect><rotor_radius>0.128</rotor_radius></ground_effect>",
    "translational_lift": "<translational_lift><lift>0.01</lift><damping>1e-4</damping>"
    "</translational_lift>",
    "downwash": WAKE,
    "air_density": "<air_density/>",
}


@pytest.mark.parametrize("name", EFFECTS)
def test_every_effect_is_switched_by_its_name_in_the_vehicles_file(tmp_path, name):
    """Two of them, one above the other, near the ground of a high place, in sideways wind."""
    model = load_vehicle(with_block(tmp_path, effects(BY_NAME[name])))
    found = []
    for each in (iris(), model):
        stage = ActuatorStage(FleetModel.of([each] * 2), 2000.0)
        state = FleetState.zeros(2, 4)
        state.pos[:, 2], stage.wind[:] = (0.2, 1.2), (2.0, 0.0, 0.0)
        for _ in range(100):
            wrench = stage.step(np.full((2, 4), 0.6), state, STEP_US)[:, 0]
        found.append(wrench[0].copy())
    assert name in model.effects
    assert np.abs(found[1] - found[0]).max() > 0.02


def test_an_included_vehicle_brings_its_effects_and_its_battery(tmp_path):
    """As iris_stereo includes iris: what the inner file switches on must not be lost."""
    path = tmp_path / "rig.sdf"
    path.write_text("""<sdf version="1.7"><model name="rig"><include>
        <uri>model://typhoon_h480</uri></include></model></sdf>""")
    assert load_vehicle(str(path)).battery == load_vehicle("typhoon_h480").battery
    inner = with_block(tmp_path, effects("<air_density/>"))
    path.write_text(f"""<sdf version="1.7"><model name="rig"><include>
        <uri>file://{inner}</uri></include></model></sdf>""")
    assert load_vehicle(str(path)).effects == {"air_density": {}}


PROPELLER = """<xtdrone:propeller><diameter>0.256</diameter><blades>2</blades>
    <chord>0.02</chord><staticThrust>0.1</staticThrust><staticMoment>0.02</staticMoment>
    <staticDrag>0.03</staticDrag><rootPitch>0.3</rootPitch><twist>-0.1</twist>
    <liftSlope>5.7</liftSlope></xtdrone:propeller>"""


def with_propeller(tmp_path, propeller):
    path = Path(with_block(tmp_path, ""))
    text = path.read_text()
    for tag in (
        "motorConstant",
        "momentConstant",
        "rotorDragCoefficient",
        "rollingMomentCoefficient",
    ):
        start = text.index(f"<{tag}>")
        end = text.index(f"</{tag}>", start) + len(tag) + 3
        text = text[:start] + text[end:]
    start = text.index("<motorNumber>0")
    path.write_text(text[:start] + propeller + text[start:])
    return str(path)


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("<diameter>0.256", "<diameter>-1", "<diameter> of a propeller is -1"),
        ("<chord>0.02</chord>", "", "has no <chord>"),
        ("liftSlope", "liftSlop", "did you mean 'liftSlope'"),
    ],
)
def test_bad_propellers_say_where(tmp_path, right, wrong, message):
    with pytest.raises(SdfError, match=message):
        load_vehicle(with_propeller(tmp_path, PROPELLER.replace(right, wrong)))


def test_rotor_constants_from_propeller_geometry(tmp_path):
    rotor = load_vehicle(with_propeller(tmp_path, PROPELLER)).rotors[0]
    assert rotor.motor_constant == pytest.approx(0.1 * 1.225 * 0.256**4 / (2 * math.pi) ** 2)
    assert rotor.moment_constant == pytest.approx(0.2 * 0.256)
    assert rotor.rotor_drag_coefficient == pytest.approx(1.225 * 2 * 0.02 * 0.03 * 0.256**2 / 16)
    assert rotor.rolling_moment_coefficient == pytest.approx(
        (0.3 / 48 - 0.1 / 64) * 1.225 * 2 * 5.7 * 0.02 * 0.256**3
    )


def blow(parameters, n=2, steps=1, seed=3, pos=None):
    wind, out = Wind(parameters, n, seed), np.zeros((n, 3))
    pos = np.tile((0.0, 0.0, 20.0), (n, 1)) if pos is None else np.array(pos, dtype=float)
    series = []
    for k in range(steps):
        wind.step(k * STEP_US, STEP_US, pos, np.zeros((n, 3)), out)
        series.append(out.copy())
    return np.array(series)


def test_constant_wind_and_gust():
    parameters = WindParameters((3.0, 1.0, 0.0), (Gust(0.4, 0.8, (0.0, 2.0, -1.0)),))
    series = blow(parameters, steps=400)
    np.testing.assert_allclose(series[0], [(3, 1, 0)] * 2)
    np.testing.assert_allclose(series[200], [(3, 3, -1)] * 2, atol=1e-12)
    np.testing.assert_allclose(series[-1], [(3, 1, 0)] * 2)


def test_turbulence_is_seeded_per_vehicle_and_has_its_strength():
    parameters = WindParameters((6.0, 0.0, 0.0), dryden=10.0)
    series = blow(parameters, n=40, steps=1000)
    np.testing.assert_array_equal(series[:50, :3], blow(parameters, n=3, steps=50))
    assert not np.allclose(series[:, 0], series[:, 1])
    assert not np.allclose(blow(parameters, seed=4), series[:1, :2])
    feet = 20.0 / 0.3048
    sigma = 1.0 / (0.177 + 0.000823 * feet) ** 0.4
    np.testing.assert_allclose(series.std(axis=(0, 1)), (sigma, sigma, 1.0), rtol=0.2)


def test_a_field_from_a_file_is_interpolated(tmp_path):
    x, y, z = np.array([0.0, 10.0]), np.array([-5.0, 0.0, 5.0]), np.array([0.0])
    grid = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1)
    file = tmp_path / "field.npz"
    np.savez(file, x=x, y=y, z=z, velocity=grid @ np.diag((0.5, 2.0, 1.0)) + (0, 0, 7))
    places = [(2.0, 1.0, 30.0), (10.0, -5.0, 0.0), (99.0, 99.0, 0.0)]
    found = blow(WindParameters.parse(f"mean=1,0,0 field={file}"), n=3, pos=places)[0]
    np.testing.assert_allclose(found, [(2, 2, 7), (6, -10, 7), (6, 10, 7)], atol=1e-12)


def test_wind_from_arguments_and_from_sdf(tmp_path):
    assert WindParameters.parse("").still
    assert WindParameters.parse("3,-1,0.5").mean == (3.0, -1.0, 0.5)
    assert WindParameters.parse("mean=3,0,0 gust=5:2:0,4,0 dryden=7.7") == WindParameters(
        (3.0, 0.0, 0.0), (Gust(5.0, 2.0, (0.0, 4.0, 0.0)),), 7.7
    )
    tags = {
        "linear_velocity": "1 0 0",
        "windVelocityMean": "2",
        "windDirectionMean": "0 3 0",
        "windGustVelocityMean": "4",
        "windGustDirectionMean": "0 0 1",
        "windGustStart": "9",
        "windGustDuration": "3",
        "drydenWind20ft": "5",
        "windField": "a.npz",
    }
    assert WindParameters.of_world(tags, tmp_path) == WindParameters(
        (1.0, 2.0, 0.0), (Gust(9.0, 3.0, (0.0, 0.0, 4.0)),), 5.0, str(tmp_path / "a.npz")
    )
    assert WindParameters.of_world({}, tmp_path).still


@pytest.mark.parametrize(
    "text, message",
    [
        ("3,1", "not a velocity"),
        ("a,b,c", "not a number"),
        ("storm=1", "unknown wind word"),
        ("gust=1:0:1,1,1", "above 0"),
        ("dryden=-2", "above 0"),
        ("mean=1,1,inf", "not a number"),
        ("mean=1,0,0 2,0,0", "mean twice"),
        ("field=", "names no file"),
    ],
)
def test_bad_wind_is_refused(text, message):
    with pytest.raises(WindError, match=message):
        WindParameters.parse(text)


@pytest.mark.parametrize(
    "tags, message",
    [
        ({"windVelocityVariance": "1"}, "give drydenWind20ft"),
        ({"drydenWind20": "3"}, "did you mean <drydenWind20ft>"),
        ({"windVelocityMaen": "3"}, "did you mean <windVelocityMean>"),
        ({"drydenWind20ft": "-3"}, "from 0"),
        ({"windGustDuration": "-3"}, "from 0"),
        ({"windDirectionMean": "0 0 0"}, "length 0"),
        ({"windVelocityMean": "nan"}, "not a number"),
        ({"windVelocityMean": ["1", "2"]}, "appears twice"),
    ],
)
def test_bad_wind_of_a_world_is_refused(tmp_path, tags, message):
    with pytest.raises(WindError, match=message):
        WindParameters.of_world(tags, tmp_path)


def field_of(file, shape=(1, 1, 1, 3), **axes):
    np.savez(file, **{**{key: [0.0] for key in "xyz"}, **axes}, velocity=np.zeros(shape))


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda file: None, "cannot read wind field"),
        (lambda file: file.write_bytes(b""), "cannot read wind field"),
        (lambda file: file.write_bytes(b"PK\3\4 cut short"), "cannot read wind field"),
        (lambda file: np.save(open(file, "wb"), np.zeros(3)), "cannot read wind field"),
        (lambda file: field_of(file, x=[0, 1]), r"shape \(2, 1, 1, 3\)"),
        (lambda file: field_of(file, shape=(2, 1, 1, 3), x=[0, np.nan]), "x of wind field"),
        (lambda file: field_of(file, shape=(1, 2, 1, 3), y=[1, 0]), "y of wind field"),
        (lambda file: field_of(file, shape=(1, 1, 0, 3), z=[]), "z of wind field"),
        (lambda file: field_of(file, x=0.0), "x of wind field"),
    ],
)
def test_bad_wind_field_is_refused(tmp_path, write, message):
    file = tmp_path / "f.npz"
    write(file)
    with pytest.raises(WindError, match=message) as caught:
        Wind(WindParameters(field=str(file)), 1, 1)
    assert "\n" not in str(caught.value)


WIND_WORLD = """<sdf version="1.6"><world name="windy">
<wind><linear_velocity>1 0 0</linear_velocity></wind>
<plugin name="w" filename="libgazebo_wind_plugin.so">
<windVelocityMean>2</windVelocityMean><windDirectionMean>0 1 0</windDirectionMean>
<windGustVelocityMean>4</windGustVelocityMean><windGustDirectionMean>0 0 -1</windGustDirectionMean>
<windGustStart>0</windGustStart><windGustDuration>0.4</windGustDuration>
<drydenWind20ft>{dryden}</drydenWind20ft><windField>field.npz</windField></plugin>
</world></sdf>"""


@pytest.mark.parametrize("dryden", [0, 6])
def test_every_kind_of_wind_from_a_worlds_file_and_from_an_argument_is_the_same(tmp_path, dryden):
    """All four kinds, felt by a simulation; at 0.2 s the gust has its peak."""
    file, path = tmp_path / "field.npz", tmp_path / "windy.world"
    np.savez(file, x=[0.0], y=[0.0], z=[0.0], velocity=np.full((1, 1, 1, 3), 0.5))
    path.write_text(WIND_WORLD.format(dryden=dryden))
    calm = tmp_path / "calm.world"
    calm.write_text('<sdf version="1.6"><world name="calm"/></sdf>')
    words = f"mean=1,2,0 gust=0:0.4:0,0,-4 field={file}" + f" dryden={dryden}" * bool(dryden)
    found = []
    for options in ({"world": str(path)}, {"world": str(calm), "wind": words}):
        simulation = Simulation(Scenario(fleet("iris", 2), speed=0.0, **options), links=False)
        simulation.run(until_us=204_000)
        found.append(simulation.plant.actuators.wind.copy())
        simulation.close()
    np.testing.assert_array_equal(found[0], found[1])
    if dryden:
        assert np.abs(found[0] - (1.5, 2.5, -3.5)).min() > 1e-3  # turbulence, for each its own
        assert not np.array_equal(found[0][0], found[0][1])
    else:
        np.testing.assert_allclose(found[0], [(1.5, 2.5, -3.5)] * 2, atol=1e-12)


@pytest.mark.parametrize("name", MULTIROTORS)
def test_figures_agree_with_the_kernel(name):
    """The hover command of the figures gives a wrench that carries the weight and does not turn."""
    model = load_vehicle(name)
    figures = vehicle_figures(model)
    fleet = FleetModel.of([model])
    stage, state = ActuatorStage(fleet), state_of([model])
    place_bodies(fleet, state)
    commands, rotors = np.zeros_like(state.actuator), len(model.rotors)
    commands[0, :rotors] = figures["hover_command"]
    for _ in range(500):
        wrench = stage.step(commands, state, STEP_US)[0]
    weight, total = model.mass * G, wrench.sum(axis=0)
    total[3:] += np.cross(state.body_pos[0] - state.pos[0], wrench[:, :3]).sum(axis=0)
    np.testing.assert_allclose(total, (0, 0, weight, 0, 0, 0), atol=1e-6 * weight)
    np.testing.assert_allclose(state.actuator[0, :rotors], figures["hover_speed_rad_s"], rtol=1e-6)
    assert figures["thrust_to_weight"] > 1.4
    assert min(figures["max_angular_acceleration_rad_s2"]) > 1.0


@pytest.mark.parametrize("name", ["crazyflie", "heavy_lifter", "tello", "typhoon_h480"])
def test_a_hover_lasts_nearly_as_long_as_its_first_current_would(name):
    """The current grows as the voltage falls, and the last of the charge gives too little."""
    model = load_vehicle(name)
    figures = vehicle_figures(model)
    minutes = 60.0 * model.battery.capacity / figures["hover_current_a"]
    assert 0.9 * minutes < figures["hover_time_min"] < minutes
    power = figures["hover_voltage_v"] * figures["hover_current_a"]
    shaft, pack = figures["hover_shaft_power_w"], model.battery
    assert power == pytest.approx(shaft / pack.efficiency + pack.avionics_power)


def test_too_heavy_a_vehicle_says_so_and_has_no_hover():
    figures = vehicle_figures(dataclasses.replace(load_vehicle("iris"), mass=9.0))
    assert figures["flies"] == "its weight of 88.3 N exceeds the thrust of its rotors, 28.3 N"
    assert "hover_command" not in figures and figures["thrust_to_weight"] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[] if n in ("iris", "tello", "octorotor") else [pytest.mark.long])
        for n in MULTIROTORS
        if not n.startswith("iris_")
    ],
)
def test_vehicle_show_prints_figures_and_sensors_and_draws_the_rotors(tmp_path, capsys, name):
    picture = tmp_path / "layout.png"
    assert main(["vehicle", "show", name, "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    effects = "effects:" if name == "tello" else "effects: none"
    for word in (
        "hover_command",
        "thrust_to_weight",
        "time_constant_up_s",
        "allocation_matrix",
        effects,
        "noise_density",
        "bias_correlation_time",
    ):
        assert word in out
    assert picture.stat().st_size > 5000


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTIROTORS)
def test_vehicle_show_as_json_has_every_rotor_and_every_sensor(capsys, name):
    assert main(["vehicle", "show", name, "--json"]) == 0
    shown, model = json.loads(capsys.readouterr().out), load_vehicle(name)
    assert [sensor["kind"] for sensor in shown["sensors"]] == [b.kind for b in model.sensors]
    assert len(shown["hover_command"]) == len(model.rotors)
    assert len(shown["allocation_matrix"][0]) == len(model.actuators)


def test_presets_are_listed_with_unit_and_origin(capsys):
    assert main(["vehicle", "presets"]) == 0
    assert "imu: adis16448, bmi088, mpu6000" in capsys.readouterr().out
    for kind, names in presets().items():
        for name, values in names.items():
            assert main(["vehicle", "presets", name]) == 0
            lines = capsys.readouterr().out.splitlines()
            assert [line.partition(":")[0] for line in lines] == list(values), kind
    assert main(["vehicle", "presets", "bmi08"]) == 1
    assert "did you mean 'bmi088'?" in capsys.readouterr().err
