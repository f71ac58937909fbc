"""The deep kernelized autoencoder."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._base import (
    KernelEstimator,
    Rows,
    all_or_nothing,
    check_choice,
    check_flag,
    check_number,
    in_rows,
    take_classes,
    take_rows,
    take_seed,
)
from ._kernels import NAMES, CheckedFunction, fitted_pck, given_pck, in_short, is_fitted, spec_of_name
from ._pck import PCK
from ._progress import ProgressBar

if TYPE_CHECKING:
    from typing_extensions import Self

_ACTIVATIONS = ("relu", "linear", "sigmoid", "tanh")
_SCALES = ("auto", "none", "unit", "unit-all", "standard")
#: Rows of a sparse matrix that are made dense at a time.
_BLOCK = 4096
#: Parameters that are settled by the first fit; `partial_fit` and `score` go on with what was learned.
_OF_THE_NETWORK = (
    "hidden", "n_codes", "activation", "code_activation", "output_activation", "tied", "scale", "image_shape",
)  # fmt: skip
_OF_THE_KERNEL = ("kernel", "kernel_params")
#: How the core ends the description of a kernel that sees rows as they are given: a PCK's.
_AS_GIVEN = "; of unscaled rows"


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
    max_steps : int, default=6000
        Steps of training of the whole network, one batch each.
    pretrain_steps : int, default=300
        Steps of training of each layer by itself, before that.
    batch_size : int, default=None
        Rows in a batch; None means 200, or all when there are fewer.
    learning_rate : float, default=None
        Peak rate of Adam; None means by the widths of the layers.
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
        Share of the rows that is set aside; the weights kept are those with the least loss on it.
    patience : int, default=None
        Looks at these rows (every 250 steps) without improvement after which training stops.
    callback : callable, default=None
        Called as ``callback(step, losses)`` after every step, with a dict of "phase", "reconstruction", "code" and
        "total" ("code" is NaN where there is no code loss); training stops when it returns True, and the model is what
        was reached.
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
        max_steps: int = 6000,
        pretrain_steps: int = 300,
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
            self._refuse_changes((*_OF_THE_NETWORK, *_OF_THE_KERNEL))
        self._train(X, y, K, start=start, steps=self.max_steps if steps is None else steps)
        return self

    def _train(self, X: Rows, y: Any, K: Any, *, start: _core.Model | None, steps: int) -> None:
        recipe = self._recipe(X, steps, start)
        picture = self._picture(X.shape[1])
        # What a call with few rows or `steps` of its own makes of these is not what the estimator was asked for.
        asked = {
            "batch": None if self.batch_size is None else int(self.batch_size),
            "steps": str(int(self.max_steps)),
        }
        names = [str(name) for name in getattr(self, "feature_names_in_", [])] or None
        bar = ProgressBar() if self.verbose else None
        listener = None if bar is None and self.callback is None else self._listener(bar)
        try:
            known = start is not None and self.kernel_ is not None
            pck = given_pck(self.kernel)
            to_fit = self.kernel in ("pck", "rbf") if isinstance(self.kernel, str) else pck and not is_fitted(pck)
            if bar is not None and self.lam and not known and to_fit:
                bar.tell("fitting the kernel")
            prior = self._prior(X, y, K, known=known) if self.lam else None
            self.model_, self.kernel_, messages = _core.Model.fit(
                X, json.dumps(recipe), prior, picture, names, start, listener, self.callback is not None,
                json.dumps(asked),
            )  # fmt: skip
        finally:
            if bar is not None:
                bar.close()
        for message in messages:
            warnings.warn(f"K: {message}", UserWarning, stacklevel=4)
        if start is None:
            self._from_file = False
            self._fitted_with = {name: getattr(self, name) for name in (*_OF_THE_NETWORK, *_OF_THE_KERNEL)}
        elif self._from_file and self.lam:
            # From now on it has a kernel of its own.
            self._from_file = False
            self._fitted_with = {**self._fitted_with, **{name: getattr(self, name) for name in _OF_THE_KERNEL}}
        # The records of a call follow those of the calls before, and their steps are counted from 1 again.
        self._calls = [] if start is None else [*self._calls, len(start.history())]
        self._describe()

    def __sklearn_is_fitted__(self) -> bool:
        # A callback may ask while the first fit is under way.
        return "model_" in vars(self)

    def _listener(self, bar: ProgressBar | None) -> _core._Listener:
        before, last, lam = 0, 0, float(self.lam)

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

    def _picture(self, width: int) -> tuple[int, int, int] | None:
        if self.image_shape is None:
            return None
        shape = tuple(self.image_shape) if isinstance(self.image_shape, Iterable) else ()
        whole = all(isinstance(v, Integral) and v > 0 for v in shape)
        if len(shape) not in (2, 3) or not whole or int(np.prod(shape)) != width:
            raise ValueError(
                f"image_shape: expected height and width, or channels, height and width, of {width} values in all, "
                f"found {self.image_shape!r}"
            )
        channels, height, wide = shape if len(shape) == 3 else (1, *shape)
        return int(channels), int(height), int(wide)

    def _recipe(self, X: Rows, steps: int, start: _core.Model | None) -> dict[str, Any]:
        """All parameters, checked, as the core reads them."""
        check_number("lam", self.lam, least=0)
        if self.lam > 1:
            raise ValueError(f"lam: expected a number from 0 to 1, found {self.lam!r}")
        if not isinstance(self.verbose, (Integral, np.bool_)):
            raise ValueError(f"verbose: expected a whole number, found {self.verbose!r}")
        check_number("max_steps", self.max_steps, least=0, whole=True)
        check_number("steps", steps, least=0, whole=True)
        check_number("pretrain_steps", self.pretrain_steps, least=0, whole=True)
        check_number("validation_fraction", self.validation_fraction, least=0)
        if self.validation_fraction >= 1:
            raise ValueError(f"validation_fraction: expected less than 1, found {self.validation_fraction!r}")
        for name, value in (("batch_size", self.batch_size), ("n_codes", self.n_codes), ("patience", self.patience)):
            if value is not None:
                check_number(name, value, least=2 if name == "batch_size" else 1, whole=True)
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, least=0, above=True)
        check_number("weight_decay", self.weight_decay, least=0)
        for name in ("activation", "code_activation", "output_activation"):
            if not (name == "output_activation" and self.output_activation is None):
                check_choice(name, getattr(self, name), _ACTIVATIONS)
        check_choice("scale", self.scale, _SCALES)
        check_flag("tied", self.tied)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback: expected a function or None, found {self.callback!r}")
        seed, held = take_seed(self.random_state), float(self.validation_fraction)
        return {
            "seed": seed,
            "split": [1 - held, held, 0.0],
            "scale": self.scale,
            "kernel": self._spec(X, seed, start),
            "train": {
                "layers": list(start.layers()) if start is not None else self._layers(X),
                "hidden": self.activation,
                "code": self.code_activation,
                "output": self.output_activation,
                "tied": bool(self.tied),
                "lambda": float(self.lam),
                "batch": None if self.batch_size is None else int(min(self.batch_size, len(X))),
                "pretrain": int(self.pretrain_steps),
                "steps": int(steps),
                "rate": None if self.learning_rate is None else float(self.learning_rate),
                "weight-decay": float(self.weight_decay),
                "noise": _noise(self.noise),
                "patience": None if self.patience is None else int(self.patience),
            },
        }

    def _spec(self, X: Rows, seed: int, start: _core.Model | None) -> Any:
        """The core's description of the kernel; also of one that is brought along, for the model's file."""
        if start is not None and self.kernel_ is not None:
            return json.loads(start.settings())["kernel"]
        if isinstance(self.kernel, str) and self.kernel in NAMES:
            return spec_of_name(self.kernel, self.kernel_params, seed, len(X))
        if self.kernel_params:
            raise ValueError(
                f"kernel_params: are for a kernel with a name, but kernel is {in_short(self.kernel)}, "
                f"found {self.kernel_params!r}"
            )
        pck = given_pck(self.kernel)
        if pck is not None:
            return json.loads(pck.kernel_.__getnewargs__()[0]) if is_fitted(pck) else pck._spec(len(X))
        # A function has no other name in the file: it is known for the rows of the fit only.
        return "ideal" if isinstance(self.kernel, str) and self.kernel == "ideal" else "precomputed"

    def _refuse_changes(self, names: Iterable[str]) -> None:
        """An error where a parameter is no longer that of what was learned."""
        for name in names:
            now = getattr(self, name)
            before = vars(self).get("_fitted_with", {}).get(name, now)
            if _same(before, now):
                continue
            if name in _OF_THE_KERNEL and self._from_file:
                # A file has no kernel, so one that was fitted may take its place.
                pck = given_pck(self.kernel)
                if (pck is not None and is_fitted(pck)) or callable(self.kernel):
                    continue
            raise ValueError(
                f"{name}: the model was fitted with {in_short(before)}, and it is {in_short(now)} now; set it back, "
                "or fit the model again"
            )

    def _layers(self, X: Rows) -> list[int]:
        automatic = list(_core.Model.automatic_layers(*X.shape))
        hidden = automatic[:-1] if self.hidden is None else list(np.atleast_1d(self.hidden))
        for width in hidden:
            check_number("hidden", width, least=1, whole=True)
        codes = automatic[-1] if self.n_codes is None else self.n_codes
        layers = [int(width) for width in (*hidden, codes)]
        weights = sum(a * b for a, b in zip((X.shape[1], *layers), layers, strict=False))
        # Weights, their gradients and two moments of these, in float32.
        needed, there = 16 * weights * (1 if self.tied else 2), _memory()
        if needed > there:
            raise MemoryError(
                f"hidden, n_codes: training layers of {layers} on {X.shape[1]} features takes {needed / 1e9:.3g} GB, "
                f"and this machine has {there / 1e9:.3g} GB"
            )
        return layers

    def _prior(self, X: Rows, y: Any, K: Any, *, known: bool) -> _core._Prior | None:
        """What codes of these rows are to be aligned with; None leaves it to the core to fit the kernel by its name.

        `known` says that the kernel of before is to be used.
        """
        if K is not None and not (isinstance(self.kernel, str) and self.kernel == "precomputed"):
            raise ValueError(f"K: is for kernel='precomputed', but kernel is {in_short(self.kernel)}")
        if known:
            return self.kernel_
        pck = fitted_pck(self.kernel, X)
        if pck is not None:
            return pck.kernel_
        if isinstance(self.kernel, str):
            if self.kernel in NAMES:
                return None
            if self.kernel == "ideal":
                if y is None:
                    raise ValueError("kernel='ideal' requires y to be passed, but the target y is None")
                return take_classes(y, len(X))[1]
            if self.kernel == "precomputed":
                if K is None:
                    raise ValueError("kernel='precomputed' needs the kernel matrix of these rows: fit(X, K=matrix)")
                K = check_array(K, dtype=np.float32, input_name="K")
                if K.shape != (len(X), len(X)):
                    raise ValueError(f"K: expected shape {(len(X), len(X))}, as X has {len(X)} rows, found {K.shape}")
                return np.ascontiguousarray(K)
        if callable(self.kernel):
            return CheckedFunction(self.kernel)
        names = ", ".join((*NAMES, "ideal", "precomputed"))
        hint = ""
        if isinstance(self.kernel, np.ndarray):
            hint = "; a kernel matrix is given to fit: kernel='precomputed', fit(X, K=matrix)"
        elif getattr(self, "_from_file", False):
            hint = ": the kernel of the file that this model came from, which cannot be made here; set another one"
        raise ValueError(f"kernel: expected one of {names}, a PCK or a function, found {in_short(self.kernel)}{hint}")

    def _describe(self) -> None:
        """Sets what is learned from what the model knows about itself."""
        self.layers_ = tuple(self.model_.layers())
        self.kernel_description_ = self.model_.kernel()
        self.losses_ = self.model_.figures()
        code = self.losses_.get("train.code")
        # L_c is sqrt(2 - 2 A).
        self.alignment_ = float("nan") if code is None else 1 - code**2 / 2
        self.history_ = _history(self.model_, self._calls)

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
        reconstruction, code = self.model_.losses(X, self._known_prior(X, y, K) if lam else None)
        return -((1 - lam) * reconstruction + lam * code)

    def prior_kernel(self, X: Any, y: Any = None, K: Any = None) -> Rows:
        """The kernel matrix of rows that their codes are to reproduce; for a few rows, as it is n x n.

        Returns
        -------
        P : array of shape (n_rows, n_rows), float32
        """
        check_is_fitted(self)
        X = take_rows(self, X, reset=False, accept_sparse=True)
        return self.model_.prior(X, self._known_prior(X, y, K))

    def _known_prior(self, X: Rows, y: Any, K: Any) -> _core._Prior:
        self._refuse_changes(_OF_THE_KERNEL)
        known = self.kernel_ is not None
        pck = given_pck(self.kernel)
        named = isinstance(self.kernel, str) and self.kernel in NAMES
        if known or not (named or (pck is not None and not is_fitted(pck))):
            prior = self._prior(X, y, K, known=known)
            assert prior is not None, "only a kernel with a name is left to the core"
            return prior
        if named and self.kernel in ("linear", "poly", "cosine"):
            spec = spec_of_name(self.kernel, self.kernel_params, 0, len(X))
            return _core.Kernel(json.dumps(spec), X, of_prepared=True)
        why = (
            "this model came from a file, which does not keep it; set kernel to a fitted PCK, or pickle the estimator "
            "instead"
            if self._from_file
            else "this model was fitted without it, as lam was 0"
        )
        raise ValueError(f"the kernel {self.kernel!r} is fitted on rows, and {why}")

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
            parameters = _parameters(model)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
            found = f"the settings in this model's file are not understood ({type(error).__name__}: {error})"
            raise ValueError(f"{os.fspath(path)}: {found}") from error
        estimator = cls(**parameters)
        estimator._from_file = True
        estimator._fitted_with = {name: getattr(estimator, name) for name in (*_OF_THE_NETWORK, *_OF_THE_KERNEL)}
        estimator.model_ = model
        estimator.kernel_ = None
        estimator._calls = []
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


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters mean the same: (5,) and [5] do, two estimators only when they are one."""
    if isinstance(a, (list, tuple, np.ndarray)) and isinstance(b, (list, tuple, np.ndarray)):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    # A bool, since arrays compare value by value.
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and bool(a == b))


