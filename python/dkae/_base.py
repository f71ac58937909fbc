"""What all estimators share: how rows are taken in, seeds, classes, and what a pickle says about its version."""

from __future__ import annotations

import warnings
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from . import _core
from ._core import __version__

Rows = NDArray[np.float32]


class VersionedEstimator(BaseEstimator):
    """An estimator whose pickles know which version wrote them."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_dkae_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        written = state.pop("_dkae_version", "unknown")
        if written != __version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by dkae {written} and is loaded by dkae {__version__}; "
                "fit it again if results differ, or keep models as files (DKAE.save), whose format is checked",
                UserWarning,
                stacklevel=2,
            )
        super().__setstate__(state)


class KernelEstimator(VersionedEstimator):
    """An estimator whose `kernel_` is fitted again when it is first used after a pickle, as that may take seconds.

    The pickle has the rows that it was fitted on, which are less than what is fitted.
    """

    @cached_property
    def kernel_(self) -> Any:
        """The core's kernel."""
        if "_kernel_from" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'kernel_'", name="kernel_", obj=self)
        return _core.Kernel(*self._kernel_from)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if state.get("kernel_") is not None:
            state["_kernel_from"] = state.pop("kernel_").__getnewargs__()
        return state


class RebuiltEstimator(VersionedEstimator):
    """An estimator whose `model_` is made from its other attributes when it is first used after a pickle."""

    @cached_property
    def model_(self) -> Any:
        """The core's model."""
        return self._rebuild()

    def _rebuild(self) -> Any:
        """The model from the other attributes."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("model_", None)
        return state


class EmbeddingEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RebuiltEstimator):
    """A map of rows that is computed in float32."""

    def transform(self, X: Any) -> Rows:
        """The embedding of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, of the fit or new.

        Returns
        -------
        Z : array of shape (n_rows, n_components), float32
        """
        check_is_fitted(self)
        return self.model_.embed(take_rows(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def take_rows(estimator: BaseEstimator, X: Any, *, reset: bool, least: int = 1, accept_sparse: bool = False) -> Rows:
    """Rows as the core takes them: float32, the values of a row side by side. Such arrays are passed as they are."""
    X = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float32,
        ensure_min_samples=least,
        accept_sparse="csr" if accept_sparse else False,
    )
    return in_rows(X)


def in_rows(X: Any) -> Rows:
    """The same values, those of a row side by side: sums have one order, and results do not depend on the layout."""
    if sparse.issparse(X):
        X = X.toarray()
    return X if X.shape[1] <= 1 or X.strides[1] == X.itemsize else np.ascontiguousarray(X)


def take_classes(y: Any, rows: int) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes that occur, and which of them each row has."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != rows:
        raise ValueError(f"X has {rows} rows, but y has {len(y)} labels")
    classes, index = np.unique(y, return_inverse=True)
    return classes, index.astype(np.uint32)


def take_seed(random_state: Any) -> int:
    """A seed; integers stay what they are, so that the command's `--seed` means the same."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state: expected 0 or more, found {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_number(name: str, value: Any, *, least: float, whole: bool = False, above: bool = False) -> None:
    """An error that names the parameter unless `value` is a number of at least (or above) `least`."""
    kind = Integral if whole else Real
    fine = isinstance(value, kind) and not isinstance(value, bool)
    if not fine or not np.isfinite(float(value)) or value < least or (above and value == least):
        what = "a whole number" if whole else "a number"
        raise ValueError(f"{name}: expected {what} {'above' if above else 'of at least'} {least}, found {value!r}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """An error that names the parameter unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, found {value!r}")


def check_flag(name: str, value: Any) -> None:
    """An error that names the parameter unless `value` is True or False; words such as "no" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected True or False, found {value!r}")
