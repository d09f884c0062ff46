"""`xtdrone log`: pictures, contents and tables of our logs and of a log that PX4 wrote."""

import csv
import shutil
import warnings

import numpy as np
import pytest
from pyulog import ULog

import ulogs
from flight_logs import DATA, hover
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.ulog import plots as ulog_plots, reader as ulog_reader
from xtdrone_core import command

PX4 = DATA / "px4_hover.ulg"


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The log of a short flight of our own."""
    return hover(tmp_path_factory.mktemp("own"), 1).folder / "ulog" / "iris_0" / "log001.ulg"


@pytest.fixture(params=["px4", "ours"])
def log(request):
    """One log after the other."""
    path = PX4 if request.param == "px4" else request.getfixturevalue("ours")
    return ulog_reader.FlightLog(path)


def curves(figure, row):
    """The curves of one row by their labels: (x, y)."""
    lines = figure.axes[row].get_lines()
    return {line.get_label(): line.get_data() for line in lines if line.get_label()[0] != "_"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, rows",
    [
        ("position", 3),
        ("velocity", 3),
        ("attitude", 3),
        ("rates", 3),
        ("actuators", 3),
        ("estimator", 2),
    ],
)
def test_every_picture_shows_curves_over_the_whole_flight(log, name, rows):
    figure = ulog_plots.FIGURES[name](log)
    assert len(figure.axes) == 3
    for axes in figure.axes[:rows]:
        drawn = [line for line in axes.get_lines() if len(line.get_xdata()) > 20]
        assert drawn
        assert max(line.get_xdata()[-1] for line in drawn) > 0.9 * log.seconds
    assert figure.axes[0].get_xlim()[1] == pytest.approx(log.seconds)


def test_heights_grow_upwards_and_truth_is_drawn_where_it_is_logged():
    position = curves(ulog_plots.position(ulog_reader.FlightLog(PX4)), 2)
    assert position["estimate"][1].max() == pytest.approx(5.0, abs=0.1)
    assert position["truth"][1].max() == pytest.approx(5.0, abs=0.1)


def test_velocity_tracking_says_how_large_the_error_is():
    log = ulog_reader.FlightLog(PX4)
    figure = ulog_plots.velocity(log)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    errors = [float(text.split()[-2]) for text in texts if "RMS" in text]
    assert len(errors) == 3 and errors[0] < 0.02 and errors[1] < 0.02 and errors[2] < 0.5


def test_attitude_is_in_degrees_and_frd(ours):
    attitude = curves(ulog_plots.attitude(ulog_reader.FlightLog(ours)), 2)
    assert np.median(attitude["estimate"][1]) == pytest.approx(90.0, abs=5.0)


def test_a_yaw_that_wraps_breaks_the_line():
    data = {
        "t": np.arange(3.0),
        **{
            f"q[{k}]": np.array(v)
            for k, v in enumerate(
                zip(*[(np.cos(a / 2), 0, 0, np.sin(a / 2)) for a in np.radians([170, 179, 185])])
            )
        },
    }
    yaw = ulog_plots.euler_angles(data, "q")["yaw"]
    assert yaw[:2] == pytest.approx([170, 179]) and np.isnan(yaw[2])


def test_modes_and_flight_time_of_px4_s_log():
    log = ulog_reader.FlightLog(PX4)
    assert [name for *_, name in log.modes()] == [
        "AUTO.LOITER",
        "AUTO.TAKEOFF",
        "AUTO.LOITER",
        "AUTO.LAND",
        "AUTO.LOITER",
    ]
    ((begin, end),) = log.armed()
    assert (begin, end) == (pytest.approx(4.0, abs=0.1), pytest.approx(33.0, abs=0.2))
    ((begin, end),) = log.flying()
    assert (begin, end) == (pytest.approx(6.0, abs=0.2), pytest.approx(31.1, abs=0.3))


RETAINED = [(), (0,), (ulogs.START_US - 5_000_000,), (0, ulogs.START_US - 1)]


@pytest.mark.parametrize("retained", RETAINED)
@pytest.mark.slow
def test_samples_from_before_the_start_do_not_change_length_rates_and_plots(tmp_path, retained):
    log = ulog_reader.FlightLog(ulogs.write(tmp_path / "a.ulg", retained))
    theirs = ULog(str(log.path))
    assert log.seconds == pytest.approx((theirs.last_timestamp - theirs.start_timestamp) * 1e-6)
    assert log.seconds == pytest.approx(9.9)
    position = log.topic("vehicle_local_position")
    count = len(theirs.get_dataset("vehicle_local_position").data["timestamp"])
    assert len(position["t"]) == count
    assert position["t"].min() == 0.0 and position["t"].max() == pytest.approx(9.9)
    lines = ulog_reader.summary(log)
    assert lines[1] == "length: 9.9 s"
    assert "      0.002 s  INFO: plain message" in lines
    assert lines[-1].split()[-2:] == [str(count), f"{count / 9.9:.1f}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for draw in ulog_plots.FIGURES.values():
            assert draw(log).axes[0].get_xlim() == pytest.approx((0.0, 9.9))


@pytest.mark.parametrize("path", [PX4, "ours", "stamped 0"], ids=str)
def test_start_and_duration_are_pyulog_s(path, tmp_path, request):
    path = request.getfixturevalue("ours") if path == "ours" else path
    path = ulogs.write(tmp_path / "a.ulg", (0,)) if path == "stamped 0" else path
    log, theirs = ulog_reader.FlightLog(path), ULog(str(path))
    assert log.seconds_of(theirs.start_timestamp) == 0.0
    assert log.seconds_of(theirs.last_timestamp) == pytest.approx(log.seconds)


def test_texts_with_a_tag_stand_among_the_others_in_the_order_of_time(tmp_path):
    log = ulog_reader.FlightLog(ulogs.write(tmp_path / "a.ulg", tagged=True))
    assert [(each.t_us - ulogs.START_US, each.severity, each.text) for each in log.messages()] == [
        (1000, 4, "tagged warning"),
        (2000, 6, "plain message"),
        (3000, 2, "another tag"),
    ]
    assert "      0.001 s  WARNING: tagged warning" in ulog_reader.summary(log)


def test_a_flight_is_summed_up_where_its_position_is_known(tmp_path):
    """Nearly 10 s at 1 m/s and 2 m up; its length is of every fifth place."""
    path = ulogs.write(tmp_path / "a.ulg")
    flown = "flown: 9.5 m; at most 1.00 m/s over ground, 2.0 m above the origin"
    assert flown in ulog_reader.summary(ulog_reader.FlightLog(path))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"vehicle_local_position", b"another_local_position"))
    lines = ulog_reader.summary(ulog_reader.FlightLog(path))
    assert not any(line.startswith("flown") for line in lines)


@pytest.mark.long
def test_command_plot_writes_beside_the_log(tmp_path, capsys):
    shutil.copy(PX4, tmp_path / "flight.ulg")
    assert command.main(["plot", str(tmp_path / "flight.ulg")]) == 0
    names = {f"flight_{name}.png" for name in ulog_plots.FIGURES}
    assert {path.name for path in tmp_path.glob("*.png")} == names
    assert len(capsys.readouterr().out.splitlines()) == len(names)
    assert all((tmp_path / name).stat().st_size > 10_000 for name in names)


@pytest.mark.long
def test_command_plot_writes_one_pdf(tmp_path):
    assert command.main(["plot", "--pdf", str(PX4), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "px4_hover.pdf").read_bytes().count(b"/Type /Page ") == 6


def test_command_info_says_what_is_in_it(ours, capsys):
    assert command.main(["log", "info", str(PX4)]) == 0
    text = capsys.readouterr().out
    assert "PX4 version 1.15.4" in text and "AUTO.LAND, 20.7 to 33.0 s" in text
    assert "Ready for takeoff!" in text and "\x1b" not in text
    assert command.main(["log", "info", str(ours)]) == 0
    text = capsys.readouterr().out
    assert "XTDRONE_EMBEDDED" in text and "MPC_XY_CRUISE = 7.5" in text


def test_command_csv_writes_what_pyulog_reads(tmp_path):
    assert (
        command.main(
            [
                "log",
                "csv",
                str(PX4),
                "--topic",
                "vehicle_attitude",
                "--out",
                str(tmp_path / "tables"),
            ]
        )
        == 0
    )
    (path,) = (tmp_path / "tables").iterdir()
    assert path.name == "px4_hover_vehicle_attitude_0.csv"
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    data = ulog_reader.FlightLog(PX4).topic("vehicle_attitude")
    assert len(rows) == len(data["t"])
    assert [float(row["q[0]"]) for row in rows] == pytest.approx(data["q[0]"].tolist())
    assert int(rows[-1]["timestamp"]) == data["timestamp"][-1]


def test_a_folder_stands_for_the_logs_in_it(ours, capsys):
    assert command.main(["log", "info", str(ours.parents[2])]) == 0
    assert str(ours) in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, reason",
    [
        (["log", "info", "nothing.ulg"], "cannot read flight log 'nothing.ulg'"),
        (["plot", "text.ulg"], "'text.ulg' is not a ULog"),
        (["log", "info", "empty"], "no .ulg file in 'empty'"),
        (["log", "csv", str(PX4), "--topic", "vehicle_atitude"], "did you mean 'vehicle_attitude'"),
        (["plot", str(PX4), "--out", "text.ulg/plots"], "cannot write"),
        (["log", "csv", str(PX4), "--out", "text.ulg/tables"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words, reason, runs, capsys):
    (runs / "empty").mkdir()
    (runs / "text.ulg").write_text("no log, but long enough to be read as one")
    assert command.main(words) == 1
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "data, kind",
    [
        (b"\xa3\x95\x80\x80" + bytes(200), "it is a DataFlash log of ArduPilot"),
        (bytes(8) + b"\xfd" + bytes(200), "it is a telemetry log of MAVLink"),
        (bytes(8) + b"\xfe" + bytes(200), "it is a telemetry log of MAVLink"),
    ],
)
def test_logs_of_other_kinds_are_named(tmp_path, data, kind):
    (tmp_path / "a.log").write_bytes(data)
    with pytest.raises(AutopilotError, match=f"is not a ULog: {kind}, and PX4's ULog is read"):
        ulog_reader.FlightLog(tmp_path / "a.log")


def test_a_log_without_anything_to_draw_is_refused(tmp_path, ours):
    data = ours.read_bytes()
    (tmp_path / "head.ulg").write_bytes(data[:10_000])
    with pytest.raises(AutopilotError, match="neither position nor attitude"):
        ulog_plots.draw(ulog_reader.FlightLog(tmp_path / "head.ulg"), tmp_path)
