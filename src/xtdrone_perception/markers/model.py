"""Files of markers: pictures to print, and models for worlds and on vehicles."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core import files, outputs, resources
from xtdrone_core.errors import unknown_name

from ..errors import PerceptionError
from .families import Marker
from .picture import PIXELS, board_size, draw

PAD, BOX, WALL, PARCEL = "pad", "box", "wall", "parcel"
PLACES = (PAD, BOX, WALL, PARCEL)  # any other is a vehicle's name; parcels alone can be moved
_THICK = 0.02  # of the board [m]
_BOX_HEIGHT = 0.5  # [m]
_PLATE_MASS = 0.2  # [kg]
_LABEL = 0.001  # thickness of that on a parcel [m]
PARCEL_HEIGHT, PARCEL_MASS = 0.1, 0.2  # [m], [kg]
_PRINT_PIXELS = 2000
_PARAMETERS = "vehicle.params"  # of a vehicle's flight stack, beside its model
_INCH = 0.0254  # [m]
_MADE = "made by xtdrone perception marker"


@dataclass(frozen=True)
class Place:
    """Where a marker is mounted."""

    on: str  # one of PLACES, or the name of a vehicle
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of its middle, on a vehicle [m]


def default_name(markers: Sequence[Marker], place: Place) -> str:
    """Returns the name of the model of markers at a place."""
    numbers = "_".join(str(marker.id) for marker in markers)
    return f"{place.on}_{markers[0].family.lower()}_{numbers}"


def write(markers: Sequence[Marker], place: Place, folder: Path, name: str = "") -> Path:
    """Writes a model with its picture, and the picture as PNG and PDF of the right size.

    Args:
        markers: Nested, the largest first.
        place: Where they are mounted.
        folder: The model becomes a folder in it.
        name: Of the model; empty for default_name().

    Returns:
        The model's folder.

    Raises:
        PerceptionError: No such place, or the files cannot be written.
    """
    models = (resources.root() / "models").iterdir()
    known = (*PLACES, *sorted(path.name for path in models if resources.is_model_folder(path)))
    if place.on not in known:
        raise PerceptionError(unknown_name("place of a marker", place.on, known))
    name = name or default_name(markers, place)
    model = folder.expanduser() / name
    sdf, config = model / "model.sdf", model / "model.config"
    try:
        (model / "materials" / "textures").mkdir(parents=True, exist_ok=True)
        (model / "materials" / "scripts").mkdir(exist_ok=True)
        for path, text in (
            (sdf, _sdf(markers, place, name)),
            (config, _config(markers, name)),
            (model / "materials" / "scripts" / f"{name}.material", _material(name)),
        ):
            outputs.free_for(path, "model", lambda ends: _MADE.encode() in ends, PerceptionError)
            path.write_text(text)
        _pictures(markers, model, name)
        parameters = resources.root() / "models" / place.on / _PARAMETERS
        if files.is_file(parameters):
            (model / _PARAMETERS).write_bytes(files.read_bytes(parameters))
    except OSError as failed:
        raise outputs.cannot_write(model, failed, PerceptionError) from failed
    return model


def _pictures(markers: Sequence[Marker], model: Path, name: str) -> None:
    from PIL import Image

    texture = Image.fromarray(draw(markers, PIXELS))
    texture.save(model / "materials" / "textures" / f"{name}.png", optimize=True)
    paper = Image.fromarray(draw(markers, _PRINT_PIXELS)).convert("1")
    resolution = _PRINT_PIXELS / (board_size(markers[0]) / _INCH)
    paper.save(model / f"{name}.png", optimize=True, dpi=(resolution, resolution))
    paper.save(model / f"{name}.pdf", resolution=resolution, title=name)


def _config(markers: Sequence[Marker], name: str) -> str:
    what = ", ".join(f"{marker.family} {marker.id} of {marker.size:g} m" for marker in markers)
    return f"""<?xml version="1.0"?>
<!-- {_MADE} -->
<model>
  <name>{name}</name>
  <version>1.0</version>
  <sdf version="1.7">model.sdf</sdf>
  <description>{what}</description>
</model>
"""


def _material(name: str) -> str:
    """Returns a material script, by which Gazebo Classic shows the picture."""
    return f"""// {_MADE}
