"""Something real to run on without any file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import _core


def load_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """5000 handwritten digits, 500 of each class, that come with the package.

    They are drawn from the training file of MNIST (Yann LeCun, Corinna Cortes and Christopher J.C. Burges; Creative
    Commons Attribution-ShareAlike 3.0) and shuffled.

    Returns
    -------
    X : array of shape (5000, 784), float32
        Pixels from 0 to 255, rows of 28 pixels one after another.
    y : array of shape (5000,)
        The digit.

    Examples
    --------
    >>> from dkae import load_digits
    >>> X, y = load_digits()
    >>> X.shape, int(y.max())
    ((5000, 784), 9)
    """
    x, classes = _core.digits()
    return x, classes.astype(np.int64)
