"""Propellers: published coefficients, geometry, airfoils, and what is fitted to them."""
