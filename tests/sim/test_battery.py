"""The battery: cell, pack, its effect on rotors, its readings, its report."""

import dataclasses
import math

import numpy as np
import pytest

from physics import with_block
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.safety.battery import Battery
from xtdrone_core import FleetModel, FleetState, Pack, Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_dynamics import battery
from xtdrone_sim.errors import SdfError
from xtdrone_sim.plant.actuators import ActuatorStage
from xtdrone_sim.plant.battery import BatteryStage
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

PACK = Pack(
    cells=4,
    capacity=2.0,
    internal_resistance=0.02,
    efficiency=0.8,
    rated_voltage=14.0,
    avionics_power=5.0,
    charge=1.0,
    rotor_power_constant=7e-8,
)
STEP_US = 4000


def test_a_cell_falls_all_the_way():
    volts = [battery.open_circuit_voltage(c) for c in np.linspace(0.0, 1.0, 101)]
    assert (np.diff(volts) > 0.0).all()
    assert volts[-1] == pytest.approx(4.1029, abs=1e-4) and volts[0] == pytest.approx(2.654)


@pytest.mark.parametrize("charge", [1.0, 0.5, 0.05])
@pytest.mark.parametrize("resistance", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("power", [0.0, 30.0, 200.0])
def test_voltage_times_current_is_the_power(charge, resistance, power):
    volts, amperes = battery.load(charge, 4, resistance, power)
    source = 4 * battery.open_circuit_voltage(charge)
    assert volts == pytest.approx(source - resistance * amperes)
    assert volts * amperes == pytest.approx(min(power, source**2 / max(4 * resistance, 1e-9)))
    assert volts >= 0.5 * source - 1e-9


def test_an_empty_pack_gives_nothing():
    assert battery.load(0.0, 4, 0.02, 100.0) == (0.0, 0.0)
    assert battery.drained(1e-6, 2.0, 50.0, 1.0) == 0.0
    assert battery.drained(1.0, 2.0, 2.0, 1800.0) == pytest.approx(0.5)


def iris(pack=PACK):
    return dataclasses.replace(load_vehicle("iris"), battery=pack)


def spin(model, seconds, command=0.7, charge=1.0):
    """Rotors at one command on their pack: (stages, state, energy taken from the shafts [J])."""
    fleet = FleetModel.of([model])
    rotors, packs = ActuatorStage(fleet), BatteryStage(fleet)
    packs.charge[:] = charge
    state = FleetState.zeros(1, 4)
    state.pos[:, 2] = 50.0
    energy = 0.0
    for _ in range(round(seconds / 0.004)):
        rotors.step(np.full((1, 4), command), state, STEP_US)
        packs.step(rotors.power, STEP_US, rotors.speed_limit)
        energy += rotors.power[0] * 0.004
    return rotors, packs, state, energy


@pytest.mark.slow
def test_shaft_power_is_the_drag_moment_times_the_speed():
    model = iris(dataclasses.replace(PACK, rotor_power_constant=0.0))
    rotors, packs, _state, _ = spin(model, 0.5, command=0.5)
    r = model.rotors[0]
    speed = 0.5 * r.input_scaling + r.zero_position_armed
    assert rotors.power[0] == pytest.approx(
        4 * r.moment_constant * r.motor_constant * speed**3, rel=1e-6
    )
    assert packs.voltage[0] * packs.current[0] == pytest.approx(rotors.power[0] / 0.8 + 5.0)


def test_charge_that_is_gone_is_the_energy_that_was_taken():
    """Electrical energy = shafts' over efficiency + avionics', with the heat in the resistance."""
    _, packs, _, energy = spin(iris(), 20.0)
    taken = energy / 0.8 + 5.0 * 20.0
    charge = (1.0 - packs.charge[0]) * 2.0 * 3600.0
    source = np.mean(
        [4 * battery.open_circuit_voltage(c) for c in np.linspace(packs.charge[0], 1.0, 200)]
    )
    heat = 0.02 * packs.current[0] ** 2 * 20.0
    assert charge * source == pytest.approx(taken + heat, rel=5e-3)


@pytest.mark.parametrize("charge, full", [(1.0, True), (0.03, False), (0.0, False)])
def test_a_weak_battery_limits_the_speed(charge, full):
    _rotors, packs, state, _ = spin(iris(), 0.4, command=1.0, charge=charge)
    top = 1100.0 * min(1.0, packs.voltage[0] / 14.0)
    assert state.actuator[0, 0] == pytest.approx(top, rel=0.02, abs=1e-3)
    assert (state.actuator[0, 0] > 1099.0) == full


def test_vehicles_without_a_pack_are_left_alone():
    fleet = FleetModel.of([iris(None), iris()])
    packs, share = BatteryStage(fleet), np.ones(2)
    packs.step(np.full(2, 400.0), STEP_US, share)
    assert np.isnan(packs.voltage[0]) and share[0] == 1.0
    assert packs.voltage[1] > 14.0 and list(packs.fitted) == [False, True]


def test_a_broken_rotor_gives_its_share_and_takes_its_share():
    fleet = FleetModel.of([iris()])
    stage, state = ActuatorStage(fleet), FleetState.zeros(1, 4)
    state.pos[:, 2] = 50.0
    results = []
    for share in (1.0, 0.25, 0.0):
        stage.effectiveness[0, 2] = share
        for _ in range(100):
            wrench = stage.step(np.full((1, 4), 0.6), state, STEP_US)[:, 0]
        results.append((wrench[0, 2], stage.power[0]))
    np.testing.assert_allclose(results, np.outer([1.0, 3.25 / 4, 0.75], results[0]), rtol=1e-9)
    assert wrench[0, 3] != pytest.approx(0.0)


def with_battery(tmp_path, block):
    return with_block(tmp_path, f"<xtdrone:battery>{block}</xtdrone:battery>")


GOOD = (
    "<cells>4</cells><capacity>2</capacity><internal_resistance>0.02</internal_resistance>"
    "<efficiency>0.8</efficiency><rated_voltage>14</rated_voltage>"
)


def test_the_pack_comes_from_the_vehicles_file(tmp_path):
    assert load_vehicle(with_battery(tmp_path, GOOD)).battery == dataclasses.replace(
        PACK, avionics_power=0.0, rotor_power_constant=0.0
    )
    assert load_vehicle("iris").battery is None
    assert load_vehicle("typhoon_h480").battery.cells == 4


@pytest.mark.parametrize(
    "block, message",
    [
        (GOOD + "<volts>3</volts>", "unknown element of <xtdrone:battery> 'volts'"),
        (GOOD.replace("<cells>4</cells>", ""), "has no <cells>"),
        (GOOD.replace("<cells>4", "<cells>2.5"), "a whole number from 1 to 16"),
        (GOOD.replace("0.8", "1.2"), "above 0, up to 1"),
        (GOOD.replace("<capacity>2", "<capacity>0"), "a number above 0"),
        (GOOD + "<cells>5</cells>", "<cells> appears twice"),
        (GOOD + "<charge>70</charge>", "a number from 0 to 1"),
    ],
)
def test_bad_packs_say_where(tmp_path, block, message):
    with pytest.raises(SdfError, match=r"model\.sdf:\d+: ") as caught:
        load_vehicle(with_battery(tmp_path, block))
    assert message in str(caught.value)


def test_the_flight_stack_follows_the_charge_from_its_readings():
    """Discharged at 20 A the level stays near the true charge, at the start, midway and empty."""
    fleet = FleetModel.of([iris()])
    store = ParameterStore(1)
    stack, packs, armed = Battery(fleet, store), BatteryStage(fleet), np.ones(1, dtype=bool)
    assert store.get(0, "BAT1_N_CELLS") == 4 and store.get(0, "BAT1_CAPACITY") == 2000.0
    errors = []
    for _ in range(3500):
        packs.step(np.full(1, 240.0), 100_000, np.ones(1))
        stack.step(armed, packs.voltage, packs.current, np.full(1, 0.5), 0.1)
        errors.append(stack.level[0] - packs.charge[0])
        if packs.charge[0] == 0.0:
            break
    assert packs.charge[0] == 0.0
    assert abs(np.array(errors)).max() < 0.1
    assert stack.consumed[0] == pytest.approx(2000.0, rel=0.01)
    assert stack.level[0] < 0.05


def test_without_readings_the_battery_drains_as_px4s_simulation():
    store = ParameterStore(2)
    stack, none = Battery(FleetModel.of([iris(None)] * 2), store), np.full(2, np.nan)
    assert (stack.level == 1.0).all() and math.isnan(stack.consumed[0])
    armed = np.array([True, False])
    for _ in range(150):
        stack.step(armed, none, none, np.zeros(2), 0.1)
    np.testing.assert_allclose(stack.level, (0.75, 1.0))
    np.testing.assert_allclose(stack.voltage[1], 4.05 * 4)
    for _ in range(600):
        stack.step(armed, none, none, np.full(2, 0.72), 0.1)
    # SIM_BAT_MIN_PCT, and what BAT1_V_LOAD_DROP makes of the throttle: PX4 says 66 % in the hover.
    np.testing.assert_allclose(stack.level, (0.5 + 0.72 * 0.1 / 0.45, 1.0), rtol=1e-6)
    np.testing.assert_allclose(stack.voltage[0], 15.3)
    stack.step(~armed, none, none, np.zeros(2), 0.1)
    assert stack.armed_s[0] == 0.0 and stack.voltage[0] == pytest.approx(16.2)


@pytest.mark.slow
def test_telemetry_reports_the_packs():
    """SYS_STATUS and BATTERY_STATUS of a vehicle with a pack, and of one without, as frames."""
    simulation = Simulation(
        Scenario(
            parse_vehicles("typhoon_h480, iris"),
            speed=0.0,
            disturbances="0: charge typhoon_h480_0 0.4",
        ),
        links=False,
    )
    try:
        simulation.run(until_us=400_000)
        streams = simulation.autopilot.streams()
        out, length = np.zeros((2, 600), dtype=np.uint8), np.zeros(2, dtype=np.int64)
        for name in ("SYS_STATUS", "BATTERY_STATUS"):
            streams.append(
                streams.index[name],
                simulation.t_us,
                np.ones(2, dtype=bool),
                np.zeros(2, dtype=np.uint8),
                out,
                length,
            )
        volts = simulation.plant.battery.voltage[0]
    finally:
        simulation.close()
    parser = mavlink.MAVLink(None)
    found = [
        {m.get_type(): m for m in parser.parse_buffer(out[i, : length[i]].tobytes())}
        for i in range(2)
    ]
    status, pack = found[0]["SYS_STATUS"], found[0]["BATTERY_STATUS"]
    assert status.voltage_battery == pytest.approx(1000.0 * volts, abs=2)
    assert status.current_battery == round(100 * 10.0 / volts)  # its avionics take 10 W
    assert list(pack.voltages[:2]) == [pytest.approx(1000.0 * volts, abs=2), 65535]
    assert pack.current_consumed >= 0
    assert status.battery_remaining - pack.battery_remaining in (0, 1)  # PX4 rounds one of them up
    assert found[1]["SYS_STATUS"].voltage_battery == 16200
    assert found[1]["SYS_STATUS"].current_battery == -100  # not known
    assert found[1]["BATTERY_STATUS"].current_consumed == 0
