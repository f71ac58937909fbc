"""What all tests share: small data, small models."""

from __future__ import annotations

import os

# One of scikit-learn's estimator checks is skipped without it; SciPy looks for it when it is imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

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
