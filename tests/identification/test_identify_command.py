import csv
import json

import numpy as np
import pytest

from identified_flights import made_up
from xtdrone_core.command import main
from xtdrone_identification import logs
from xtdrone_identification.agent import excitation
from xtdrone_identification.errors import IdentificationError
from xtdrone_identification.parameters import Model
from xtdrone_sim.vehicles.sdf import load_vehicle

NAMES = {
    "pos": ("x", "y", "z"),
    "vel": ("vx", "vy", "vz"),
    "quat": ("qx", "qy", "qz", "qw"),
    "gyro": ("gyro_x", "gyro_y", "gyro_z"),
    "accel": ("accel_x", "accel_y", "accel_z"),
    "command": tuple(f"command_{k}" for k in range(4)),
}


@pytest.fixture(scope="module")
def flight():
    return made_up(Model(load_vehicle("iris")), seconds=14.0)


def write(path, flight, names=NAMES, factors=None):
    columns = {"t": flight["gyro"].t_s}
    for key, labels in names.items():
        for k, label in enumerate(labels):
            columns[label] = flight[key].values[:, k] * (factors or {}).get(key, 1.0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    return path


@pytest.mark.slow
def test_a_table_is_identified_and_its_model_loads(tmp_path, flight, capsys):
    log = write(tmp_path / "flight.csv", flight)
    out = tmp_path / "out"
    assert main(["identify", str(log), "--vehicle", "iris", "--given", "mass=1.6",
                 "--out", str(out)]) == 0  # fmt: skip
    shown = capsys.readouterr().out
    assert "95 % interval" in shown
    assert "not known from this log" in shown
    result = json.loads((out / "result.json").read_text())
    assert result["given"] == {"mass": 1.6}
    vehicle = load_vehicle(out / "model")
    assert vehicle.mass == pytest.approx(1.6)
    assert vehicle.rotors[0].motor_constant == pytest.approx(
        result["parameters"]["motor_constant"]["value"], rel=1e-6
    )
    assert vehicle.inertia[0][0] == pytest.approx(result["parameters"]["ixx"]["value"], rel=1e-6)
    assert "+" in (out / "model.diff").read_text()
    assert (out / "fit.png").stat().st_size > 10_000
    assert (out / "prediction.png").stat().st_size > 10_000


def test_speeds_in_a_table_need_no_commands(tmp_path, flight):
    names = {key: labels for key, labels in NAMES.items() if key not in ("command", "gyro")}
    names |= {"gyro": ("wx", "wy", "wz"), "command": tuple(f"m{k}_rads" for k in range(1, 5))}
    log = write(tmp_path / "nano.csv", flight, names, {"command": 1000.0})
    record = logs.read([log], 4)
    assert record.speeds
    assert record.inputs.max() == pytest.approx(838.0, rel=0.1)


def test_revolutions_become_radians(tmp_path, flight):
    names = {**NAMES, "command": tuple(f"rpm_{k}" for k in range(4))}
    log = write(tmp_path / "rpm.csv", flight, names, {"command": 10_000.0})
    record = logs.read([log], 4)
    assert np.median(record.inputs) == pytest.approx(0.6 * 10_000 * 2 * np.pi / 60, rel=0.1)


@pytest.mark.parametrize(
    "name, text, reason",
    [
        ("empty.csv", "", "is empty"),
        ("names.csv", "t,x,y\n", "no rows"),
        ("words.csv", "t,x\n0,one\n", "'one' in line 2"),
        ("ragged.csv", "t,x\n0,1,2\n", "line 2 has 3 columns"),
        ("other.csv", "time,x\n0,1\n", "no column t"),
        ("log.txt", "hello", "no log that is known"),
        ("log.ulg", "hello", "is not a ULog"),
    ],
)
def test_what_is_no_flight_is_refused_in_a_line(tmp_path, name, text, reason, capsys):
    log = tmp_path / name
    log.write_text(text)
    assert main(["identify", str(log), "--vehicle", "iris", "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err.strip()
    assert reason in error
    assert "\n" not in error


def test_angles_in_degrees_are_refused(tmp_path, flight):
    names = {key: labels for key, labels in NAMES.items() if key != "quat"}
    names["gyro"] = ("roll", "pitch", "yaw")
    log = write(tmp_path / "degrees.csv", flight, names, {"gyro": 57.0})
    with pytest.raises(IdentificationError, match="degrees"):
        logs.read([log], 4)


@pytest.mark.parametrize("word", ["mass", "mass=heavy", "mass=-1"])
def test_a_given_value_is_a_positive_number(tmp_path, word, capsys):
    assert main(["identify", "log.ulg", "--vehicle", "iris", "--given", word]) == 1
    assert "NAME=VALUE" in capsys.readouterr().err


def test_the_excitation_begins_and_ends_at_rest():
    for t in (0.0, 60.0):
        wanted = excitation(t, 60.0)
        assert np.abs([*wanted.pos, *wanted.vel, wanted.yaw_rate]).max() < 1e-6
    moved = np.array([excitation(t, 60.0).vel for t in np.arange(5.0, 55.0, 0.05)])
    assert np.all(np.abs(moved).max(axis=0) > [3.0, 3.0, 1.5])


def test_position_velocity_and_acceleration_of_the_excitation_belong_together():
    h = 1e-4
    for t in (1.0, 7.3, 58.9):
        before, here, after = (excitation(t + d, 60.0) for d in (-h, 0.0, h))
        assert np.allclose((after.pos - before.pos) / (2 * h), here.vel, atol=1e-4)
        assert (after.yaw - before.yaw) / (2 * h) == pytest.approx(here.yaw_rate, abs=1e-4)
