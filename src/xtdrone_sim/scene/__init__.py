"""MuJoCo scenes of worlds and vehicles: what engines simulate, cameras draw and rays hit."""
