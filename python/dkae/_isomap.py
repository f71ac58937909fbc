"""ISOMAP."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._base import EmbeddingEstimator, Rows, all_or_nothing, check_number, take_rows, take_seed

if TYPE_CHECKING:
    from typing_extensions import Self


class Isomap(EmbeddingEstimator):
    """ISOMAP with landmarks: distances along the data, then classical scaling (de Silva and Tenenbaum 2003).

    What it adds to scikit-learn's ``Isomap``: that one finds the paths between all rows and stores an n x n matrix;
    this one finds paths from `n_landmarks` rows only, in parallel, and places the others by their distances to these.
    With as many landmarks as rows the two are the same method.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates.
    n_neighbors : int, default=5
        Neighbours that each row is linked to; fewer than there are rows.
    n_landmarks : int, default=1000
        Rows, drawn at random, that paths start from; all of them when there are no more.
    random_state : int, RandomState instance or None, default=0
        Seeds the draw of landmarks.

    Attributes
    ----------
    embedding_ : array of shape (n_rows, n_components)
        Of the rows of the fit.
    n_connected_components_ : int
        Pieces of the graph of neighbours before they were joined at their closest rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from dkae import Isomap
    >>> X, t = make_swiss_roll(1000, random_state=0)
    >>> Z = Isomap(n_neighbors=10, n_landmarks=200).fit_transform(X)
    >>> bool(abs(np.corrcoef(Z[:, 0], t)[0, 1]) > 0.95)      # the roll is unrolled
    True
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 5, n_landmarks: int = 1000, random_state: Any = 0
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : ignored

        Returns
        -------
        self : Isomap
        """
        X = take_rows(self, X, reset=True, least=2)
        check_number("n_components", self.n_components, least=1, whole=True)
        check_number("n_neighbors", self.n_neighbors, least=1, whole=True)
        check_number("n_landmarks", self.n_landmarks, least=1, whole=True)
        seed = take_seed(self.random_state)
        self.model_, self.n_connected_components_ = _core.IsomapModel.fit(
            X, self.n_components, self.n_neighbors, self.n_landmarks, seed
        )
        if self.n_connected_components_ > 1:
            warnings.warn(
                f"the graph of neighbours is in {self.n_connected_components_} pieces, joined at their closest "
                "rows; raise n_neighbors to avoid that",
                UserWarning,
                stacklevel=3,
            )
        self.X_fit_ = X.copy()  # which may be the caller's own memory
        self._parts = (int(self.n_neighbors), self.n_connected_components_, *self.model_.parts())
        self.embedding_ = self._parts[-1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Rows:
        """Fit, and give the embedding of the rows of X.

        Returns
        -------
        Z : array of shape (n_rows, n_components), float32
        """
        return self.fit(X).embedding_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _rebuild(self) -> _core.IsomapModel:
        return _core.IsomapModel(self.X_fit_, *self._parts)
