"""The error of this package."""

from xtdrone_core import XtdroneError


class SlamError(XtdroneError):
    """A trajectory, dataset, calibration or system under test that cannot be used."""
