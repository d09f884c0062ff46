"""Layout of the numbers of a propeller: its model, its radius, and what its model needs."""

# Number of a model, the first of a propeller's numbers.
GILL_DANDREA_1, GILL_DANDREA_2, BLADE_ELEMENT, TABLE = 1.0, 2.0, 3.0, 4.0
# Places of the first numbers; those of the model begin at OWN.
MODEL, RADIUS, BLADES, OWN = 0, 1, 2, 3  # -, [m], -

# Gill and D'Andrea's models hold up to advance ratios of about 0.3; beyond these they stay as
# they are there.
LARGEST_RATIO = 0.5

# Blade elements: counts, then the polar's Reynolds number, what its drag changes with, and the
# kinematic viscosity [m^2/s]; then a row for each station, then the polar.
STATIONS, ANGLES, REYNOLDS, EXPONENT, VISCOSITY, ELEMENTS = range(6)
STATION_NUMBERS = 4  # radius, width, chord over the propeller's radius, pitch [rad]

# Table: counts of its layers, rows and columns, the binary logarithm of the first layer's speed
# [m/s]; then five numbers for each layer, row and column. Layers are a factor of 2 apart.
LAYERS, ROWS, COLUMNS, SLOWEST, VALUES = range(5)
VALUE_NUMBERS = 5