def _memory() -> float:
    """Bytes of memory of this machine; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _noise(noise: str | None) -> Any:
    """`mask:0.2` as the core reads it."""
    if noise is None:
        return "none"
    kind, _, amount = str(noise).partition(":")
    try:
        if kind in ("mask", "gauss") and np.isfinite(float(amount)):
            return {kind: float(amount)}
    except ValueError:
        pass
    raise ValueError(f"noise: expected None, 'mask:SHARE' or 'gauss:DEVIATION', found {noise!r}")


def _history(model: _core.Model, calls: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The losses by step, counted from the start of pretraining; `calls` are the records that began another training.

    A file does not keep these; there, steps that do not grow within a phase tell of another training.
    """
    before, last, steps = 0, (-1, 0), []
    records = model.history()
    for index, (phase, step, *_) in enumerate(records):
        if phase != last[0] or step <= last[1] or index in calls:
            before += last[1]
        last = phase, step
        steps.append(before + step)
    nothing = (float("nan"), float("nan"))
    held = [record[4] or nothing for record in records]
    code, held_code = np.array([record[3] for record in records]), np.array([pair[1] for pair in held])
    # Where there is none (layers below the code, lam=0) the core has zero, which codes that are trained never reach.
    code[code == 0] = np.nan
    held_code[held_code == 0] = np.nan
    return {
        "step": np.array(steps, dtype=np.int64),
        "phase": np.array([record[0] for record in records], dtype=np.int64),
        "reconstruction": np.array([record[2] for record in records]),
        "code": code,
        "validation_reconstruction": np.array([pair[0] for pair in held]),
        "validation_code": held_code,
    }


