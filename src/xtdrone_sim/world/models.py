"""Models of a world that are no vehicles: those of its file, and those inserted while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..vehicles.parts.links import read_links
from ..vehicles.plugins import unread_plugins
from ..vehicles.pose import Pose
from ..vehicles.sdf_file import fail, noted, parse_text
from ..vehicles.sdf_tree import Scope, flag, name_of, pose_of
from ..vehicles.shapes import Shape, shapes_of


@dataclass(frozen=True)
class WorldModel:
    """A model of one rigid body.

    Its body's frame has the model's axes and lies in its centre of gravity; a static model's is
    the model's own.
    """

    name: str
    static: bool
    pose: Pose  # where the model was inserted, world
    links: tuple[tuple[str, Pose], ...]  # full name, pose in the model's frame; the first counts
    shapes: tuple[Shape, ...] = ()  # collisions and visuals, body frame
    cog: tuple[float, float, float] = (0.0, 0.0, 0.0)  # centre of gravity, model frame [m]
    mass: float = 0.0  # [kg]; 0 for a static model
    inertia: tuple = ()  # (3, 3) about the centre of gravity, the model's axes [kg m^2]
    sdf: str = ""  # its SDF text
    remarks: tuple[str, ...] = ()  # a line for each thing in it that is left out

    @property
    def start(self) -> Pose:
        """Pose of its body where it was inserted, world."""
        return self.pose.to(Pose(self.cog))

    def scope(self) -> Scope:
        """The model as it is in its SDF, for engines that read SDF."""
        element = parse_text(self.sdf, self.name, "model")
        element.set("name", self.name)
        return Scope(element, Pose(), f"{self.name}::")

    def plain(self) -> dict[str, Any]:
        """Returns plain data for restore()."""
        return {
            "sdf": self.sdf,
            "name": self.name,
            "pos": list(self.pose.pos),
            "quat": list(self.pose.quat),
        }

    @classmethod
    def restore(cls, plain: Mapping[str, Any]) -> "WorldModel":
        """Returns the model that plain() described."""
        return read_model(
            plain["sdf"],
            plain["name"],
            Pose(tuple(plain["pos"]), tuple(plain["quat"])),
            own_pose=False,
        )


def read_model(words: str, name: str, pose: Pose, own_pose: bool = True) -> WorldModel:
    """A model from SDF text, under a name and at a pose of its own.

    Args:
        words: The text of an SDF file.
        name: Name of the model, whatever its file says.
        pose: Where to put it, world.
        own_pose: Whether the <pose> of the model counts from there, as in gazebo_ros.

    Raises:
        SdfError: It is invalid, or more than one rigid body.
    """
    with noted() as notes:
        model = _read_model(words, name, pose, own_pose)
    return replace(model, remarks=(*model.remarks, *notes))


def _read_model(words: str, name: str, pose: Pose, own_pose: bool) -> WorldModel:
    element = parse_text(words, name, "model")
    element.set("name", name)
    scope = Scope(element, Pose(), f"{name}::")
    remarks = unread_plugins(scope, ())
    static = flag(element, "static")
    place = pose.to(pose_of(element)) if own_pose else pose
    links = tuple((full, frame) for full, _, frame in scope.links())
    if not links:
        fail(element, f"model '{name}' has no link")
    if static:
        shapes = tuple(shapes_of(scope, remarks))
        return WorldModel(name, True, place, links, shapes, sdf=words, remarks=tuple(remarks))
    for _, joint in scope.elements("joint"):
        if joint.get("type") != "fixed":
            fail(
                joint,
                f"joint '{name_of(joint)}' of model '{name}' is of type "
                f"{joint.get('type')}: only models of one rigid body can be inserted while "
                "the simulation runs; vehicles are given at its start",
            )
    whole = read_links(scope, {}, remarks)
    inward = Pose(whole.cog).inverse()
    shapes = tuple(_moved(shape, inward) for shape in shapes_of(scope, remarks))
    return WorldModel(
        name,
        False,
        place,
        links,
        shapes,
        whole.cog,
        whole.mass,
        whole.inertia,
        words,
        tuple(remarks),
    )


def of_world(scope: Scope) -> tuple[WorldModel, ...]:
    """The models of a world's file, all of them static."""
    models = []
    for name, nested in scope.models():
        pose = nested.pose("", nested.element)
        back = pose.inverse()
        models.append(
            WorldModel(
                name, True, pose, tuple((full, back.to(frame)) for full, _, frame in nested.links())
            )
        )
    return tuple(models)


def _moved(shape: Shape, inward: Pose) -> Shape:
    return replace(shape, pose=inward.to(shape.pose))
