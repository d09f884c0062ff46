"""The error of this package."""

from xtdrone_core import XtdroneError


class CampaignError(XtdroneError):
    """A campaign that cannot be planned, or whose folder cannot be used."""
