"""Trains the small detector on a data set."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from ..dataset.options import read_options
from ..errors import PerceptionError
from . import export
from .light import Light
from .network import Network, boxes_of
from .reading import read_network
from .samples import Images, Picture, Sample, crop, read_split

_CROP = (192, 160)  # [pixels]
_BATCH = 8
_RATE = 2e-3  # greatest learning rate
_KEPT = 0.998  # of the average of weights at each step, once there were many
_WARM = 0.05  # share of the time in which it rises
_DECAY = 0.02
_CALIBRATION = 8  # batches by which a network that goes on gets its normalisation back


@dataclass(frozen=True)
class Plan:
    """A training."""

    folders: tuple[Path, ...]  # data sets of the same classes
    seconds: float = 600.0  # processor time
    seed: int = 0
    size: tuple[int, int] = (640, 480)  # images that the exported network takes [pixels]
    begin: Path | None = None  # NAME.onnx that goes on to be trained; None: a new network


@dataclass(frozen=True)
class Step:
    """How a training goes."""

    seconds: float  # processor time
    images: int
    loss: float


def train(plan: Plan, out: Path, watch: Callable[[Step], object] = lambda _: None) -> Step:
    """Trains for some processor time, and writes the network.

    Args:
        plan: What is trained.
        out: File NAME.onnx.
        watch: Called after each step.

    Raises:
        PerceptionError: A data set cannot be read, or they differ in classes; or the network that
            is trained on cannot be read, or has others.
    """
    classes, pictures = _read(plan.folders)
    torch.manual_seed(plan.seed)
    batches = _batches(pictures, len(classes), plan.seed)
    network = _begun(plan, classes, batches)
    # A quarter quicker; PyTorch's annotations lack it.
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)
    averaged = AveragedModel(network, avg_fn=_averaged, use_buffers=True)
    light = Light(_CROP, plan.seed)
    began, images, smooth = time.process_time(), 0, 0.0
    step = Step(0.0, 0, 0.0)
    for batch in batches:
        done = (time.process_time() - began) / plan.seconds
        if done >= 1.0:
            break
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(done / _WARM, 0.5 * (1.0 + np.cos(np.pi * done))) + 1e-5
        loss = _loss(network, batch, light)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()
        averaged.update_parameters(network)
        images += len(batch)
        smooth += (loss.item() - smooth) * max(0.02, len(batch) / images)
        step = Step(time.process_time() - began, images, smooth)
        watch(step)
    average = averaged.module.eval()
    assert isinstance(average, Network)
    export.write(out, average, classes, plan.size)
    return step


def _begun(plan: Plan, classes: tuple[str, ...], batches: Iterator[list[Sample]]) -> Network:
    """A new network, or that of a file."""
    if plan.begin is None:
        return Network(len(classes))
    samples = [sample.image for _ in range(_CALIBRATION) for sample in next(batches)]
    images = torch.from_numpy(np.stack(samples)).float() / 255.0
    return read_network(plan.begin, classes, images)


def _averaged(average: torch.Tensor, new: torch.Tensor, steps: torch.Tensor | int) -> torch.Tensor:
    """Moves the average of weights: evenly over the first steps, exponentially later."""
    share = max(1.0 - _KEPT, 4.0 / (4.0 + float(steps)))
    return average + share * (new - average)


def _has_bfloat16() -> bool:
    """Whether the processor multiplies numbers of 16 bits, which is about twice as quick."""
    ask = getattr(torch.cpu, "get_capabilities", None)  # PyTorch 2.10 and later
    told = ask() if ask else {}
    return bool(told.get("avx512_bf16") or told.get("amx_bf16"))


def _read(folders: Sequence[Path]) -> tuple[tuple[str, ...], list[Picture]]:
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
        pictures += read_split(folder, options, "train")
    return classes, pictures


def _batches(pictures: list[Picture], classes: int, seed: int) -> Iterator[list[Sample]]:
    """Yields batches without end; the next ones are made while one is used."""
    rng = np.random.default_rng(seed)
    ahead: list = []
    images = Images()
    with ThreadPoolExecutor(1) as pool:

        def make(rows: np.ndarray, own: int) -> list[Sample]:
            generator = np.random.default_rng([seed, own])
            return [
                crop(pictures[k], images(pictures[k].path), classes, _CROP, generator) for k in rows
            ]

        number = 0
        while True:
            while len(ahead) < 3:
                rows = rng.integers(len(pictures), size=_BATCH)
                ahead.append(pool.submit(make, rows, number))
                number += 1
            yield ahead.pop(0).result()


def _loss(network: Network, batch: list[Sample], light: Light) -> torch.Tensor:
    images, heat, boxes, inside, ignored = (
        torch.from_numpy(np.stack(parts)) for parts in zip(*batch)
    )
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=_has_bfloat16()):
        logits, reaches = network(light(images).contiguous(memory_format=torch.channels_last))
    logits, reaches = logits.float(), reaches.float()
    found = inside.sum().clamp(min=1)
    weight = (~ignored)[:, None].float()
    chance = torch.sigmoid(logits).clamp(1e-5, 1.0 - 1e-5)
    exact = (heat == 1.0).float()
    gain = exact * (1.0 - chance) ** 2 * torch.log(chance)
    miss = (1.0 - exact) * (1.0 - heat) ** 4 * chance**2 * torch.log(1.0 - chance)
    focal = -(weight * (gain + miss)).sum() / exact.sum().clamp(min=1)
    predicted = boxes_of(reaches).permute(0, 2, 3, 1)[inside]
    wanted = boxes.permute(0, 2, 3, 1)[inside]
    return focal + 2.0 * (1.0 - _generalised_iou(predicted, wanted)).sum() / found


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
