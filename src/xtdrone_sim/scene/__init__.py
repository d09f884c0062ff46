"""MuJoCo scenes of worlds and vehicles, for engines, cameras and rays."""
