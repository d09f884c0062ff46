"""The MAVLink dialect of the workspace, for the modules of this folder."""

from xtdrone_core.mavlink.dialect import mavlink

__all__ = ["mavlink"]
