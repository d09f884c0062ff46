"""Physics of a batch: control loops, contacts and joints, one vehicle at a time and in lanes."""
