"""Boxes, spheres, cylinders and meshes: what vehicles look like, and what stands in a world."""

import math
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core.errors import ScenarioError

from .part import (
    ORIGIN,
    Colour,
    Element,
    Part,
    Vector,
    add,
    add_colour,
    add_inertial,
    add_pose,
    box_inertia,
    check_name,
    check_positive,
    check_vectors,
    document,
    text_of,
)


@dataclass(frozen=True, kw_only=True)
class Solid(Part):
    """A rigid body of one shape. Inherit and implement geometry() and bounds().

    Examples:
        >>> class Cube(Box):
        ...     def bounds(self):
        ...         return self.size
        >>> Cube(size=(1.0, 1.0, 1.0)).kind
        'cube'
    """

    name: str = ""  # name in its world; empty: from its kind and number
    pos: Vector = ORIGIN  # position of its centre [m]
    rpy: Vector = ORIGIN  # roll, pitch and yaw [rad]
    mass: float = 0.0  # [kg]; 0: it stands still
    friction: float = 1.0  # Coulomb's
    colour: Colour = (0.6, 0.6, 0.62)

    def __post_init__(self) -> None:
        check_vectors(self.kind, pos=self.pos, rpy=self.rpy)
        if self.name:
            check_name(f"name of a {self.kind}", self.name)
        if not (math.isfinite(self.mass) and self.mass >= 0.0):
            raise ScenarioError(
                f"mass {self.mass} of a {self.kind} is not allowed: give kg above "
                "0, or 0 for what stands still"
            )

    @property
    def kind(self) -> str:
        """Its class in lower case."""
        return type(self).__name__.lower()

    def geometry(self, parent: Element) -> None:
        """Adds the shape to `<geometry>`."""
        raise NotImplementedError

    def bounds(self) -> Vector:
        """Sides of the box around it [m], for its inertia."""
        raise NotImplementedError

    def collision(self, link: Element, name: str) -> None:
        """Adds it to a link as what others touch."""
        collision = add(link, "collision", name=name)
        add_pose(collision, self.pos, self.rpy)
        self.geometry(add(collision, "geometry"))
        ode = add(add(add(collision, "surface"), "friction"), "ode")
        add(ode, "mu", self.friction)
        add(ode, "mu2", self.friction)

    def visual(self, link: Element, name: str) -> None:
        """Adds it to a link as what cameras see."""
        visual = add(link, "visual", name=name)
        add_pose(visual, self.pos, self.rpy)
        self.geometry(add(visual, "geometry"))
        add_colour(visual, self.colour)

    def write(self, model: Element) -> None:
        """Adds it to a `<world>` as a model of its own."""
        self._model(model, self.name or self.kind, self.pos, self.rpy)

    def sdf(self) -> str:
        """Returns the text of an SDF file with it alone at the origin, for insert()."""
        root, _ = document("model", "none")
        root.remove(root[0])
        self._model(root, self.name or self.kind, ORIGIN, ORIGIN)
        return text_of(root)

    def _model(self, parent: Element, name: str, pos: Vector, rpy: Vector) -> None:
        model = add(parent, "model", name=name)
        add(model, "static", self.mass == 0.0)
        add_pose(model, pos, rpy)
        link = add(model, "link", name="link")
        if self.mass > 0.0:
            add_inertial(link, self.mass, box_inertia(self.mass, self.bounds()))
        here = type(self)(**{**self.__dict__, "pos": ORIGIN, "rpy": ORIGIN})
        here.collision(link, "collision")
        here.visual(link, "visual")


@dataclass(frozen=True, kw_only=True)
class Box(Solid):
    """A box.

    Examples:
        >>> Box(size=(1.0, 2.0, 3.0), pos=(5.0, 0.0, 1.5)).bounds()
        (1.0, 2.0, 3.0)
    """

    size: Vector  # sides [m]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vectors("a box", size=self.size)
        check_positive("a box", size=self.size)

    def geometry(self, parent: Element) -> None:
        """Adds `<box>`."""
        add(add(parent, "box"), "size", self.size)

    def bounds(self) -> Vector:
        """Returns its sides [m]."""
        return self.size


@dataclass(frozen=True, kw_only=True)
class Sphere(Solid):
    """A ball.

    Examples:
        >>> Sphere(radius=0.5, mass=1.0).bounds()
        (1.0, 1.0, 1.0)
    """

    radius: float  # [m]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("a sphere", radius=self.radius)

    def geometry(self, parent: Element) -> None:
        """Adds `<sphere>`."""
        add(add(parent, "sphere"), "radius", self.radius)

    def bounds(self) -> Vector:
        """Returns its diameter for all sides [m]."""
        return (2.0 * self.radius,) * 3


@dataclass(frozen=True, kw_only=True)
class Cylinder(Solid):
    """A cylinder that stands along its z axis.

    Examples:
        >>> Cylinder(radius=0.2, length=4.0, pos=(3.0, 0.0, 2.0)).bounds()
        (0.4, 0.4, 4.0)
    """

    radius: float  # [m]
    length: float  # [m]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("a cylinder", radius=self.radius, length=self.length)

    def geometry(self, parent: Element) -> None:
        """Adds `<cylinder>`."""
        cylinder = add(parent, "cylinder")
        add(cylinder, "radius", self.radius)
        add(cylinder, "length", self.length)

    def bounds(self) -> Vector:
        """Returns the box around it [m]."""
        return 2.0 * self.radius, 2.0 * self.radius, self.length


@dataclass(frozen=True, kw_only=True)
class Mesh(Solid):
    """A mesh from a file: COLLADA, OBJ or STL.

    Examples:
        >>> Mesh(file="hangar.stl", size=(20.0, 30.0, 8.0)).bounds()
        (20.0, 30.0, 8.0)
    """

    file: Path | str
    scale: Vector = (1.0, 1.0, 1.0)
    size: Vector = (1.0, 1.0, 1.0)  # sides of the box around it [m], from which it has its inertia

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vectors("a mesh", scale=self.scale, size=self.size)

    def geometry(self, parent: Element) -> None:
        """Adds `<mesh>`."""
        mesh = add(parent, "mesh")
        add(mesh, "uri", str(Path(self.file).expanduser().resolve()))
        add(mesh, "scale", self.scale)

    def bounds(self) -> Vector:
        """Returns the box around it as given [m]."""
        return self.size
