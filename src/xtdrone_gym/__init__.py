"""Tasks for learning, over BatchSimulation, with Gymnasium's interfaces."""
