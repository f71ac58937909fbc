"""The probabilistic cluster kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import KernelEstimator, Rows, all_or_nothing, check_choice, check_number, shown, take_rows, take_seed

if TYPE_CHECKING:
    from typing_extensions import Self

_COVARIANCES = {"diag": "diagonal", "spherical": "spherical", "tied": "tied"}
_STARTS = {"random": "random", "k-means++": "k-means++"}
#: Variances beyond this, or below its inverse, are soon beyond float32.
_LARGEST = 1e30


class PCK(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """The probabilistic cluster kernel (Izquierdo-Verdiguier et al. 2015): a kernel without a width to choose.

    Two rows are similar when Gaussian mixtures of many sizes and starts put them into the same components:
    ``k(x, y) = 1/M sum_m pi_m(x) . pi_m(y)`` with ``pi_m(x)`` the posteriors of x under mixture m. The mixtures are
    fitted on a small subset; any row has posteriors. scikit-learn has no such kernel, and its
    ``GaussianMixture`` would be fitted and applied once for each of several hundred mixtures; here the posteriors of
    all of them are matrix products, and are kept sparse.

    Parameters
    ----------
    n_restarts : int, default=30
        Random starts of each size of mixture.
    max_components : int, default=30
        Components of the largest mixtures; sizes go from 2 to this. At most half of the rows are used as components.
    subset : int, default=200
        Rows that the mixtures are fitted on.
    covariance_type : {"diag", "spherical", "tied"}, default="diag"
        The form of the covariances.
    floor : float or str, default=0.01
        Added to every variance: in squared units of the features, or, as in ``"15%"``, a share of their mean variance.
        The default suits features from 0 to 1 or of unit variance.
    init : {"random", "k-means++"}, default="random"
        Where means start.
    tol : float, default=1e-3
        EM stops when the mean log-likelihood of a row changes by less.
    max_iter : int, default=100
        The most iterations of EM.
    random_state : int, RandomState instance or None, default=0
        Chooses the subset and the starts. The same integer gives the same bytes, whatever the number of threads.

    Attributes
    ----------
    n_mixtures_ : int
        Mixtures that were fitted.
    n_converged_ : int
        Those of them whose likelihood stopped changing.
    n_iter_ : int
        Iterations of EM per mixture, on average, rounded up.
    n_features_in_ : int
        Features of a row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dkae import PCK
    >>> X, y = load_iris(return_X_y=True)
    >>> pck = PCK(n_restarts=5, max_components=10).fit(X)
    >>> K = pck.kernel(X)
    >>> bool(K[y == 0][:, y == 0].mean() > 2 * K[y == 0][:, y != 0].mean())
    True
    >>> F = pck.transform(X)        # sparse, and K is F times its transpose
    >>> bool(abs((F @ F.T).toarray() - K).max() < 1e-5)
    True
    """

    def __init__(
        self,
        n_restarts: int = 30,
        max_components: int = 30,
        *,
        subset: int = 200,
        covariance_type: str = "diag",
        floor: float | str = 0.01,
        init: str = "random",
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.n_restarts = n_restarts
        self.max_components = max_components
        self.subset = subset
        self.covariance_type = covariance_type
        self.floor = floor
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _spec(self, rows: int) -> dict[str, dict[str, Any]]:
        """The core's description, for so many rows."""
        check_number("n_restarts", self.n_restarts, least=1, whole=True)
        check_number("max_components", self.max_components, least=2, whole=True)
        check_number("subset", self.subset, least=2, whole=True)
        check_number("tol", self.tol, least=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        check_choice("covariance_type", self.covariance_type, tuple(_COVARIANCES))
        check_choice("init", self.init, tuple(_STARTS))
        if isinstance(self.floor, str):
            try:
                share = float(self.floor.removesuffix("%"))
            except ValueError:
                share = 0.0
            # Without its sign a share could be meant as a number, which is something else.
            if not self.floor.endswith("%") or not 0 < share < float("inf"):
                raise ValueError(f"floor: expected a number or a share such as '15%', above 0, found {self.floor!r}")
            floor = {"relative": share / 100}
        else:
            check_number("floor", self.floor, least=0, above=True)
            floor = {"absolute": float(self.floor)}
        if not all(1 / _LARGEST <= value <= _LARGEST for value in floor.values()):
            raise ValueError(f"floor: expected from {1 / _LARGEST:g} to {_LARGEST:g}, found {shown(self.floor)}")
        return {
            "pck": {
                "restarts": int(self.n_restarts),
                "max-components": int(min(self.max_components, max(2, min(rows, self.subset) // 2))),
                "subset": int(self.subset),
                "covariance": _COVARIANCES[self.covariance_type],
                "floor": floor,
                "start": _STARTS[self.init],
                "tolerance": float(self.tol),
                "max-iterations": int(self.max_iter),
                "seed": take_seed(self.random_state),
            }
        }

    if TYPE_CHECKING:  # scikit-learn's own has no types

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sparse.csr_matrix: ...

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixtures on a subset of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : ignored

        Returns
        -------
        self : PCK
        """
        X = take_rows(self, X, reset=True, least=2, accept_sparse=True)
        return self._learn(X)

    def _learn(self, X: Rows, listener: _core._Listener | None = None) -> Self:
        """The fit itself; `listener` hears how far it is."""
        kernel = _core.Kernel(json.dumps(self._spec(len(X))), X, listener=listener)
        self.kernel_ = kernel
        self.n_mixtures_, self.n_converged_, iterations = kernel.mixtures() or (0, 0, 0)
        self.n_iter_ = -(-iterations // self.n_mixtures_)
        self._n_features_out = kernel.posteriors(X[:1])[3]
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Posteriors of rows, scaled so that the kernel is this matrix times its transpose.

        Returns
        -------
        F : sparse matrix of shape (n_rows, n_posteriors), float32
        """
        check_is_fitted(self)
        X = take_rows(self, X, reset=False, accept_sparse=True)
        begins, columns, values, width = self.kernel_.posteriors(X)
        return sparse.csr_matrix((values, columns, begins), shape=(len(X), width))

    def kernel(self, X: Any, Y: Any = None) -> Rows:
        """The kernel between the rows of X and those of Y, or of X itself.

        Returns
        -------
        K : array of shape (n_rows of X, n_rows of Y), float32
        """
        check_is_fitted(self)
        X = take_rows(self, X, reset=False, accept_sparse=True)
        Y = X if Y is None else take_rows(self, Y, reset=False, accept_sparse=True)
        return self.kernel_.between(X, Y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
