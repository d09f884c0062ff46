"""Between actuator commands and the wrench on a body: actuators, air, batteries, disturbances."""
