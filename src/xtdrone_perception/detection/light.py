"""Other light for images that a network trains on."""

import math

import torch

_GAINS = (0.2, 1.4)  # of all colours
_TINT = 0.12  # of single colours
_GAMMA = 0.25  # standard deviation of its logarithm
_CONTRASTS = (0.7, 1.3)
_COLOURS = (0.1, 1.4)  # 0: grey
_BLURRED = 0.3  # share of images
_NOISE = 0.04  # largest standard deviation


class Light:
    """Draws exposure, colours, contrast, a little blur and noise for each image of a batch."""

    def __init__(self, seed: int, device: str = "cpu") -> None:
        """Is for images on a device."""
        self._random = torch.Generator(device).manual_seed(seed)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Images (B, 3, H, W) float32, 0 to 1, of such from 0 to 255."""
        count, _, height, width = images.shape
        gamma = torch.randn(count, 1, 1, 1, generator=self._random, device=images.device)
        levels = (images * (1.0 / 255.0)).clamp(0.0, 1.0) ** (_GAMMA * gamma).exp()
        gains = self._drawn(count, 1, math.log(_GAINS[0]), math.log(_GAINS[1])).exp()
        gains = gains * self._drawn(count, 3, 1.0 - _TINT, 1.0 + _TINT)
        contrast = self._drawn(count, 1, *_CONTRASTS)[:, :, None]
        colour = self._drawn(count, 1, *_COLOURS)[:, :, None]
        identity = torch.eye(3, device=images.device)
        mixing = contrast * (colour * identity + (1.0 - colour) / 3.0) * gains[:, None, :]
        mean = (levels.mean(dim=(2, 3)) * gains).mean(dim=1)[:, None, None]
        out = torch.baddbmm((1.0 - contrast) * mean, mixing, levels.flatten(2))
        out = self._blurred(out.reshape(count, 3, height, width))
        sigma = self._drawn(count, 1, -_NOISE, _NOISE).clamp(min=0.0)[:, :, None, None]
        noise = torch.randn(out.shape, generator=self._random, device=images.device)
        return (out + sigma * noise).clamp(0.0, 1.0)

    def _blurred(self, images: torch.Tensor) -> torch.Tensor:
        """Some of them smeared by a pixel, down or to the right."""
        count = len(images)
        down = (self._drawn(count, 1, 0.0, 1.0) < 0.5)[:, :, None, None]
        some = (self._drawn(count, 1, 0.0, 1.0) < _BLURRED)[:, :, None, None]
        moved = torch.where(down, images.roll(1, 2), images.roll(1, 3))
        return torch.where(some, 0.5 * (images + moved), images)

    def _drawn(self, rows: int, columns: int, low: float, high: float) -> torch.Tensor:
        device = self._random.device
        return low + (high - low) * torch.rand(rows, columns, generator=self._random, device=device)
