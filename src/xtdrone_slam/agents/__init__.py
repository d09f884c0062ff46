"""The Agents that fly the trajectories: on GNSS with a recording, and on a SLAM system's pose."""
