"""KISS-ICP, installed from PyPI."""
