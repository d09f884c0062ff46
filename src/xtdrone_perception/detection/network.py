"""A small detector without anchors: each cell of 8 x 8 pixels says what is there, and its box."""

from typing import NamedTuple

import torch
from torch import nn

STRIDE = 8  # pixels of a cell
COARSEST = 32  # sides of an image are multiples of this [pixels]
_WIDTHS = (16, 24, 48, 96, 128)  # channels at strides 2, 4, 8, 16, 32
_DEPTHS = (0, 1, 2, 3, 2)  # residual blocks there
_NECK = 48  # channels of the cells
_RARE = -4.0  # logit of a class at the beginning: nothing is there
_WIDE = 1.0  # logarithm of the reach of a box at the beginning, in cells


class Layer(NamedTuple):
    """A convolution as ONNX has it: batch normalisation is part of its weights."""

    weight: torch.Tensor  # (out, in, k, k)
    bias: torch.Tensor  # (out,)
    stride: int


class Convolution(nn.Module):
    """A convolution with batch normalisation."""

    def __init__(self, inward: int, outward: int, kernel: int = 3, stride: int = 1) -> None:
        """Has weights from `inward` to `outward` channels."""
        super().__init__()
        self.conv = nn.Conv2d(inward, outward, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outward)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Convolves and normalises."""
        normed: torch.Tensor = self.norm(self.conv(x))
        return normed

    def layer(self) -> Layer:
        """One convolution that does the same after training."""
        norm = self.norm
        assert norm.running_var is not None and norm.running_mean is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        return Layer(
            self.conv.weight * scale[:, None, None, None],
            norm.bias - norm.running_mean * scale,
            int(self.conv.stride[0]),
        )


class Stage(nn.Module):
    """A convolution of stride 2 and residual blocks."""

    def __init__(self, inward: int, outward: int, depth: int) -> None:
        """Has `depth` blocks of one convolution each."""
        super().__init__()
        self.first = Convolution(inward, outward, stride=2)
        self.blocks = nn.ModuleList(Convolution(outward, outward) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Halves the sides."""
        x = torch.relu(self.first(x))
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return x


class Network(nn.Module):
    """The detector; its output is the raw map of classes and reaches."""

    def __init__(self, classes: int) -> None:
        """Has so many classes."""
        super().__init__()
        inward = (3, *_WIDTHS[:-1])
        self.stages = nn.ModuleList(
            Stage(before, after, depth) for before, after, depth in zip(inward, _WIDTHS, _DEPTHS)
        )
        self.sides = nn.ModuleList(Convolution(width, _NECK, 1) for width in _WIDTHS[2:])
        self.smooth = nn.ModuleList(Convolution(_NECK, _NECK) for _ in range(2))
        self.towers = nn.ModuleList(Convolution(_NECK, _NECK) for _ in range(2))
        self.classes = nn.Conv2d(_NECK, classes, 1)
        self.reaches = nn.Conv2d(_NECK, 4, 1)
        for layer, first in ((self.classes, _RARE), (self.reaches, _WIDE)):
            assert layer.bias is not None
            nn.init.constant_(layer.bias, first)
        nn.init.normal_(self.reaches.weight, std=0.01)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What images (B, 3, H, W), from 0 to 1, show.

        Returns:
            (B, C, H/8, W/8) logits of classes, and (B, 4, H/8, W/8) logarithms of the reach from
            the cell's middle to the left, top, right and bottom, in cells.
        """
        x, maps = images, []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        fine, middle, coarse = (side(each) for side, each in zip(self.sides, maps[2:]))
        middle = torch.relu(self.smooth[0](middle + _doubled(coarse)))
        fine = torch.relu(self.smooth[1](fine + _doubled(middle)))
        what, where = (torch.relu(tower(fine)) for tower in self.towers)
        return self.classes(what), self.reaches(where)


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


def boxes_of(reaches: torch.Tensor) -> torch.Tensor:
    """Boxes (B, 4, H, W) left, top, right, bottom [pixels] of the map of reaches."""
    rows, columns = reaches.shape[2:]
    y = (torch.arange(rows, device=reaches.device) + 0.5)[:, None].expand(rows, columns)
    x = (torch.arange(columns, device=reaches.device) + 0.5)[None, :].expand(rows, columns)
    left, top, right, bottom = reaches.clamp(-4.0, 5.0).exp().unbind(1)
    return STRIDE * torch.stack([x - left, y - top, x + right, y + bottom], dim=1)
