"""The references of real PX4, and what holds a flight against them."""

import dataclasses
import hashlib

import numpy as np
import pytest

from flight_comparison import SEQUENCES, Difference, Track, sequence_differences
from px4_references import MISSIONS, REFERENCES

STEMS = sorted(path.with_suffix("") for path in REFERENCES.rglob("*.json"))


@pytest.mark.parametrize("stem", STEMS, ids=lambda stem: f"{stem.parent.name}_{stem.name}")
def test_a_reference_is_of_the_plan_that_lies_beside_it(stem):
    """And it flies: armed, disarmed, on the ground at both ends."""
    track = Track.read(stem)
    plan = MISSIONS / f"{track.document['plan']}.plan"
    if track.document["plan"] != "offboard":
        found = hashlib.sha256(plan.read_bytes()).hexdigest()[:16]
        assert found == track.document["plan_sha256"], "record it anew: px4_references.py"
        assert track.events("current") and track.events("reached")
    assert track.events("landed")[-1] == "ON_GROUND"
    assert track.pos[0, 2] < 0.3 and track.pos[-1, 2] < 0.3 and track.pos[:, 2].max() > 5.0


def test_a_difference_is_found():
    reference = Track.read(REFERENCES / "lanes/calm")
    same = Difference.between(reference, reference)
    assert (same.path_rms, same.missed_max, same.same_time_rms, same.yaw_rms) == (0, 0, 0, 0)
    aside = dataclasses.replace(reference, pos=reference.pos + (0.0, 0.0, 0.5))
    assert Difference.between(reference, aside).path_max == pytest.approx(0.5)
    late = dataclasses.replace(reference, t_s=reference.t_s + 1.0)
    found = Difference.between(reference, late)
    assert found.path_rms == 0.0 and 2.0 < found.same_time_rms < 8.0  # at up to 8 m/s
    part = dataclasses.replace(
        reference, pos=np.where(reference.t_s[:, None] < 60.0, reference.pos, reference.pos[0])
    )
    assert Difference.between(reference, part).missed_max > 20.0
    turned = dataclasses.replace(reference, yaw=reference.yaw + np.radians(350.0))
    assert Difference.between(reference, turned).yaw_rms == pytest.approx(10.0)


def test_a_sequence_that_differs_is_found():
    reference = Track.read(REFERENCES / "lanes/calm")
    assert not any(sequence_differences(reference, reference, key) for key in SEQUENCES)
    modes = [*reference.document["modes"], [99.0, "AUTO.RTL"]]
    other = dataclasses.replace(reference, document={**reference.document, "modes": modes})
    assert sequence_differences(reference, other, "modes") == ["+ AUTO.RTL"]
