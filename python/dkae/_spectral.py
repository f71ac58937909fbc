"""Kernel PCA and kernel entropy component analysis without an n x n matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._base import (
    EmbeddingEstimator,
    KernelEstimator,
    Rows,
    all_or_nothing,
    check_flag,
    check_number,
    take_rows,
    take_seed,
)
from ._kernels import fit_kernel

if TYPE_CHECKING:
    from typing_extensions import Self


class _Spectral(EmbeddingEstimator, KernelEstimator):
    """Scores along eigenvectors of a kernel matrix."""

    n_components: int
    kernel: Any
    kernel_params: Mapping[str, Any] | None
    cache_mb: int
    tol: float
    max_iter: int
    random_state: Any

    def _rows_and_kernel(self, X: Any) -> tuple[Rows, _core.Kernel, int]:
        X = take_rows(self, X, reset=True, least=2)
        check_number("n_components", self.n_components, least=1, whole=True)
        check_number("cache_mb", self.cache_mb, least=0, whole=True)
        check_number("tol", self.tol, least=0, above=True)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        seed = take_seed(self.random_state)
        return X, fit_kernel(self.kernel, self.kernel_params, X, seed), seed

    def fit_transform(self, X: Any, y: Any = None) -> Rows:
        """Fit, and give the scores of the rows of X.

        Returns
        -------
        scores : array of shape (n_rows, n_components), float32
        """
        self.fit(X)
        return self.model_.scores()

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows, of which the model keeps a copy for new rows.
        y : ignored

        Returns
        -------
        self
        """
        X, kernel, seed = self._rows_and_kernel(X)
        model = self._find(kernel, X, seed)
        self.X_fit_ = X.copy()  # which may be the caller's own memory
        self.kernel_ = kernel
        self.model_ = model
        self.n_iter_ = model.sweeps()
        self.eigenvalues_, self.eigenvectors_, self._offset = model.parts()
        return self

    def _find(self, kernel: _core.Kernel, X: Rows, seed: int) -> _core.SpectralModel:
        """The components of these rows."""
        raise NotImplementedError

    def _warn(self, what: str) -> None:
        """Tells the caller of `fit` that not every one of what was looked for was found."""
        warnings.warn(
            f"not every {what} was found to tol={self.tol} in {self.max_iter} iterations; raise max_iter",
            ConvergenceWarning,
            stacklevel=5,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _rebuild(self) -> _core.SpectralModel:
        parts = self.eigenvalues_, self.eigenvectors_, self._offset
        return _core.SpectralModel(self.kernel_, self.X_fit_, *parts)


class KernelPCA(_Spectral):
    """Kernel principal component analysis whose kernel matrix is never whole.

    What it adds to scikit-learn's ``KernelPCA``: that one stores the n x n matrix (1.6 GB for 14 000 rows), this one
    computes tiles of it as they are needed, within `cache_mb`; and with the kernel "pck" or a `PCK` not even tiles,
    as the eigenvectors come from the sparse posteriors. It has no inverse: that is what `DKAE` is for.

    Parameters
    ----------
    n_components : int, default=2
        Components.
    kernel : {"rbf", "pck", "linear", "poly", "cosine"} or PCK, default="rbf"
        The kernel.
    kernel_params : dict, default=None
        Its parameters, as in `DKAE`.
    centre : bool, default=True
        Whether to subtract the mean in the kernel's space.
    cache_mb : int, default=512
        Megabytes for tiles of the kernel matrix; what does not fit is computed again.
    tol : float, default=1e-3
        Residual of an eigenpair relative to its eigenvalue at which it counts as found.
    max_iter : int, default=40
        The most products with the kernel matrix.
    random_state : int, RandomState instance or None, default=0
        Seeds the start of the eigenvectors, and the draws of the kernel if there are any.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Largest first.
    eigenvectors_ : array of shape (n_rows, n_components)
        One column for each.
    X_fit_ : array of shape (n_rows, n_features)
        The rows of the fit.
    n_iter_ : int
        Products with the kernel matrix that were needed.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from dkae import KernelPCA
    >>> X, y = make_circles(300, factor=0.2, noise=0.05, random_state=0)
    >>> Z = KernelPCA(kernel_params={"gamma": 2.0}).fit_transform(X)
    >>> Z.shape                     # and the first component tells the circles apart
    (300, 2)
    >>> bool(Z[y == 0, 0].max() < Z[y == 1, 0].min() or Z[y == 1, 0].max() < Z[y == 0, 0].min())
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        kernel_params: Mapping[str, Any] | None = None,
        centre: bool = True,
        cache_mb: int = 512,
        tol: float = 1e-3,
        max_iter: int = 40,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.centre = centre
        self.cache_mb = cache_mb
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _find(self, kernel: _core.Kernel, X: Rows, seed: int) -> _core.SpectralModel:
        check_flag("centre", self.centre)
        model, converged = _core.kernel_pca(
            kernel, X, self.n_components, bool(self.centre), self.cache_mb, self.tol, self.max_iter, seed
        )
        if not converged:
            self._warn("component")
        return model


class KECA(_Spectral):
    """Kernel entropy component analysis (Jenssen 2010).

    Kernel PCA without centring, its components ranked by what they contribute to the Rényi entropy of the data rather
    than by variance: ``lambda_i (1^T e_i)^2``. A component that follows a cluster contributes much. scikit-learn has
    no such method.

    Parameters
    ----------
    n_components : int, default=2
        Components.
    kernel : {"rbf", "pck", "linear", "poly", "cosine"} or PCK, default="rbf"
        The kernel.
    kernel_params : dict, default=None
        Its parameters, as in `DKAE`.
    n_candidates : int, default=64
        The leading eigenpairs among which the components are chosen.
    cache_mb, tol, max_iter, random_state
        As in `KernelPCA`.

    Attributes
    ----------
    eigenvalues_, eigenvectors_, X_fit_, n_iter_
        As in `KernelPCA`, by falling contribution.
    contributions_ : array of shape (n_components,)
        What each contributes to the entropy.
    ranks_ : array of shape (n_components,)
        Where each stood among the eigenpairs by falling eigenvalue, from 0.
    exact_ : bool
        Whether no eigenpair beyond the candidates can contribute more. False does not mean that one does: an eigenpair
        contributes at most ``n_rows`` times its eigenvalue, and where eigenvalues fall slowly (as those of narrow
        kernels do) that bound excludes nothing. More `n_candidates` make it True in the end.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dkae import KECA
    >>> X, y = make_blobs(200, centers=3, random_state=1)
    >>> keca = KECA(3, kernel_params={"sigma": 2.0}).fit(X)
    >>> keca.transform(X).shape
    (200, 3)
    >>> keca.ranks_                 # not the three largest eigenvalues
    array([0, 1, 3])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        kernel_params: Mapping[str, Any] | None = None,
        n_candidates: int = 64,
        cache_mb: int = 512,
        tol: float = 1e-3,
        max_iter: int = 40,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_candidates = n_candidates
        self.cache_mb = cache_mb
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _find(self, kernel: _core.Kernel, X: Rows, seed: int) -> _core.SpectralModel:
        check_number("n_candidates", self.n_candidates, least=1, whole=True)
        model, self.contributions_, ranks, self.exact_, converged = _core.keca(
            kernel, X, self.n_components, self.n_candidates, self.cache_mb, self.tol, self.max_iter, seed
        )
        self.ranks_ = np.array(ranks)
        if not converged:
            self._warn("candidate")
        return model
