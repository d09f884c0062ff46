"""The figure that a race ends with."""

import numpy as np

from race_run import write_run
from xtdrone_control.race_figure import race_figure, save_race
from xtdrone_core.racing.track import read_track


def test_the_best_lap_is_drawn_with_its_speed_and_all_splits(tmp_path):
    write_run(tmp_path / "run", "eight", ((1.0, 3.0), (4.0, 2.5)))
    (tmp_path / "run" / "plots").mkdir()
    save_race(tmp_path / "run")
    assert (tmp_path / "run" / "plots" / "race.png").stat().st_size > 10_000
    figure = race_figure(tmp_path / "run", read_track("eight"))
    above, splits = figure.axes[0], figure.axes[-1]
    assert "2.50 s" in figure.get_suptitle()
    assert len(above.collections) == 1 and np.isfinite(above.collections[0].get_array()).all()
    assert len(splits.lines) == 2 and (splits.lines[0].get_ydata() == 0).all()


def test_a_flight_without_a_lap_has_no_figure(tmp_path):
    write_run(tmp_path / "run", "eight", ())
    save_race(tmp_path / "run")
    assert not (tmp_path / "run" / "plots").exists()
