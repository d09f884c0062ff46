"""Formations before SciPy is imported: the same distances, and a start without it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial import cKDTree

from xtdrone_formation import formations


@pytest.mark.parametrize("name", formations.names())
def test_the_least_separation_is_that_of_a_tree(name):
    for n in range(2, 40):
        if name in formations.names(n):
            offsets = formations.slots(name, n, scale=1.7, rotation=0.3)
            points = np.vstack([np.zeros((1, 3)), offsets])
            found = cKDTree(points).query(points, k=2)[0][:, 1].min()
            assert formations.separation(offsets) == found


@pytest.mark.parametrize("module", ["director", "formation"])
def test_a_node_starts_without_what_only_plans_need(module):
    program = f"""import sys
import xtdrone_formation.topics.{module}
import xtdrone_formation.formations as formations
formations.slots("cube", 9)
print([name for name in ("scipy.optimize", "scipy.spatial.transform") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
