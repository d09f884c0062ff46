"""Trains the small detector on a data set, by the processor or a graphics card."""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from ..dataset.options import read_options
from ..errors import PerceptionError
from . import export
from .light import Light
from .network import Network, boxes_of
from .reading import read_network
from .samples import ROOM, Crops, Images, Picture, Targets, read_split

_RATE = 2e-3  # greatest learning rate
_KEPT = 0.998  # of the average of weights at each step, once there were many
_WARM = 0.05  # share of the time in which it rises
_DECAY = 0.02
_CALIBRATION = 64  # crops by which a network that goes on gets its normalisation back
_WRITTEN = 20  # times that the file is written on the way
_LOOKED_AT = 20  # steps after which the loss is read: a card waits for that


class _Lot(NamedTuple):
    """What a step looks at."""

    size: tuple[int, int]  # of crops [pixels]
    crops: int
    room: int  # of images that are kept [bytes]


_LOTS = {"cpu": _Lot((192, 160), 8, ROOM), "cuda": _Lot((320, 256), 96, 5 * ROOM)}


@dataclass(frozen=True)
class Plan:
    """A training."""

    folders: tuple[Path, ...]  # data sets of the same classes
    seconds: float = 600.0  # processor time; by a card, time
    seed: int = 0
    size: tuple[int, int] = (640, 480)  # images that the exported network takes [pixels]
    begin: Path | None = None  # NAME.onnx that goes on to be trained; None: a new network
    device: str = "cpu"  # or cuda
    held_out: int = 256  # crops of the validation split by which it is watched


@dataclass(frozen=True)
class Step:
    """How a training goes."""

    seconds: float  # of processor time; by a card, of time
    images: int
    loss: float
    held_out: float | None = None  # loss on the validation split, as it was last looked at


def train(plan: Plan, out: Path, watch: Callable[[Step], object] = lambda _: None) -> Step:
    """Trains for some time, and writes the network, now and then and at the end.

    Args:
        plan: What is trained.
        out: File NAME.onnx.
        watch: Called after each step.

    Raises:
        PerceptionError: A data set cannot be read, or they differ in classes; the network that
            is trained on cannot be read, or has others; or there is no such device.
    """
    if plan.device == "cuda" and not torch.cuda.is_available():
        raise PerceptionError("device cuda: PyTorch finds no graphics card here: give cpu")
    classes, pictures = _read(plan.folders, "train")
    if not pictures:
        raise PerceptionError(
            f"data set '{plan.folders[0]}' has no images for 'train': make it with more --images "
            "or other --shares"
        )
    torch.manual_seed(plan.seed)
    lot = _LOTS[plan.device]
    images = Images(lot.room, plan.device)
    images.read([each.path for each in pictures])
    crops = Crops(pictures, len(classes), lot.size, plan.seed, images, plan.device)
    network = _begun(plan, classes, crops).to(plan.device)
    # A quarter quicker; PyTorch's annotations lack it.
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)
    averaged = AveragedModel(network, avg_fn=_averaged, use_buffers=True)
    light = Light(plan.seed, plan.device)
    check = _check(plan, classes, images)
    clock = time.process_time if plan.device == "cpu" else time.monotonic
    began, count, written = clock(), 0, 0.0
    total = torch.zeros((), device=plan.device)
    step = Step(0.0, 0, 0.0)
    while (done := (clock() - began) / plan.seconds) < 1.0:
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(done / _WARM, 0.5 * (1.0 + np.cos(np.pi * done))) + 1e-5
        pixels, wanted = crops.draw(lot.crops)
        loss = _loss(network, light(pixels), wanted)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()
        averaged.update_parameters(network)
        count += 1
        total += (loss.detach() - total) * max(0.02, 1.0 / count)
        seen, held_out = step.loss, step.held_out
        if count % _LOOKED_AT == 1 or plan.device == "cpu":
            seen = float(total)
        if done - written > 1.0 / _WRITTEN:
            written = done
            held_out = check(averaged.module)
            _write(plan, out, averaged.module, classes)
        step = Step(clock() - began, count * lot.crops, seen, held_out)
        watch(step)
    _write(plan, out, averaged.module, classes)
    return replace(step, loss=float(total), held_out=check(averaged.module))


def _write(plan: Plan, out: Path, average: torch.nn.Module, classes: tuple[str, ...]) -> None:
    """Writes a network; a file that was there is there until the new one is."""
    network = copy.deepcopy(average).cpu().eval()
    assert isinstance(network, Network)
    part = out.with_suffix(".part")
    export.write(part, network, classes, plan.size)
    part.replace(out)


