"""Solves linear systems whose matrix is banded but for a few rows and columns."""

import numpy as np
from scipy import sparse
from scipy.linalg import lapack


class BorderedBand:
    """The factors of a matrix [[A, B], [C, D]] with A banded and D small.

    Attributes:
        regular: Whether the matrix could be factored.
    """

    def __init__(self, matrix: sparse.spmatrix, order: np.ndarray, border: int) -> None:
        """Factors a matrix.

        Args:
            matrix: (S, S).
            order: (S,) its rows and columns in the order in which it is banded.
            border: Number of the last ones that belong to B, C and D.
        """
        size = len(order)
        inside = size - border
        place = np.empty(size, dtype=np.int64)
        place[order] = np.arange(size)
        entries = matrix.tocoo()
        row, column = place[entries.row], place[entries.col]
        banded = (row < inside) & (column < inside)
        offset = (row - column)[banded]
        self._order, self._inside = order, inside
        self._lower = int(max(offset.max(initial=0), 0))
        self._upper = int(max(-offset.min(initial=0), 0))
        band = np.zeros((2 * self._lower + self._upper + 1, inside))
        np.add.at(band, (self._lower + self._upper + offset, column[banded]), entries.data[banded])
        self._band, self._pivots, failed = lapack.dgbtrf(
            band, self._lower, self._upper, overwrite_ab=True
        )
        rest = sparse.csr_matrix(
            (entries.data[~banded], (row[~banded], column[~banded])), (size, size)
        )
        self._right = rest[:inside, inside:].toarray()
        self._below = rest[inside:, :inside].toarray()
        self.regular = failed == 0
        if self.regular:
            self._through = self._banded(self._right)
            self._corner = rest[inside:, inside:].toarray() - self._below @ self._through
            self.regular = bool(np.isfinite(self._corner).all())

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Returns x (S,) for a right-hand side (S,)."""
        ordered = right[self._order]
        first = self._banded(ordered[: self._inside])
        last = np.linalg.lstsq(
            self._corner, ordered[self._inside :] - self._below @ first, rcond=None
        )[0]
        out = np.empty_like(ordered)
        out[self._order] = np.concatenate([first - self._through @ last, last])
        return out

    def _banded(self, right: np.ndarray) -> np.ndarray:
        solution: np.ndarray = lapack.dgbtrs(
            self._band, self._lower, self._upper, right, self._pivots
        )[0]
        return solution.reshape(right.shape)
