"""Fiducial markers (AprilTag, ArUco): pictures and models of them, their detection, their poses."""
