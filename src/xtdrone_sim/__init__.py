"""The simulation: vehicles and worlds from SDF, the plant, engines, cameras, the loop."""
