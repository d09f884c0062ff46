"""From picture to flight without a map: openings by corners, other vehicles by boxes."""
