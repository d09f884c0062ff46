"""From actuator commands to wrenches: actuators, air, batteries, disturbances."""