def _check(
    plan: Plan, classes: tuple[str, ...], images: Images
) -> Callable[[torch.nn.Module], float | None]:
    """What tells the loss of a network on crops of the validation split, None without any."""
    pictures, lot = _read(plan.folders, "val")[1], _LOTS[plan.device]
    if not pictures:
        return lambda _: None
    crops = Crops(pictures, len(classes), lot.size, plan.seed, images, plan.device)
    held = [crops.draw(lot.crops) for _ in range(-(-plan.held_out // lot.crops))]

    def loss(network: torch.nn.Module) -> float:
        mode = network.training
        network.eval()
        with torch.no_grad():
            losses = [float(_loss(network, pixels / 255.0, wanted)) for pixels, wanted in held]
        network.train(mode)
        return float(np.mean(losses))

    return loss


def _begun(plan: Plan, classes: tuple[str, ...], crops: Crops) -> Network:
    """A new network, or that of a file."""
    if plan.begin is None:
        return Network(len(classes))
    pixels, _ = crops.draw(_CALIBRATION)
    return read_network(plan.begin, classes, pixels.cpu() / 255.0)


def _averaged(average: torch.Tensor, new: torch.Tensor, steps: torch.Tensor | int) -> torch.Tensor:
    """Moves the average of weights: evenly over the first steps, exponentially later."""
    share = torch.clamp(4.0 / (4.0 + torch.as_tensor(steps)), min=1.0 - _KEPT)
    return average + share * (new - average)


def _is_quick(device: str) -> bool:
    """Whether a device multiplies numbers of 16 bits, which is about twice as quick."""
    if device == "cuda":
        return torch.cuda.is_bf16_supported()
    ask = getattr(torch.cpu, "get_capabilities", None)  # PyTorch 2.10 and later
    features = ask() if ask else {}
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


def _read(folders: Sequence[Path], split: str) -> tuple[tuple[str, ...], list[Picture]]:
    classes: tuple[str, ...] = ()
    pictures: list[Picture] = []
    for folder in folders:
        options = read_options(folder)
        if classes and options.classes != classes:
            raise PerceptionError(
                f"data set '{folder}' has the classes {', '.join(options.classes)}, not "
                f"{', '.join(classes)}: give sets of the same classes"
            )
        classes = options.classes
        pictures += read_split(folder, options, split)
    return classes, pictures


def _loss(network: torch.nn.Module, images: torch.Tensor, wanted: Targets) -> torch.Tensor:
    heat, boxes, inside, ignored = wanted
    device = images.device.type
    with torch.autocast(device, dtype=torch.bfloat16, enabled=_is_quick(device)):
        logits, reaches = network(images.contiguous(memory_format=torch.channels_last))
    logits, reaches = logits.float(), reaches.float()
    weight = (~ignored)[:, None].float()
    chance = torch.sigmoid(logits).clamp(1e-5, 1.0 - 1e-5)
    exact = (heat == 1.0).float()
    gain = exact * (1.0 - chance) ** 2 * torch.log(chance)
    miss = (1.0 - exact) * (1.0 - heat) ** 4 * chance**2 * torch.log(1.0 - chance)
    focal = -(weight * (gain + miss)).sum() / exact.sum().clamp(min=1)
    # Of all cells, so that a card need not tell how many answer for a box.
    overlap = _generalised_iou(*(each.permute(0, 2, 3, 1).reshape(-1, 4)
                                 for each in (boxes_of(reaches), boxes)))  # fmt: skip
    own = inside.reshape(-1)
    return focal + 2.0 * torch.where(own, 1.0 - overlap, 0.0).sum() / own.sum().clamp(min=1)


def _generalised_iou(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """GIoU (N,) of boxes (N, 4) (Rezatofighi and others 2019)."""
    low, high = torch.maximum(one[:, :2], other[:, :2]), torch.minimum(one[:, 2:], other[:, 2:])
    common = (high - low).clamp(min=0.0).prod(1)
    areas = [(each[:, 2:] - each[:, :2]).clamp(min=0.0).prod(1) for each in (one, other)]
    union = areas[0] + areas[1] - common + 1e-6
    around = (
        torch.maximum(one[:, 2:], other[:, 2:]) - torch.minimum(one[:, :2], other[:, :2])
    ).prod(1) + 1e-6
    return common / union - (around - union) / around
