"""Recorded flights as animated scenes for other programs: glTF and USD."""
