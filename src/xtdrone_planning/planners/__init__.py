"""Planners: from a map, a state and a goal to a trajectory."""
