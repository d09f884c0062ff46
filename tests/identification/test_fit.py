import numpy as np
import pytest

from identified_flights import made_up
from xtdrone_identification.errors import IdentificationError
from xtdrone_identification.identification import identify
from xtdrone_identification.parameters import Model
from xtdrone_identification.record import joined, record_of
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers

FACTORS = {
    "plugin/motorConstant": 1.2,
    "plugin/momentConstant": 0.8,
    "plugin/timeConstantUp": 0.7,
    "plugin/timeConstantDown": 1.4,
    "link[base_link]/inertial/inertia/ixx": 1.3,
    "link[base_link]/inertial/inertia/iyy": 0.75,
}


@pytest.fixture(scope="module")
def flight():
    return made_up(Model(load_vehicle("iris")))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    file = SdfNumbers(load_vehicle("iris").sdf)
    for path, factor in FACTORS.items():
        file.change(path, lambda old, factor=factor: factor * old)
    return file.write_model(tmp_path_factory.mktemp("wrong"))


@pytest.fixture(scope="module")
def found(flight, wrong):
    return identify(load_vehicle(wrong), record_of("made up", flight, [(0.0, 20.0)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "ixx",
        "iyy",
        "izz",
        "motor_constant",
        "moment_constant",
        "time_constant_up",
        "time_constant_down",
        "rotor_drag_coefficient",
        "zero_position_armed",
    ],
)
def test_numbers_of_a_vehicle_are_found_from_a_wrong_model(found, name):
    true = {one.name: one.start for one in Model(load_vehicle("iris")).parameters}[name]
    assert found.fit.values[name] == pytest.approx(true, rel=0.05)
    low, high = found.fit.interval(name)
    assert low * 0.99 < true < high * 1.01


@pytest.mark.slow
def test_what_was_identified_predicts_better_than_what_it_began_with(found):
    for name, after in found.after.rms.items():
        assert after[-1] < found.before.rms[name][-1], name


@pytest.mark.slow
def test_mass_and_thrust_are_said_to_be_one_number(found):
    assert any("mass and thrust" in line for line in found.unknown)


@pytest.mark.slow
def test_a_known_thrust_gives_the_mass(flight):
    found = identify(
        load_vehicle("iris"), record_of("made up", flight, [(0.0, 20.0)]), known="motor_constant"
    )
    assert found.fit.values["mass"] == pytest.approx(load_vehicle("iris").mass, rel=0.02)


def test_records_are_joined_and_split(flight):
    one = record_of("one", flight, [(0.0, 10.0)])
    both = joined([one, record_of("two", flight, [(10.0, 20.0)])])
    assert both.begins.tolist() == [0, len(one.t_s)]
    first, last = both.split(0.25)
    assert len(first.t_s) + len(last.t_s) == len(both.t_s)
    assert last.begins.tolist() == [0]


def test_a_hole_begins_a_stretch(flight):
    gyro = flight["gyro"]
    kept = (gyro.t_s < 8.0) | (gyro.t_s > 9.0)
    holed = {**flight, "gyro": type(gyro)(gyro.t_s[kept], gyro.values[kept])}
    assert len(record_of("holed", holed, [(0.0, 20.0)]).begins) == 2


def changed(flight, name, function):
    signal = flight[name]
    return {**flight, name: type(signal)(signal.t_s, function(signal.values))}


@pytest.mark.parametrize(
    "name, function, reason",
    [
        ("gyro", np.degrees, "degrees/s"),
        ("gyro", lambda v: v * [1.0, -1.0, -1.0], "forward, left, up"),
        ("accel", lambda v: v / 9.80665, "in g"),
        ("accel", lambda v: -v, "forward, left, up"),
        ("accel", lambda v: v - [0.0, 0.0, 9.8], "specific force"),
        ("command", lambda v: 1000.0 + 1000.0 * v, "commands are 0 to 1"),
        ("command", lambda v: 0.0 * v + 0.5, "constant"),
        ("quat", lambda v: 0.0 * v + 0.9, "quaternion has the norm"),
        ("pos", lambda v: np.nan * v, "empty"),
    ],
)
def test_other_units_and_constant_signals_are_refused_in_a_line(flight, name, function, reason):
    with pytest.raises(IdentificationError, match=reason):
        record_of("log", changed(flight, name, function), [(0.0, 20.0)])


@pytest.mark.parametrize("name, what", [("pos", "position"), ("quat", "attitude")])
def test_a_missing_signal_is_named(flight, name, what):
    signals = {key: signal for key, signal in flight.items() if key != name}
    with pytest.raises(IdentificationError, match=what):
        record_of("log", signals, [(0.0, 20.0)])


def test_a_short_flight_is_refused(flight):
    with pytest.raises(IdentificationError, match="in the air"):
        record_of("log", flight, [(0.0, 2.0)])


@pytest.mark.parametrize("vehicle, why", [("plane", "wings"), ("rover", "no rotors")])
def test_vehicles_with_other_equations_are_refused(vehicle, why):
    with pytest.raises(IdentificationError, match=why):
        Model(load_vehicle(vehicle))


def test_an_unknown_given_parameter_is_refused():
    with pytest.raises(IdentificationError, match="moments"):
        Model(load_vehicle("iris"), given={"moments": 1.0})
