"""The deep kernelized autoencoder."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._base import KernelEstimator, Rows, all_or_nothing, in_rows, take_rows
from ._files import calls_of, given_by, history_of, parameters_of
from ._kernels import given_pck, is_fitted
from ._prior import OF_THE_KERNEL, OF_THE_NETWORK, known_prior, prior_of, refuse_changes, settled
from ._progress import ProgressBar
from ._recipe import picture_of, recipe_of

if TYPE_CHECKING:
    from typing_extensions import Self

#: Rows of a sparse matrix that are made dense at a time.
_BLOCK = 4096


class DKAE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """The deep kernelized autoencoder: a kernel's feature space with a map both ways.

    It learns an encoder whose code inner products reproduce a kernel, and a decoder that maps any code back to a row,
    by minimising ``(1 - lam) L_r + lam L_c``: the mean squared error of the reconstruction, and the distance between
    the normalised kernel matrices of codes and prior. Linear work on codes (PCA, k-means, a linear SVM, a straight line
    between two codes) is then non-linear work on rows, at a cost per new row that does not grow with the training set,
    and no n x n matrix is stored.

    Parameters
    ----------
    hidden : sequence of int, default=None
        Widths of the hidden layers. None means by the data: 500, 500, 2000, or 50, 50, 200 where there are fewer than
        64 features or 2000 rows (both are the paper's).
    n_codes : int, default=None
        Numbers in a code. None means by the data: 2000, or 200 where there are few features or rows.
    lam : float, default=0.1
        Weight of the code loss, from 0 (a plain stacked autoencoder; no kernel is needed) to 1.
    kernel : {"pck", "rbf", "linear", "poly", "cosine", "ideal", "precomputed"}, PCK or callable, default="pck"
        What the inner products of codes are to reproduce. "ideal" is 1 between rows of the same class and uses y.
        "precomputed" is the matrix ``K`` given to `fit`; the network still needs X. A fitted `PCK` is used as it is,
        one that is not fitted is fitted on X (scikit-learn's `clone`, and so a grid search, makes it unfitted; wrap it
        in ``sklearn.frozen.FrozenEstimator`` to keep it). A callable is given two blocks of rows of X, as float32
        arrays, and returns the kernel between them. Kernels with a name see rows after `scale`, the others as they are
        in X.
    kernel_params : dict, default=None
        Parameters of a kernel with a name. "pck": those of `PCK`. "rbf": one of ``gamma``, ``sigma``,
        ``median_fraction`` (of the median distance; 0.15 by default). "poly": ``degree``, ``gamma``, ``coef0``.
    max_steps : int, default=3000
        Steps of training of the whole network, one batch each.
    init : {"mirrored", "glorot"}, default="mirrored"
        How weights start: as a linear autoencoder of the leading principal components, or at random. Sigmoid and tanh
        units, and layers of many thousand units, start at random in any case.
    pretrain_steps : int, default=None
        Steps of training of each layer by itself, before all train together; None means none where weights start
        mirrored, else 300.
    batch_size : int, default=None
        Rows in a batch; None means 200, or all when there are fewer.
    learning_rate : float, default=None
        Peak rate of Adam; None means by the widths of the layers and how weights start.
    weight_decay : float, default=0.15
        Decay of the weights, per step and unit of the rate.
    activation, code_activation : {"relu", "linear", "sigmoid", "tanh"}, default="relu" and "linear"
        Of the hidden layers and of the code.
    output_activation : {"relu", "linear", "sigmoid", "tanh"}, default=None
        Of the reconstruction; None means sigmoid where all scaled values are from 0 to 1, else linear.
    tied : bool, default=True
        Whether the decoder uses the encoder's weights, transposed.
    noise : str, default=None
        Put on the inputs in training: "mask:0.2" sets that share of them to zero, "gauss:0.25" adds normal noise.
    scale : {"auto", "none", "unit", "unit-all", "standard"}, default="auto"
        What is done to features first, and undone by `inverse_transform`. "auto" does nothing to values from 0 to 1,
        brings pictures (see `image_shape`) to that range and gives other features mean 0 and deviation 1.
    image_shape : tuple of 2 or 3 int, default=None
        Height and width, or channels, height and width, when rows are pictures.
    validation_fraction : float, default=0.0
        Share of the rows that is set aside; the weights kept are those with the least loss on it. It has to be 0 or
        come to at least 2 rows.
    patience : int, default=None
        Looks at these rows (every 250 steps) without improvement after which training stops; needs a
        `validation_fraction`.
    callback : callable, default=None
        Called as ``callback(step, losses)`` after every step, counted as in `history_`, with a dict of "phase",
        "reconstruction", "code" and "total" ("code" is NaN where there is no code loss); training stops when it returns
        True, and the model is what was reached.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=7
        Seed of everything random. The same integer gives the same bytes, whatever the number of threads.

    Attributes
    ----------
    history_ : dict of arrays
        "step" (from the start of pretraining), "phase" (layer in pretraining, or the number of layers),
        "reconstruction" and "code" (mean losses of the batches since the record before; NaN where there is no
        code loss: in the layers below the code, and with lam=0), "validation_reconstruction" and "validation_code" (NaN
        where there was no look).
    alignment_ : float
        Cosine between the kernel matrices of codes and prior, on at most 4000 training rows; 1 is perfect, NaN without
        a kernel.
    losses_ : dict
        Both losses on the training rows and, if there are any, on the rows set aside.
    layers_ : tuple of int
        Widths of the layers above the input; the last is the code's.
    kernel_description_ : str
        The kernel in words.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : array of str
        Their names, when X had any.

    Notes
    -----
    Computation is in float32, and so are the results. Float32 arrays in C order, and slices of their rows, are passed
    to the core without a copy; anything else is converted once, and gives the same bytes. The interpreter's lock is
    released, and Ctrl-C stops everything that takes long (training within a step). A fit that fails or is stopped
    leaves the estimator as it was before.

    References
    ----------
    Kampffmeyer, Løkse, Bianchi, Jenssen and Livi, "The Deep Kernelized Autoencoder", Applied Soft Computing 71, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dkae import DKAE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DKAE(hidden=(20,), n_codes=5, max_steps=300, pretrain_steps=50, kernel="rbf",
    ...              kernel_params={"median_fraction": 1.0})
    >>> codes = model.fit_transform(X)
    >>> codes.shape
    (150, 5)
    >>> bool(model.alignment_ > 0.9)
    True
    >>> bool(abs(model.inverse_transform(codes) - X).mean() < 0.3)
    True
    """

    _calls: list[int]
    _fitted_with: dict[str, Any]
    _from_file = False

    def __init__(
        self,
        hidden: Sequence[int] | None = None,
        n_codes: int | None = None,
        *,
        lam: float = 0.1,
        kernel: Any = "pck",
        kernel_params: Mapping[str, Any] | None = None,
        max_steps: int = 3000,
        init: str = "mirrored",
        pretrain_steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 0.15,
        activation: str = "relu",
        code_activation: str = "linear",
        output_activation: str | None = None,
        tied: bool = True,
        noise: str | None = None,
        scale: str = "auto",
        image_shape: tuple[int, ...] | None = None,
        validation_fraction: float = 0.0,
        patience: int | None = None,
        callback: Callable[[int, dict[str, Any]], Any] | None = None,
        verbose: int = 0,
        random_state: Any = 7,
    ) -> None:
        self.hidden = hidden
        self.n_codes = n_codes
        self.lam = lam
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.max_steps = max_steps
        self.init = init
        self.pretrain_steps = pretrain_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.activation = activation
        self.code_activation = code_activation
        self.output_activation = output_activation
        self.tied = tied
        self.noise = noise
        self.scale = scale
        self.image_shape = image_shape
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state

    if TYPE_CHECKING:  # scikit-learn's own has no types

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Rows: ...

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, K: Any = None) -> Self:
        """Train on the rows of X.

        With the defaults and some thousand pictures this takes minutes; `max_steps` and `hidden` decide.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), default=None
            Classes; only the kernel "ideal" looks at them.
        K : array-like of shape (n_rows, n_rows), default=None
            The kernel matrix, for the kernel "precomputed".

        Returns
        -------
        self : DKAE
        """
        X = take_rows(self, X, reset=True, least=2, accept_sparse=True)
        self._train(X, y, K, start=None, steps=self.max_steps)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, K: Any = None, steps: int | None = None) -> Self:
        """Train for more steps on more rows, from the weights so far; the first call is `fit`.

        Network, scaling and kernel stay those of the first call, and their parameters must not be changed in between.
        (A model from a file has no kernel, and fits it on these rows.)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows of this call.
        y, K : as in `fit`, about these rows
        steps : int, default=None
            Steps of training; None means `max_steps`.

        Returns
        -------
        self : DKAE
        """
        first = not hasattr(self, "model_")
        X = take_rows(self, X, reset=first, least=2, accept_sparse=True)
        start = None if first else self.model_
        if not first:
            refuse_changes(self, (*OF_THE_NETWORK, *OF_THE_KERNEL))
        self._train(X, y, K, start=start, steps=self.max_steps if steps is None else steps)
        return self

    def _train(self, X: Rows, y: Any, K: Any, *, start: _core.Model | None, steps: int) -> None:
        recipe = recipe_of(self, X, steps, start)
        _core.Model.check(json.dumps(recipe))
        picture = picture_of(self.image_shape, X.shape[1])
        # What a call with few rows or `steps` of its own makes of these is not what the estimator was asked for.
        asked = {
            "batch": None if self.batch_size is None else int(self.batch_size),
            "steps": str(int(self.max_steps)),
        }
        names = [str(name) for name in getattr(self, "feature_names_in_", [])] or None
        bar = ProgressBar() if self.verbose else None
        listener = None if bar is None and self.callback is None else self._listener(bar, start)
        # The records of a call follow those of the calls before, and their steps are counted from 1 again.
        calls = [] if start is None else [*self._calls, len(start.history())]
        try:
            known = start is not None and self.kernel_ is not None
            pck = given_pck(self.kernel)
            to_fit = self.kernel in ("pck", "rbf") if isinstance(self.kernel, str) else pck and not is_fitted(pck)
            if bar is not None and self.lam and not known and to_fit:
                bar.tell("fitting the kernel")
            prior = prior_of(self, X, y, K, known=known, listener=listener) if self.lam else None
            self.model_, self.kernel_, messages = _core.Model.fit(
                X, json.dumps(recipe), prior, picture, names, start, listener, self.callback is not None,
                json.dumps(asked), given_by(self, calls),
            )  # fmt: skip
        finally:
            if bar is not None:
                bar.close()
        for message in messages:
            warnings.warn(f"K: {message}", UserWarning, stacklevel=4)
        if start is None:
            self._from_file = False
            self._fitted_with = settled(self, (*OF_THE_NETWORK, *OF_THE_KERNEL))
        elif self._from_file and self.lam:
            # From now on it has a kernel of its own.
            self._from_file = False
            self._fitted_with = {**self._fitted_with, **settled(self, OF_THE_KERNEL)}
        self._calls = calls
        self._describe()

    def __sklearn_is_fitted__(self) -> bool:
        # A callback may ask while the first fit is under way.
        return "model_" in vars(self)

    def _listener(self, bar: ProgressBar | None, start: _core.Model | None) -> _core._Listener:
        before, last, lam = 0, 0, float(self.lam)
        if start is not None and len(self.history_["step"]):
            before = int(self.history_["step"][-1])

        def listen(phase: str, step: int, steps: int, reconstruction: float | None, code: float | None) -> bool:
            nonlocal before, last
            if reconstruction is None or code is None:
                # Work before training.
                if bar is not None:
                    bar.tell(phase, step, steps)
                return False
            if step <= last:
                before += last
            last = step
            total = (1 - lam) * reconstruction + lam * code
            layer, _, layers = phase.partition("layer ")[2].partition(" of ")
            if lam == 0 or layer != layers:
                code = float("nan")  # the layers below the code have none
            if bar is not None:
                bar.show(phase, step, steps, reconstruction, code)
            if self.callback is None:
                return False
            losses = {"phase": phase, "reconstruction": reconstruction, "code": code, "total": total}
            return bool(self.callback(before + step, losses))

        return listen

    def _describe(self) -> None:
        """Sets what is learned from what the model knows about itself."""
        self.layers_ = tuple(self.model_.layers())
        self.kernel_description_ = self.model_.kernel()
        self.losses_ = self.model_.figures()
        code = self.losses_.get("train.code")
        # L_c is sqrt(2 - 2 A).
        self.alignment_ = float("nan") if code is None else 1 - code**2 / 2
        self.history_ = history_of(self.model_, self._calls)

    def transform(self, X: Any) -> Rows:
        """Codes of rows.

        Returns
        -------
        codes : array of shape (n_rows, n_codes), float32
        """
        return self._map(X, "encode")

    def reconstruct(self, X: Any) -> Rows:
        """Rows, encoded and decoded again, in the units of X.

        Returns
        -------
        X_hat : array of shape (n_rows, n_features), float32
        """
        return self._map(X, "reconstruct")

    def _map(self, X: Any, method: str) -> Rows:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32, accept_sparse="csr")
        apply: Callable[[Rows], Rows] = getattr(self.model_, method)
        if not sparse.issparse(X):
            return apply(in_rows(X))
        blocks = [apply(X[first : first + _BLOCK].toarray()) for first in range(0, X.shape[0], _BLOCK)]
        return np.concatenate(blocks)

    def inverse_transform(self, X: Any) -> Rows:
        """Rows of codes, in the units of the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_codes)
            Codes; any point of code space may be given.

        Returns
        -------
        X_original : array of shape (n_rows, n_features), float32
        """
        check_is_fitted(self)
        return self.model_.decode(in_rows(check_array(X, dtype=np.float32, input_name="codes")))

    def score(self, X: Any, y: Any = None, K: Any = None) -> float:
        """The negative total loss ``-((1 - lam) L_r + lam L_c)`` on rows, best those held out; higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows. L_c takes time by the square of their number: for more than some ten thousand, score a part.
        y, K : as in `fit`, about these rows

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        X = take_rows(self, X, reset=False, least=2, accept_sparse=True)
        lam = float(self.lam)
        reconstruction, code = self.model_.losses(X, known_prior(self, X, y, K) if lam else None)
        return -((1 - lam) * reconstruction + lam * code)

    def prior_kernel(self, X: Any, y: Any = None, K: Any = None) -> Rows:
        """The kernel matrix of rows that their codes are to reproduce; for a few rows, as it is n x n.

        Returns
        -------
        P : array of shape (n_rows, n_rows), float32
        """
        check_is_fitted(self)
        X = take_rows(self, X, reset=False, accept_sparse=True)
        return self.model_.prior(X, known_prior(self, X, y, K))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model's file, which the command ``dkae`` and the Rust crate read as well.

        The file has weights, scaling, parameters and history; not the rows, and not the fitted kernel.
        """
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model's file, written by `save`, by the command ``dkae`` or by the Rust crate.

        Examples
        --------
        >>> import tempfile, os
        >>> import numpy as np
        >>> from dkae import DKAE
        >>> X = np.random.default_rng(0).random((50, 4), dtype=np.float32)
        >>> model = DKAE(hidden=(8,), n_codes=3, kernel="linear", max_steps=10, pretrain_steps=5).fit(X)
        >>> path = os.path.join(tempfile.mkdtemp(), "my.dkae")
        >>> model.save(path)
        >>> bool((DKAE.load(path).transform(X) == model.transform(X)).all())
        True
        """
        model = _core.Model.load(path)
        try:
            parameters, calls = parameters_of(model), calls_of(model)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
            found = f"the settings in this model's file are not understood ({type(error).__name__}: {error})"
            raise ValueError(f"{os.fspath(path)}: {found}") from error
        estimator = cls(**parameters)
        estimator._from_file = True
        estimator._fitted_with = settled(estimator, (*OF_THE_NETWORK, *OF_THE_KERNEL))
        estimator.model_ = model
        estimator.kernel_ = None
        estimator._calls = calls
        estimator.n_features_in_ = model.input_width()
        names = model.names()
        if names is not None:
            if len(names) != model.input_width():
                found = f"{len(names)} names of {model.input_width()} features"
                raise ValueError(f"{os.fspath(path)}: the file is damaged: {found}")
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator._describe()
        return estimator

    @property
    def _n_features_out(self) -> int:
        return self.layers_[-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = isinstance(self.kernel, str) and self.kernel == "ideal" and self.lam != 0
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
