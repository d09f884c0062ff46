"""The world around a vehicle: air, wind, magnetic field, shape of the Earth."""
