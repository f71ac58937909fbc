"""Support vector machines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import (
    KernelEstimator,
    RebuiltEstimator,
    Rows,
    VersionedEstimator,
    all_or_nothing,
    check_choice,
    check_flag,
    check_number,
    take_classes,
    take_rows,
    take_seed,
)
from ._kernels import fit_kernel

if TYPE_CHECKING:
    from typing_extensions import Self


def _rows_and_classes(estimator: Any, X: Any, y: Any) -> tuple[Rows, NDArray[np.uint32]]:
    """Rows and the number of the class of each; the classes become an attribute. Checks what both machines share."""
    X = take_rows(estimator, X, reset=True)
    check_number("C", estimator.C, least=0, above=True)
    check_number("tol", estimator.tol, least=0, above=True)
    check_number("max_iter", estimator.max_iter, least=1, whole=True)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    estimator.classes_, index = take_classes(y, len(X))
    if len(estimator.classes_) < 2:
        raise ValueError(f"at least two classes are needed, found one class: {estimator.classes_[0]!r}")
    return X, index


def _names(classes: NDArray[Any]) -> list[str]:
    """What classes are called in messages."""
    return [str(name) for name in classes.tolist()]


def _warn(messages: list[str]) -> None:
    for message in messages:
        # The library's names of the parameters become ours.
        message = message.replace("max_iterations", "max_iter").replace("lower c", "lower C")
        warnings.warn(message, ConvergenceWarning, stacklevel=4)


class LinearSVC(LinearClassifierMixin, VersionedEstimator):  # the mixin has predict and decision_function
    """A linear support vector machine, one class against the rest.

    What it adds to scikit-learn's ``LinearSVC``, whose parameters and optimum it shares: the squared hinge is solved by
    Newton's method on all classes at once, with matrix products and all cores, which does not mind badly scaled
    features and many of them. On codes of a `DKAE` it is the natural classifier.

    Parameters
    ----------
    C : float, default=1.0
        The price of rows inside the margin.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What such a row costs. "hinge" is solved by dual coordinate descent, as in scikit-learn.
    fit_intercept : bool, default=True
        Whether the plane may miss the origin.
    intercept_scaling : float, default=1.0
        The constant feature that carries the intercept.
    tol : float, default=1e-4
        When to stop, as in LIBLINEAR.
    max_iter : int, default=1000
        The most Newton steps, or sweeps over the rows.
    random_state : int, RandomState instance or None, default=0
        Seeds the order of coordinate descent.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        Weights.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        The classes.
    n_iter_ : int
        The most iterations of a class.

    Examples
    --------
    >>> from dkae import LinearSVC, load_digits
    >>> X, y = load_digits()
    >>> svm = LinearSVC().fit(X[:1000] / 255, y[:1000])
    >>> bool(svm.score(X[4000:] / 255, y[4000:]) > 0.8)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    if TYPE_CHECKING:  # scikit-learn's own have no types

        def decision_function(self, X: Any) -> NDArray[np.float64]: ...
        def predict(self, X: Any) -> NDArray[Any]: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows and their classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their classes.

        Returns
        -------
        self : LinearSVC
        """
        X, index = _rows_and_classes(self, X, y)
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        check_flag("fit_intercept", self.fit_intercept)
        check_number("intercept_scaling", self.intercept_scaling, least=0, above=True)
        bias = float(self.intercept_scaling) if self.fit_intercept else None
        self.coef_, self.intercept_, iterations, messages = _core.linear_svm(
            X, index, _names(self.classes_), self.C, self.loss == "hinge", bias, self.tol, self.max_iter,
            take_seed(self.random_state),
        )  # fmt: skip
        self.n_iter_ = max(iterations)
        _warn(messages)
        return self


class KernelSVC(ClassifierMixin, RebuiltEstimator, KernelEstimator):
    """A support vector machine with a kernel, one class against one.

    What it adds to scikit-learn's ``SVC``, whose optimum it shares: blocks of the kernel matrix are matrix products
    on all cores and serve all pairs of classes, where SVC computes rows one by one on one core; and the probabilistic
    cluster kernel.

    Parameters
    ----------
    C : float, default=1.0
        The price of rows inside the margin.
    kernel : {"rbf", "pck", "linear", "poly", "cosine"} or PCK, default="rbf"
        The kernel. "rbf" without `kernel_params` takes scikit-learn's ``gamma="scale"``: 1 / (n_features * X.var()).
    kernel_params : dict, default=None
        Its parameters, as in `DKAE`.
    tol : float, default=1e-3
        How far the optimality conditions may be missed.
    cache_mb : int, default=256
        Megabytes for parts of the kernel matrix.
    max_iter : int, default=10_000_000
        The most steps for a pair of classes.
    random_state : int, RandomState instance or None, default=0
        Seeds the draws of the kernel if there are any.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    support_ : array of shape (n_support,)
        Numbers of the rows that are support vectors.
    support_vectors_ : array of shape (n_support, n_features)
        These rows.
    dual_coef_ : array of shape (n_support, n_pairs)
        What each counts for in each pair of classes, positive for the first of the two.
    intercept_ : array of shape (n_pairs,)
        The threshold of each pair.
    n_iter_ : int
        The most steps of a pair of classes.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dkae import KernelSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> KernelSVC(C=10).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        kernel_params: Mapping[str, Any] | None = None,
        tol: float = 1e-3,
        cache_mb: int = 256,
        max_iter: int = 10_000_000,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.tol = tol
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.random_state = random_state

    if TYPE_CHECKING:  # scikit-learn's own has no types

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows and their classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their classes.

        Returns
        -------
        self : KernelSVC
        """
        X, index = _rows_and_classes(self, X, y)
        check_number("cache_mb", self.cache_mb, least=1, whole=True)
        params = self.kernel_params
        if isinstance(self.kernel, str) and self.kernel == "rbf" and not params:
            variance = float(X.var(dtype=np.float64))
            params = {"gamma": 1 / (X.shape[1] * variance) if variance > 0 else 1.0}
        self.kernel_ = fit_kernel(self.kernel, params, X, take_seed(self.random_state))
        self.model_, steps, messages = _core.SupportVectorModel.fit(
            self.kernel_, X, index, _names(self.classes_), self.C, self.tol, self.cache_mb, self.max_iter
        )
        _, self.support_, self.dual_coef_, self.intercept_ = self.model_.parts()
        self.support_vectors_ = X[self.support_]
        self.n_iter_ = steps
        _warn(messages)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How surely rows belong to classes.

        Returns
        -------
        values : array of shape (n_rows,) for two classes, positive for the second, or (n_rows, n_classes): pairs won
        by a
            class, and by how much among equals.
        """
        check_is_fitted(self)
        pairs = self.model_.decision(take_rows(self, X, reset=False))
        if len(self.classes_) == 2:
            return -pairs[:, 0]
        return _ovr_decision_function(pairs < 0, -pairs, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of rows.

        Returns
        -------
        y : array of shape (n_rows,)
        """
        values = self.decision_function(X)
        index = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[index]

    def _rebuild(self) -> _core.SupportVectorModel:
        classes = list(range(len(self.classes_)))
        parts = self.support_, self.dual_coef_, self.intercept_
        return _core.SupportVectorModel(self.kernel_, self.support_vectors_, classes, *parts)
