"""The MAVLink dialect of the workspace, for the modules of this folder."""

from xtdrone_core.mavlink_dialect import mavlink

__all__ = ["mavlink"]
