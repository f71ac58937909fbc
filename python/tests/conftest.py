"""What all tests share: small data, small models."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def digits():
    """600 digits and their classes."""
    from dkae import load_digits

    x, y = load_digits()
    return x[:600], y[:600]


@pytest.fixture(scope="session")
def blobs():
    """Three clouds in five dimensions and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    x = rng.normal(size=(240, 5)) + 4 * np.eye(3, 5)[y]
    return x.astype(np.float32), y


@pytest.fixture
def small():
    """Parameters of a model that is trained in a moment."""
    return {
        "hidden": (16,),
        "n_codes": 4,
        "max_steps": 60,
        "pretrain_steps": 20,
        "kernel": "rbf",
        "kernel_params": {"median_fraction": 1.0},
    }
