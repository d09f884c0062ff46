"""Hostile inputs: whatever comes in by file, option or socket, nothing crashes or hangs.

`make hostile` tries them for minutes, test_hostile.py a few of each kind. A kind of input is a
module of this folder with a subclass of Kind (common.py) called KIND; nothing else names it.
"""