def _parameters(model: _core.Model) -> dict[str, Any]:
    """The constructor's parameters that a model's file tells."""
    settings = json.loads(model.settings()) or {}
    # The crate's trainer stores its own settings alone, the command and this package the whole recipe.
    train = settings.get("train", settings)
    layers = model.layers()
    parameters: dict[str, Any] = {"hidden": tuple(layers[:-1]), "n_codes": layers[-1]}
    picture = model.picture()
    if picture is not None:
        parameters["image_shape"] = picture if picture[0] > 1 else picture[1:]
    for ours, theirs in (
        ("batch_size", "batch"),
        ("learning_rate", "rate"),
        ("activation", "hidden"),
        ("code_activation", "code"),
        ("output_activation", "output"),
        ("tied", "tied"),
        ("patience", "patience"),
        ("random_state", "seed"),
    ):
        if theirs in train:
            parameters[ours] = train[theirs]
    for ours, theirs in (("lam", "lambda"), ("weight_decay", "weight-decay")):
        if theirs in train:
            parameters[ours] = _shortest(train[theirs])
    for ours, theirs in (("max_steps", "steps"), ("pretrain_steps", "pretrain")):
        # Other units than steps have no parameter here.
        if str(train.get(theirs, "")).isdigit():
            parameters[ours] = int(train[theirs])
    if isinstance(train.get("noise"), dict):
        kind, amount = next(iter(train["noise"].items()))
        parameters["noise"] = f"{kind}:{_shortest(amount)}"
    if "scale" in settings:
        parameters["scale"] = settings["scale"]
    if "split" in settings and settings.get("split-by") is None:
        parameters["validation_fraction"] = settings["split"][1]
    parameters.update(_kernel_parameters(settings.get("kernel", "pck"), model.kernel()))
    return parameters


