"""Between actuator commands and the wrench on a body: rotors, air, batteries, disturbances."""
