"""VTOLs: hover, fixed-wing flight and transitions between them, as PX4's vtol_att_control."""
