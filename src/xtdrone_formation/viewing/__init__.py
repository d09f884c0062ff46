"""Plots of formations and flights, and the OpenGL viewer."""
