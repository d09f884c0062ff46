"""What a vehicle can do by its design: its type, and the forces and torques of its actuators."""
