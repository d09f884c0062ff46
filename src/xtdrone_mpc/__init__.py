"""Sampling model predictive control on the batch: rollouts of the vehicle's own physics."""
