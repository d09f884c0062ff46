"""Figures of a study without a flight: a trough whose bottom is known."""

from xtdrone_sim.vehicles.sdf import load_vehicle


def trough(vehicle, values, seeds):
    """Returns two figures that fall towards different masses and gains, one for each seed."""
    mass = load_vehicle(vehicle).mass - 0.045  # of the other links
    gain = values["gain"]
    return {
        "near": [(mass - 1.3) ** 2 + (gain - 1.0) ** 2 + 0.0 * seed for seed in seeds],
        "far": (mass - 1.7) ** 2 + (gain - 2.0) ** 2,
    }
