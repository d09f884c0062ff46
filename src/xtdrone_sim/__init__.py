"""The simulation: vehicles and worlds from SDF, the plant, engines, cameras, the loop."""

from xtdrone_core.lazy import defer

defer("glfw")  # mujoco imports it for its own windows, and it starts a process to find its library
