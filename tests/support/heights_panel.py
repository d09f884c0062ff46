"""A panel of another package: its script asks for the vehicles' heights and shows them."""

from pathlib import Path

from xtdrone_web.links.order import Order
from xtdrone_web.panels.panel import Panel


class Heights(Panel):
    """Heights of all vehicles."""

    script = Path(__file__).with_suffix(".js")
    heights = ()

    def orders(self):
        return {"heights": Order(lambda request: {"heights": self.heights}, for_viewers=True)}

    def scene(self):
        return {"height_unit": "m"}

    def on_frame(self, arrays):
        from xtdrone_web.frame import VEHICLE

        self.heights = arrays["vehicles"].view(VEHICLE)["pos"][:, 2].tolist()
