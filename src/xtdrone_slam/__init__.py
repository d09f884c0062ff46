"""Benchmarking of visual SLAM: recording, systems under test, monitor, metrics through evo."""

from .errors import SlamError

__all__ = ["SlamError"]
