"""GenZ-ICP, installed from PyPI."""
