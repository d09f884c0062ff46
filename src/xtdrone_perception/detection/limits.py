"""Which labels count in an evaluation, as of KITTI's moderate difficulty."""

from typing import Any, NamedTuple


class Limits(NamedTuple):
    """From where on a box has to be found; others may be found or not."""

    smallest: int = 25  # height [pixels]
    visible: float = 0.5  # share of the box that shows
    truncated: float = 0.3  # largest share beyond the edges of the image

    def counts(self, label: dict[str, Any]) -> bool:  # of JSON
        """Whether a label of a data set's scene, or an annotation of its COCO file, counts."""
        height = label["box" if "box" in label else "bbox"][3]
        return bool(
            height >= self.smallest
            and label["visible"] >= self.visible
            and label["truncated"] <= self.truncated
        )
