"""The MAVLink dialect that every module of the workspace uses: common, version 2."""

from pymavlink.dialects.v20 import common as mavlink

__all__ = ["mavlink"]