def _shortest(value: float) -> float:
    """The shortest number that is this one in float32, which is how it was stored: 0.1, not 0.10000000149."""
    return float(str(np.float32(value)))


def _kernel_parameters(spec: Any, description: str) -> dict[str, Any]:
    """The kernel that a file tells: a name and parameters, a PCK, or words that `fit` refuses where it has no such."""
    if description.startswith("a given matrix"):
        # The command keeps the kernel that would have been used without the matrix.
        return {"kernel": "precomputed"}
    if spec == "linear" and description.startswith("probabilistic cluster kernel"):
        # Files of earlier versions do not have the settings of a PCK that was brought along.
        return {"kernel": description}
    name, values = next(iter(spec.items())) if isinstance(spec, dict) else (spec, {})
    if name in ("pck", "rbf", "polynomial"):
        # Files of earlier versions have other dashes in the names of settings.
        values = {key.replace("-", "_"): value for key, value in values.items()}
    if name == "polynomial" and values:
        renamed = {"degree": values["degree"], "gamma": values["gamma"], "coef0": values["offset"]}
        return {"kernel": "poly", "kernel_params": renamed}
    if name == "rbf" and values:
        kind, width = next(iter(values["width"].items()))
        return {"kernel": "rbf", "kernel_params": {"sigma" if kind == "value" else "median_fraction": width}}
    if name == "pck" and values:
        kind, floor = next(iter(values["floor"].items()))
        renamed = {
            "n_restarts": values["restarts"],
            "max_components": values["max_components"],
            "subset": values["subset"],
            "covariance_type": {"diagonal": "diag"}.get(values["covariance"], values["covariance"]),
            "floor": floor if kind == "absolute" else f"{100 * floor:.12g}%",
            "init": values["start"],
            "tol": values["tolerance"],
            "max_iter": values["max_iterations"],
        }
        if description.endswith(_AS_GIVEN):
            return {"kernel": PCK(**renamed, random_state=values["seed"])}
        return {"kernel": "pck", "kernel_params": renamed}
    if name == "sum":
        parts = [(part["weight"], part["kernel"]) for part in values["parts"]]
        names = [(weight, next(iter(kernel)) if isinstance(kernel, dict) else kernel) for weight, kernel in parts]
        return {"kernel": "+".join(f"{weight:g}*{kernel}" for weight, kernel in names)}
    if name not in (*NAMES, "polynomial", "ideal", "precomputed"):
        raise ValueError(f"the kernel {name!r} is not known")
    return {"kernel": "poly" if name == "polynomial" else name}
