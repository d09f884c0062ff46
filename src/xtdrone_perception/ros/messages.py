"""What detectors find, as messages of vision_msgs: of ROS 1, and the same of ROS 2."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from sensor_models.cameras import CameraParameters

from ..detection.found import Detections
from ..markers import detect, pose
from ..markers.families import Marker
from .images import Fields

# From the camera's frame (x ahead, y left, z up) to the optical one (x right, y down, z ahead),
# which images of ROS have.
OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


def boxes(header: Fields, found: Detections) -> Fields:
    """Returns the fields of a vision_msgs/Detection2DArray, the surest box first.

    Boxes are in pixels; 0 is the outer edge of the first one.
    """
    return {
        "header": header,
        "detections": [
            {
                "header": header,
                "results": [{"id": int(kind), "score": float(score)}],
                "bbox": {
                    "center": {"x": float(left + right) / 2, "y": float(top + bottom) / 2},
                    "size_x": float(right - left),
                    "size_y": float(bottom - top),
                },
            }
            for (left, top, right, bottom), score, kind in zip(
                found.boxes, found.scores, found.classes
            )
        ],
    }


def darknet_boxes(header: Fields, found: Detections, names: Sequence[str]) -> Fields:
    """Returns the fields of darknet_ros's BoundingBoxes, whose ids are numbers of the classes."""
    return {
        "header": header,
        "image_header": header,
        "bounding_boxes": [
            dict(zip(("xmin", "ymin", "xmax", "ymax"), (round(float(side)) for side in box)))
            | {"probability": float(score), "id": int(kind), "Class": _name(int(kind), names)}
            for box, score, kind in zip(found.boxes, found.scores, found.classes)
        ],
    }


def _name(number: int, names: Sequence[str]) -> str:
    """Name of a class, or its number where it has none."""
    return names[number] if number < len(names) else str(number)


def marker_frames(message: Fields, names: Mapping[int, str]) -> Fields:
    """Returns the fields of a tf2_msgs/TFMessage, as apriltag_ros sends for its tags.

    Args:
        message: Of places().
        names: Frames by the numbers of the largest markers; others get none.
    """
    rows = []
    for row in message["detections"]:
        (result,) = row["results"]
        if result["id"] not in names:
            continue
        place = result["pose"]["pose"]
        turned = {"translation": place["position"], "rotation": place["orientation"]}
        rows.append(
            {"header": row["header"], "child_frame_id": names[result["id"]], "transform": turned}
        )
    return {"transforms": rows}


class MarkerFinder:
    """Looks for groups of nested markers in images, once it knows the camera.

    Attributes:
        camera: That of the images, from its camera_info.
    """

    def __init__(self, groups: Sequence[Sequence[Marker]], library: str = detect.OPENCV) -> None:
        """Takes the groups, each from its largest marker.

        Raises:
            PerceptionError: The library does not know a family.
        """
        levels: dict[str, int] = {}
        for group in groups:
            levels[group[0].family] = max(len(group), levels.get(group[0].family, 1))
        self.groups = [list(group) for group in groups]
        self.camera: CameraParameters | None = None
        self._stddev = pose.CORNER_STDDEV[library]
        self._detectors = {
            family: detect.make_detector(family, library, count) for family, count in levels.items()
        }

    def __call__(self, image: np.ndarray) -> list[tuple[Marker, pose.MarkerPose]]:
        """Returns the largest marker of each group that an image shows, and the group's pose.

        Args:
            image: (H, W, 3) or (H, W) uint8.
        """
        if self.camera is None:
            return []
        seen = {family: found.detect(image) for family, found in self._detectors.items()}
        out = []
        for group in self.groups:
            found = pose.estimate(group, seen[group[0].family], self.camera, self._stddev)
            if found is not None:
                out.append((group[0], found))
        return out


def places(header: Fields, found: Sequence[tuple[Marker, pose.MarkerPose]]) -> Fields:
    """Returns the fields of a vision_msgs/Detection3DArray in the camera's optical frame.

    An id is the number of the largest marker of a group.
    """
    turn = np.kron(np.eye(2), OPTICAL)
    detections = []
    for marker, each in found:
        attitude = Rotation.from_matrix(OPTICAL @ each.rotation).as_quat().tolist()
        place = {
            "position": dict(zip("xyz", (OPTICAL @ each.pos).tolist())),
            "orientation": dict(zip("xyzw", attitude)),
        }
        covariance = (turn @ each.covariance @ turn.T).ravel().tolist()
        detections.append(
            {
                "header": header,
                "results": [
                    {
                        "id": marker.id,
                        "score": 1.0,
                        "pose": {"pose": place, "covariance": covariance},
                    }
                ],
                "bbox": {"center": place, "size": {"x": marker.size, "y": marker.size}},
            }
        )
    return {"header": header, "detections": detections}


def of_ros2(fields: Fields, names: Sequence[str] = ()) -> Fields:
    """The fields of an array of detections of ROS 2 from those of ROS 1.

    Args:
        fields: Of a vision_msgs/Detection2DArray or Detection3DArray of Noetic.
        names: Of the classes, which are ids there; none where numbers are meant.
    """
    return {"header": fields["header"], "detections": [_detection(row, names) for row in
                                                       fields["detections"]]}  # fmt: skip


def _detection(row: Fields, names: Sequence[str]) -> Fields:
    results = []
    for result in row["results"]:
        name = _name(result["id"], names)
        told = {"hypothesis": {"class_id": name, "score": result["score"]}}
        results.append(told | ({"pose": result["pose"]} if "pose" in result else {}))
    box = dict(row["bbox"])
    if "size_x" in box:
        box["center"] = {"position": box["center"]}
    return {"header": row["header"], "results": results, "bbox": box}
