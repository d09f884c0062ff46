"""Targets in images over time: identities, places on the ground, and an Agent that follows one."""
