"""Other light for images that a network trains on."""

import math

import torch

_GAINS = (0.35, 1.35)  # of all colours
_TINT = 0.12  # of single colours
_CONTRASTS = (0.7, 1.3)
_COLOURS = (0.1, 1.4)  # 0: grey
_BLURRED = 0.3  # share of images
_NOISE = 0.04  # largest standard deviation
_LARGER = 64  # sides of the field of noise over those of images, out of which it is cut [pixels]


class Light:
    """Draws exposure, colours, contrast, a little blur and noise for each image of a batch."""

    def __init__(self, size: tuple[int, int], seed: int) -> None:
        """Is for images of a width and height [pixels]."""
        self._random = torch.Generator().manual_seed(seed)
        self._noise = torch.randn(3, size[1] + _LARGER, size[0] + _LARGER, generator=self._random)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Images (B, 3, H, W) float32, 0 to 1, of such as uint8."""
        count, _, height, width = images.shape
        levels = images.float() * (1.0 / 255.0)
        gains = self._drawn(count, 1, math.log(_GAINS[0]), math.log(_GAINS[1])).exp()
        gains = gains * self._drawn(count, 3, 1.0 - _TINT, 1.0 + _TINT)
        contrast = self._drawn(count, 1, *_CONTRASTS)[:, :, None]
        colour = self._drawn(count, 1, *_COLOURS)[:, :, None]
        mixing = contrast * (colour * torch.eye(3) + (1.0 - colour) / 3.0) * gains[:, None, :]
        mean = (levels.mean(dim=(2, 3)) * gains).mean(dim=1)[:, None, None]
        out = torch.baddbmm((1.0 - contrast) * mean, mixing, levels.flatten(2))
        out = out.reshape(count, 3, height, width)
        for k in range(count):
            if self._whole(1000) < 1000 * _BLURRED:
                out[k] = 0.5 * (out[k] + out[k].roll(1, 1 + self._whole(2)))
            top, left = self._whole(_LARGER), self._whole(_LARGER)
            noise = self._noise[:, top : top + height, left : left + width]
            sigma = float(self._drawn(1, 1, -_NOISE, _NOISE))
            out[k].add_(noise, alpha=max(0.0, sigma))
        return out.clamp_(0.0, 1.0)

    def _drawn(self, rows: int, columns: int, low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(rows, columns, generator=self._random)

    def _whole(self, most: int) -> int:
        return int(torch.randint(most, (1,), generator=self._random))
