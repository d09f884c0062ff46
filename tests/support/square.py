"""Whether a real flight stack flew `xtdrone fly square`."""

import json

import numpy as np

from xtdrone_core.runs.truth_log import read_truth

CORNERS = np.array([(4, 0), (4, 4), (0, 4), (0, 0)], dtype=float)  # from the start [m]


def check_square(folder, n, within):
    """All n vehicles of a run were so near each corner, by the truth [m], and landed whole."""
    t_us, table = read_truth(folder / "truth.bin", n)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    corners = [event for event in events if event["event"] == "corner"]
    assert len(corners) == 4
    for corner, place in zip(corners, CORNERS):
        k = np.searchsorted(t_us, corner["t_us"])
        away = table[k, :, :2] - table[0, :, :2] - place
        assert np.linalg.norm(away, axis=1).max() <= within
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0
