"""Arming, checks, failsafes, geofences, batteries."""
