"""The window of a run of a SLAM system, live or afterwards."""
