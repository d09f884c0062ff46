"""The frame of a vehicle: its mass, and what it looks like and is touched by."""

from dataclasses import dataclass, field

from .part import (
    Element,
    Part,
    Vector,
    add,
    add_inertial,
    add_pose,
    box_inertia,
    check_positive,
    check_vectors,
)
from .solids import Box, Solid

BASE = "base_link"  # name of the frame's link


@dataclass(frozen=True, kw_only=True)
class Frame(Part):
    """The rigid body that carries all other parts; its centre of gravity is their origin.

    Examples:
        >>> Frame(mass=1.5, size=(0.3, 0.3, 0.1)).moments()
        (0.0125, 0.0125, 0.0225)
    """

    mass: float  # mass without rotors and sensors that have a mass of their own [kg]
    size: Vector = (0.3, 0.3, 0.1)  # size of the box that it is [m]
    inertia: Vector | None = None  # principal moments [kg m^2]; None: of a solid box
    height: float = 0.0  # height of its centre of gravity above the ground [m]; 0: half of the box
    collisions: tuple[Solid, ...] = field(default=())  # (): the box
    visuals: tuple[Solid, ...] = field(default=())  # (): the box

    def __post_init__(self) -> None:
        check_vectors("a frame", size=self.size)
        check_positive(
            "a frame", mass=self.mass, size=self.size, height=self.height or self.size[2]
        )
        if self.inertia is not None:
            check_vectors("a frame", inertia=self.inertia)
            check_positive("a frame", inertia=self.inertia)

    def moments(self) -> Vector:
        """Returns its principal moments of inertia [kg m^2]."""
        return self.inertia or tuple(  # type: ignore[return-value]
            round(moment, 15) for moment in box_inertia(self.mass, self.size)
        )

    def write(self, model: Element) -> None:
        """Adds its link, the base of the vehicle."""
        link = add(model, "link", name=BASE)
        add_pose(link, (0.0, 0.0, self.height or 0.5 * self.size[2]))
        add_inertial(link, self.mass, self.moments())
        box = Box(size=self.size, colour=(0.15, 0.15, 0.17))
        for k, solid in enumerate(self.collisions or (box,)):
            solid.collision(link, solid.name or f"collision_{k}")
        for k, solid in enumerate(self.visuals or (box,)):
            solid.visual(link, solid.name or f"visual_{k}")
