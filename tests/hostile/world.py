"""Worlds as SDF."""

from .sdf import Sdf, odd

_LARGE = """<sdf version="1.6"><world name="w"><model name="m"><static>1</static><link name="l">
<collision name="c"><geometry><box><size>{0} {0} {0}</size></box></geometry></collision>
<visual name="v"><geometry><plane><size>{0} {0}</size></plane></geometry></visual>
</link></model></world></sdf>"""


class World(Sdf):
    """The text of a world's SDF."""

    sources = tuple(f"worlds/{name}.world" for name in ("empty", "indoor", "outdoor"))
    given, option = "given.world", ("--world", "given.world")
    per_fork = 500

    def odd(self):
        return [
            *odd(self._texts[0]),
            *(_LARGE.format(size) for size in (1e308, 1e30, 1e10, 0, -1, "nan")),
            "<sdf>" + " " * (80 << 20) + "</sdf>",
        ]


KIND = World
