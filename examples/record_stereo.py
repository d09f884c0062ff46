"""Records a stereo pair, the IMU and the truth as a dataset in EuRoC's layout, and reads it.

python examples/record_stereo.py     the same as: xtdrone slam record --trajectory FILE
"""

import sys

import numpy as np

from xtdrone_core import command
from xtdrone_core.runs import run_folder
from xtdrone_slam.datasets.dataset import Dataset

# Half a metre to the side and back in 4 s, 1.5 m above the floor, looking along x.
t = np.linspace(0.0, 4.0, 81)
y = 0.25 * (1.0 - np.cos(0.5 * np.pi * t))
rows = np.column_stack([t, 0.0 * t, 3.0 - y, 0.0 * t + 1.5, 0.0 * t])
path = run_folder.runs_root() / "side_step.csv"
path.parent.mkdir(parents=True, exist_ok=True)
np.savetxt(path, rows, delimiter=",", header="t,x,y,z,yaw", comments="", fmt="%.4f")

if command.main(
    ["slam", "record", "--trajectory", str(path), "--world", "indoor", "--name", "side_step"]
):
    sys.exit("the flight was not recorded")
dataset = Dataset(run_folder.newest() / "dataset")
left, right = dataset.pair(0)
truth = dataset.truth()
length = np.linalg.norm(np.diff(truth[:, 1:4], axis=0), axis=1).sum()
print(
    f"{len(dataset)} pairs of {left.shape[1]} x {left.shape[0]} pixels over {length:.2f} m, "
    f"in {dataset.folder}"
)
