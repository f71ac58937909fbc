"""The whole of scikit-learn's estimator checks, for every estimator, with no expected failures."""

from __future__ import annotations

import warnings
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dkae import DKAE, KECA, PCK, Isomap, KernelPCA, KernelSVC, LinearSVC

# Short trainings: what is checked is behaviour, not quality.
SHORT = {"max_steps": 5, "pretrain_steps": 2}

ESTIMATORS = [
    DKAE(**SHORT, kernel_params={"n_restarts": 2}),
    DKAE((6,), 3, **SHORT, kernel="linear", scale="standard", validation_fraction=0.2),
    DKAE((6,), 3, **SHORT, kernel="ideal"),
    PCK(n_restarts=2),
    KernelPCA(),
    KernelPCA(kernel="pck", kernel_params={"n_restarts": 2}),
    KECA(),
    Isomap(),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    KernelSVC(),
    KernelSVC(kernel="poly"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    with warnings.catch_warnings():
        # Isomap tells that the graph of a few scattered rows is in pieces.
        warnings.filterwarnings("ignore", message="the graph of neighbours")
        try:
            check(estimator)
        except SkipTest as reason:
            pytest.fail(f"skipped: {reason}")


def test_the_list_is_complete():
    import dkae

    named = {name for name in dkae.__all__ if isinstance(getattr(dkae, name), type)}
    assert named == {type(estimator).__name__ for estimator in ESTIMATORS}
