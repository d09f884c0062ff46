"""A world composed of solids on level ground, and its SDF file."""

from dataclasses import dataclass, replace
from pathlib import Path

from xtdrone_core.errors import ScenarioError

from .actors import Actor
from .part import (
    ORIGIN,
    Vector,
    add,
    add_pose,
    check_name,
    check_vectors,
    document,
    kept_file,
    text_of,
    write_file,
)
from .solids import Solid

_ZURICH = (47.397742, 8.545594, 488.0)
_STEP_S = 0.004


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A world in code; wherever the name of a world or a path to its file is taken, it is, too.

    Attributes:
        name: Name of the world.
        solids: What stands in it; one with a mass may only be inserted into a running simulation.
        actors: People and cars that move in it.
        origin: Latitude, longitude [deg] and height above the sea [m].
        wind: Velocity of the air, world [m/s].
        ground: Friction of the ground; None for no ground.

    Examples:
        >>> from xtdrone.compose.solids import Box
        >>> wall = Box(name="wall", size=(0.2, 6.0, 3.0), pos=(5.0, 0.0, 1.5))
        >>> "wall" in Scene(name="yard", solids=(wall,)).sdf()
        True
    """

    name: str = "scene"
    solids: tuple[Solid, ...] = ()
    actors: tuple[Actor, ...] = ()
    origin: Vector = _ZURICH
    wind: Vector = ORIGIN
    ground: float | None = 1.0

    def __post_init__(self) -> None:
        check_name("name of a world", self.name)
        check_vectors(f"world '{self.name}'", origin=self.origin, wind=self.wind)
        for what in ("solids", "actors"):
            if not isinstance(getattr(self, what), (tuple, list)):
                raise ScenarioError(
                    f"{what} of world '{self.name}' are no tuple: give ({what[:-1]}, {what[:-1]})"
                )
        for solid in self.solids:
            if not isinstance(solid, Solid):
                raise ScenarioError(
                    f"solids of world '{self.name}' hold a "
                    f"{type(solid).__name__}: give boxes, spheres and so on"
                )
            if solid.mass:
                raise ScenarioError(
                    f"'{solid.name or solid.kind}' of world '{self.name}' has a "
                    "mass: a world stands still; insert it into the simulation"
                )
        for actor in self.actors:
            if not isinstance(actor, Actor):
                raise ScenarioError(
                    f"actors of world '{self.name}' hold a "
                    f"{type(actor).__name__}: give people and cars"
                )
        names = [solid.name for solid in self.solids if solid.name]
        names += [actor.name for actor in self.actors]
        for name in names:
            if names.count(name) > 1 or name == "ground_plane":
                raise ScenarioError(
                    f"two things in world '{self.name}' are called '{name}': give "
                    "each a name of its own"
                )

    def sdf(self) -> str:
        """Returns the text of its SDF file."""
        root, world = document("world", self.name)
        add(world, "gravity", (0.0, 0.0, -9.80665))
        physics = add(world, "physics", type="ode")
        add(physics, "max_step_size", _STEP_S)
        add(physics, "real_time_update_rate", 1.0 / _STEP_S)
        place = add(world, "spherical_coordinates")
        for tag, value in (
            ("surface_model", "EARTH_WGS84"),
            ("world_frame_orientation", "ENU"),
            ("latitude_deg", self.origin[0]),
            ("longitude_deg", self.origin[1]),
            ("elevation", self.origin[2]),
            ("heading_deg", 0.0),
        ):
            add(place, tag, value)
        if any(self.wind):
            add(add(world, "wind"), "linear_velocity", self.wind)
        scene = add(world, "scene")
        add(scene, "ambient", (0.4, 0.4, 0.4, 1.0))
        add(scene, "background", (0.6, 0.75, 0.9, 1.0))
        light = add(world, "light", name="sun", type="directional")
        add_pose(light, (0.0, 0.0, 50.0))
        add(light, "diffuse", (0.8, 0.8, 0.8, 1.0))
        add(light, "specular", (0.2, 0.2, 0.2, 1.0))
        add(light, "direction", (-0.5, 0.3, -0.9))
        if self.ground is not None:
            _Ground(name="ground_plane", friction=self.ground).write(world)
        for number, solid in enumerate(self.solids):
            named = solid if solid.name else replace(solid, name=f"{solid.kind}_{number}")
            named.write(world)
        for actor in self.actors:
            actor.write(world)
        return text_of(root)

    def to_world(self, path: Path | str) -> Path:
        """Writes its SDF file.

        Raises:
            ScenarioError: It cannot be written.
        """
        return write_file(path, self.sdf())

    def __fspath__(self) -> str:
        return str(kept_file("worlds", self.name, self.sdf()))

    __str__ = __fspath__


@dataclass(frozen=True, kw_only=True)
class _Ground(Solid):
    """Level ground."""

    colour: tuple[float, ...] = (0.45, 0.5, 0.4)

    def geometry(self, parent: object) -> None:
        """Adds `<plane>`."""
        plane = add(parent, "plane")
        add(plane, "normal", (0.0, 0.0, 1.0))
        add(plane, "size", (1000.0, 1000.0))
