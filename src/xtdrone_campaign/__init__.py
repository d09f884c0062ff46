"""Campaigns: many flights of one scenario with varied options and seeds, in one table."""

from .errors import CampaignError

__all__ = ["CampaignError"]
