"""What all estimators share: how rows are taken in, seeds, classes, and what a pickle says about its version."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable
from functools import cached_property, wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

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

#: Steps of float32 above this share of a column's standard deviation are worth a warning.
_ROUNDING = 0.01


_Method = TypeVar("_Method", bound=Callable[..., Any])


def all_or_nothing(fit: _Method) -> _Method:
    """A fit that fails or is stopped leaves the estimator as it was: not fitted, or with what it learned before."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(_Method, fit_or_restore)


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
    given = X
    X = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float32,
        ensure_min_samples=least,
        accept_sparse="csr" if accept_sparse else False,
    )
    if reset:
        warn_of_rounding(given, X)
    return in_rows(X)


def warn_of_rounding(given: Any, rows: Any) -> None:
    """Warns where values of a column are so near to each other, for their size, that float32 merges them."""
    if sparse.issparse(rows) or getattr(given, "dtype", None) == np.float32 or not len(rows):
        return
    exact = np.asarray(given)
    if exact.dtype.kind not in "fiu" or exact.dtype.itemsize < 4 or exact.shape != rows.shape:
        return
    with np.errstate(all="ignore"):
        spread = exact.std(axis=0, dtype=np.float64)
        # Half a unit in the last place of the largest value is what rounding may change.
        step = np.spacing(np.abs(rows).max(axis=0)).astype(np.float64)
    lost = np.flatnonzero((spread > 0) & (step > _ROUNDING * spread))
    if len(lost):
        names = getattr(given, "columns", None)
        first = lost[0]
        column = f"{first if names is None else repr(names[first])}{' and others' if len(lost) > 1 else ''}"
        warnings.warn(
            f"column {column}: computation is in float32, which keeps steps of {step[first]:.3g} for values of this "
            f"size, while they vary by {spread[first]:.3g}; subtract their mean first (StandardScaler does)",
            UserWarning,
            stacklevel=5,
        )


def in_rows(X: Any) -> Rows:
    """The same values, those of a row side by side: sums have one order, and results do not depend on the layout.

    The core counts strides in values, so fields of packed records, whose rows begin between two values, are copied too.
    """
    if sparse.issparse(X):
        X = X.toarray()
    side_by_side = X.shape[1] <= 1 or X.strides[1] == X.itemsize
    whole = X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides)
    return X if side_by_side and whole else np.array(X, order="C")


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
        if not 0 <= int(random_state) < 2**64:
            raise ValueError(f"random_state: expected a number from 0 to 2**64 - 1, found {shown(random_state)}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ValueError(f"random_state: {error}") from error


def shown(value: Any) -> str:
    """A value for messages: short, and numbers of NumPy without their type."""
    if isinstance(value, np.number):
        return str(value)
    if isinstance(value, Integral) and abs(int(value)) >= 2**63:
        return f"about {'-' if value < 0 else ''}2**{int(value).bit_length() - 1}"
    return reprlib.repr(value)


def check_number(
    name: str, value: Any, *, least: float, whole: bool = False, above: bool = False, single: bool = False
) -> None:
    """An error that names the parameter unless `value` is a number of at least (or above) `least`.

    With `single` it also has to be one in float32, which is how the core computes with it.
    """
    kind = Integral if whole else Real
    fine = isinstance(value, kind) and not isinstance(value, bool)
    if fine and whole and value >= 2**63:
        raise ValueError(f"{name}: expected a whole number below 2**63, found {shown(value)}")
    if not fine or not _is_finite(value) or value < least or (above and value == least):
        what = "a whole number" if whole else "a number"
        raise ValueError(f"{name}: expected {what} {'above' if above else 'of at least'} {least}, found {shown(value)}")
    if single:
        check_single(name, float(value))


def check_single(name: str, value: float) -> None:
    """An error that names the parameter where float32 makes infinity, or 0, of a number that is neither."""
    # The threads that compute take what has no full precision, the subnormal numbers, for 0.
    least, most = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    if value != 0 and not least <= abs(value) <= most:
        size = "small" if abs(value) < least else "large"
        raise ValueError(f"{name}: is too {size} for float32, in which computation is, found {value:.6g}")


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # a whole number beyond all others
        return False


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """An error that names the parameter unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, found {value!r}")


def check_flag(name: str, value: Any) -> None:
    """An error that names the parameter unless `value` is True or False; words such as "no" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected True or False, found {value!r}")
