"""Maps of what the sensors have seen, planners that fly through them, exploration."""
