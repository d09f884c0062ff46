"""How trajectories are compared, unless the user says otherwise."""

ALIGNMENTS = ("se3", "sim3", "none", "origin")
MAX_DIFF_S = 0.01  # largest time difference of associated poses [s], evo's default
DELTA_M = 0.5  # path length of the RPE in the paper [m]
