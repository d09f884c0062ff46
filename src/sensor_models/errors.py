"""Errors of the sensor models."""

from xtdrone_core import XtdroneError


class SensorError(XtdroneError):
    """A sensor's parameters, preset or rate that are invalid."""
