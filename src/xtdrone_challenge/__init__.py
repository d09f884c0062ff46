"""Challenges that anybody can enter: rules and score in a file each, results to verify."""