material Marker/{name}
{{
  technique
  {{
    pass
    {{
      texture_unit
      {{
        texture {name}.png
        filtering anisotropic
        max_anisotropy 16
      }}
    }}
  }}
}}
"""


def _sdf(markers: Sequence[Marker], place: Place, name: str) -> str:
    side = board_size(markers[0])
    if place.on == PARCEL:
        return _document(name, _parcel(side, name))
    board = f"{side:.6g} {side:.6g} {_THICK:g}"
    poses = {
        PAD: f"0 0 {_THICK / 2:g} 0 0 0",
        BOX: f"0 0 {_BOX_HEIGHT + _THICK / 2:g} 0 0 0",
        WALL: f"0 0 {side / 2:.6g} 0 -1.570796 3.141593",
    }
    x, y, z = place.pos
    pose = poses.get(place.on, f"{x:g} {y:g} {z - _THICK / 2:.6g} 0 0 0")
    link = f"""    <link name="marker">
      <pose>{pose}</pose>
{_inertia(side) if place.on not in PLACES else ""}      <collision name="board">
        <geometry><box><size>{board}</size></box></geometry>
      </collision>
      <visual name="board">
        <geometry><box><size>{board}</size></box></geometry>
{_look(name)}      </visual>
    </link>
"""
    if place.on in PLACES:
        before, after = "    <static>1</static>\n", _pedestal(side) if place.on == BOX else ""
    else:
        before = f"    <include>\n      <uri>model://{place.on}</uri>\n    </include>\n"
        after = f"""    <joint name="marker_joint" type="fixed">
      <parent>{place.on}::base_link</parent>
      <child>marker</child>
    </joint>
"""
    return _document(name, before + link + after)


def _document(name: str, parts: str) -> str:
    return f"""<?xml version="1.0"?>
<!-- {_MADE} -->
<sdf version="1.7">
  <model name="{name}">
{parts}  </model>
</sdf>
"""


def _parcel(side: float, name: str) -> str:
    """A loose box with the marker on its top."""
    box = f"{side:.6g} {side:.6g} {PARCEL_HEIGHT:g}"
    across = PARCEL_MASS / 12.0 * (side**2 + PARCEL_HEIGHT**2)
    return f"""    <link name="parcel">
      <pose>0 0 {PARCEL_HEIGHT / 2:g} 0 0 0</pose>
      <inertial>
        <mass>{PARCEL_MASS:g}</mass>
        <inertia>
          <ixx>{across:.6g}</ixx>
          <ixy>0</ixy>
          <ixz>0</ixz>
          <iyy>{across:.6g}</iyy>
          <iyz>0</iyz>
          <izz>{PARCEL_MASS * side**2 / 6.0:.6g}</izz>
        </inertia>
      </inertial>
      <collision name="box">
        <geometry><box><size>{box}</size></box></geometry>
      </collision>
      <visual name="box">
        <geometry><box><size>{box}</size></box></geometry>
        <material>
          <ambient>0.6 0.45 0.3 1</ambient>
          <diffuse>0.6 0.45 0.3 1</diffuse>
        </material>
      </visual>
      <visual name="board">
        <pose>0 0 {PARCEL_HEIGHT / 2:g} 0 0 0</pose>
        <geometry><box><size>{side:.6g} {side:.6g} {_LABEL:g}</size></box></geometry>
{_look(name)}      </visual>
    </link>
"""


def _inertia(side: float) -> str:
    flat = _PLATE_MASS * side * side / 12.0
    return f"""      <inertial>
        <mass>{_PLATE_MASS:g}</mass>
        <inertia>
          <ixx>{flat:.6g}</ixx>
          <ixy>0</ixy>
          <ixz>0</ixz>
          <iyy>{flat:.6g}</iyy>
          <iyz>0</iyz>
          <izz>{2.0 * flat:.6g}</izz>
        </inertia>
      </inertial>
"""


def _pedestal(side: float) -> str:
    size = f"<geometry><box><size>{side:.6g} {side:.6g} {_BOX_HEIGHT:g}</size></box></geometry>"
    return f"""    <link name="box">
      <pose>0 0 {_BOX_HEIGHT / 2:g} 0 0 0</pose>
      <collision name="box">
        {size}
      </collision>
      <visual name="box">
        {size}
        <material>
          <ambient>0.45 0.4 0.35 1</ambient>
          <diffuse>0.45 0.4 0.35 1</diffuse>
        </material>
      </visual>
    </link>
"""


def _look(name: str) -> str:
    """Returns the picture for Gazebo Classic (script) and for others (pbr)."""
    return f"""        <material>
          <script>
            <uri>model://{name}/materials/scripts</uri>
            <uri>model://{name}/materials/textures</uri>
            <name>Marker/{name}</name>
          </script>
          <pbr>
            <metal>
              <albedo_map>materials/textures/{name}.png</albedo_map>
              <roughness>0.9</roughness>
              <metalness>0</metalness>
            </metal>
          </pbr>
        </material>
"""
