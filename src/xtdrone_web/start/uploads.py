"""The user's own vehicles: an SDF with its meshes, as files or as a zip."""

import io
import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from xtdrone_core import resources
from xtdrone_core.errors import shown
from xtdrone_core.files import DAMAGED, MB
from xtdrone_core.runs.run_folder import check_name

from ..errors import WebError
from .shelf import write

MAX_SENT = 64 * MB  # size of all that is sent [bytes]
MAX_UNPACKED = 256 * MB  # size of all files of a model [bytes]
MAX = 400  # files of a model
_MAX_DEPTH = 8  # folders in each other
_MAX_PART = 100  # characters of a part of a name
SUFFIXES = (
    ".sdf",
    ".config",
    ".dae",
    ".obj",
    ".mtl",
    ".stl",
    ".png",
    ".jpg",
    ".jpeg",
    ".tga",
    ".material",
    ".txt",
    ".md",
    ".csv",
    ".yaml",
    ".params",
    ".xacro",
    ".gif",
    ".tif",
    ".bmp",
    ".glsl",
    ".vert",
    ".frag",
    ".dds",
    ".gazebo",
    ".world",
    ".urdf",
    ".xml",
)


def unpacked(sent: dict[str, bytes]) -> dict[PurePosixPath, bytes]:
    """Returns the files of a model, by their place in its folder, from what was dropped.

    Args:
        sent: Contents by name; one zip, or files with their folders.

    Raises:
        WebError: A name leads elsewhere, something is too large, or there is no SDF.
    """
    if not sent:
        raise WebError("nothing was sent: drop an SDF file, a folder or a zip")
    zips = [name for name in sent if name.lower().endswith(".zip")]
    if zips and len(sent) > 1:
        raise WebError(f"drop '{shown(zips[0])}' alone, or the files without a zip")
    contents = (
        _of_zip(zips[0], sent[zips[0]])
        if zips
        else {_place(name): data for name, data in sent.items()}
    )
    if sum(map(len, contents.values())) > MAX_UNPACKED or len(contents) > MAX:
        raise WebError(f"a model has at most {MAX} files and {MAX_UNPACKED // MB} MB")
    return _without_common_folder(contents)


def _of_zip(name: str, data: bytes) -> dict[PurePosixPath, bytes]:
    """Returns the files of a zip; reads only as much as is allowed, whatever its directory says."""
    contents, left = {}, MAX_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MAX:
                raise WebError(
                    f"'{shown(name)}' has {len(entries)} files: a model has at most {MAX}"
                )
            for entry in entries:
                if stat.S_ISLNK(entry.external_attr >> 16):
                    raise WebError(
                        f"'{shown(entry.filename)}' in '{shown(name)}' is a link: pack "
                        "the file itself"
                    )
                place = _place(entry.filename)
                with archive.open(entry) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise WebError(f"'{shown(name)}' unpacks to more than {MAX_UNPACKED // MB} MB")
                contents[place] = content
    except DAMAGED as error:
        raise WebError(f"cannot read the zip '{shown(name)}': {error}") from error
    return contents


def _place(name: str) -> PurePosixPath:
    """Returns the place of a file in the model's folder.

    Raises:
        WebError: It is no such place.
    """
    path = PurePosixPath(name)
    parts = path.parts
    bad = (
        path.is_absolute()
        or not parts
        or ".." in parts
        or len(parts) > _MAX_DEPTH
        or any(
            len(part) > _MAX_PART
            or part.startswith(".")
            or "\\" in part
            or ":" in part
            or not part.isprintable()
            for part in parts
        )
    )
    if bad:
        raise WebError(
            f"file name '{shown(name)}' is not allowed: give a name within the model's folder"
        )
    if path.suffix.lower() not in SUFFIXES:
        raise WebError(
            f"'{shown(name)}' is no part of a model: leave out files other than "
            f"{', '.join(SUFFIXES[:9])} and the like"
        )
    return path


def _without_common_folder(contents: dict[PurePosixPath, bytes]) -> dict[PurePosixPath, bytes]:
    """Returns the places without the folder that all of them are in, if there is one."""
    tops = {place.parts[0] for place in contents}
    if len(tops) == 1 and all(len(place.parts) > 1 for place in contents):
        return _without_common_folder(
            {PurePosixPath(*place.parts[1:]): data for place, data in contents.items()}
        )
    return contents


def keep(folder: Path, name: str, contents: dict[PurePosixPath, bytes]) -> Path:
    """Writes a model's files; one of the same name is not replaced.

    Args:
        folder: Folder of all models of the user.
        name: Name of this one.
        contents: As unpacked() returns them.

    Returns:
        Its SDF file.

    Raises:
        XtdroneError: It is no name, there is such a model already, or there is no SDF.
    """
    check_name(name)
    place = folder / name
    if place.exists():
        raise WebError(f"there is a model '{name}' already: give it another name, or remove that")
    try:
        for path, data in contents.items():
            write(place / path, data)
        return resources.model_sdf(place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def remove(folder: Path, name: str) -> None:
    """Removes a model of the user.

    Raises:
        XtdroneError: There is none.
    """
    check_name(name)
    place = folder / name
    if place.is_symlink() or not place.is_dir():
        raise WebError(f"there is no model '{shown(name)}' in '{folder}'")
    shutil.rmtree(place)


def names(folder: Path) -> list[str]:
    """Returns names of the user's models."""
    return (
        sorted(path.name for path in folder.glob("*") if path.is_dir() and not path.is_symlink())
        if folder.is_dir()
        else []
    )
