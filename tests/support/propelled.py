"""The iris with propellers that have a model of their own."""

import re
from pathlib import Path

from xtdrone_core import resources

MODELS = {  # model -> propeller
    "gill_dandrea_1": "apcsf-10x4.7",
    "gill_dandrea_2": "apcsf-10x4.7",
    "surrogate": "apcsf-10x4.7",
    "hbem": "generic-10x4.7",
}
_CONSTANTS = ("motorConstant", "momentConstant", "rotorDragCoefficient", "rollingMomentCoefficient")


def iris_with(folder: Path, block: str) -> Path:
    """Writes an iris whose rotors have a <xtdrone:propeller> of this content; returns its file."""
    text = resources.vehicle_sdf("iris").read_text()
    for tag in _CONSTANTS:
        text = re.sub(rf"\s*<{tag}>[^<]*</{tag}>", "", text)
    own = f'<xtdrone:propeller xmlns:xtdrone="urn:xtdrone">{block}</xtdrone:propeller>'
    path = folder / "propelled" / "model.sdf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace("</turningDirection>", f"</turningDirection>\n{own}"))
    return path


def iris_by(folder: Path, model: str) -> Path:
    """Writes an iris whose propellers are by one of MODELS; returns its file."""
    return iris_with(folder, f"<name>{MODELS[model]}</name><model>{model}</model>")
