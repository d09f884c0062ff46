"""PX4's fixed-wing flight stack: guidance, total energy control, attitude and rate control."""
