"""The error of this package."""

from xtdrone_core import XtdroneError


class WebError(XtdroneError):
    """The page cannot be served, or asks for something that is not possible."""
