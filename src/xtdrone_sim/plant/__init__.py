"""The plant turns actuator commands into wrenches: actuators, air, batteries, disturbances."""
