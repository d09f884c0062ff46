"""small_gicp, installed from PyPI."""
