"""Subcommands of the simulation: sim, fly, control, vehicle, warmup."""
