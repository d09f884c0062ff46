"""Physical constants."""

GRAVITY = 9.80665  # standard gravity [m/s^2]
EARTH_RADIUS = 6_371_000.0  # radius of the sphere that PX4 and Pegasus project on [m]
AIR_GAS_CONSTANT = 287.05287  # specific gas constant of dry air [J/(kg K)]
SEA_LEVEL_TEMPERATURE = 288.15  # ISA [K]
SEA_LEVEL_PRESSURE = 101_325.0  # ISA [Pa]
SEA_LEVEL_DENSITY = 1.225  # ISA [kg/m^3]
LAPSE_RATE = 0.0065  # ISA troposphere [K/m]
TROPOPAUSE = 11_000.0  # upper end of the ISA's first layer [m]
