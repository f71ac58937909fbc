"""Kernels by name, by estimator or by function: from what a user gives to what the core takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from . import _core
from ._base import Rows, check_number, shown, take_rows

if TYPE_CHECKING:
    from ._pck import PCK

#: Kernels that are known by a name and depend on rows alone.
NAMES = ("pck", "rbf", "linear", "poly", "cosine")

#: The square of a width, and its inverse, have to be numbers in float32.
_NARROWEST = 1e-18

Spec = str | dict[str, dict[str, Any]]


def spec_of_name(name: str, params: Mapping[str, Any] | None, seed: int, rows: int) -> Spec:
    """The core's description of a kernel with a name."""
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(f"kernel_params: expected a dict or None, found {params!r}")
    params = dict(params or {})
    if name == "pck":
        from ._pck import PCK

        _refuse_others(name, params, tuple(PCK().get_params()))
        return PCK(**{"random_state": seed, **params})._spec(rows)
    if name == "rbf":
        given = [key for key in ("gamma", "sigma", "median_fraction") if key in params]
        _refuse_others(name, params, ("gamma", "sigma", "median_fraction"))
        if len(given) > 1:
            raise ValueError(f"kernel_params: gamma, sigma and median_fraction exclude each other, found {given}")
        for key in given:
            check_number(f"kernel_params[{key!r}]", params[key], least=0, above=True)
        if "gamma" in params or "sigma" in params:
            sigma = float(params["sigma"] if "sigma" in params else 1 / np.sqrt(2 * float(params["gamma"])))
            width = {"value": sigma}
        else:
            sigma = float(params.get("median_fraction", 0.15))
            width = {"median-fraction": sigma}
        if not _NARROWEST < sigma < 1 / _NARROWEST:
            of = " times the median distance" if "median-fraction" in width else ""
            found = f"{shown(params[given[0]])}, a width of {sigma:.3g}{of}"
            raise ValueError(f"kernel_params[{given[0]!r}]: is beyond float32, found {found}")
        return {"rbf": {"width": width, "seed": seed}}
    if name == "poly":
        _refuse_others(name, params, ("degree", "gamma", "coef0"))
        degree, gamma, coef0 = params.get("degree", 3), params.get("gamma"), params.get("coef0", 1.0)
        check_number("kernel_params['degree']", degree, least=1, whole=True)
        if degree > 64:
            raise ValueError(f"kernel_params['degree']: expected at most 64, found {shown(degree)}")
        check_number("kernel_params['coef0']", coef0, least=0, single=True)
        if gamma is not None:
            check_number("kernel_params['gamma']", gamma, least=0, above=True, single=True)
            gamma = float(gamma)
        return {"polynomial": {"degree": int(degree), "gamma": gamma, "offset": float(coef0)}}
    _refuse_others(name, params, ())
    return name


def _refuse_others(name: str, params: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in params:
        if key not in known:
            has = ", ".join(known) or "no parameters"
            raise ValueError(f"kernel_params: the kernel {name!r} has {has}; found {key!r}")


def is_of_rows(name: str, params: Mapping[str, Any] | None) -> bool:
    """Whether a kernel with a name is another one when it is fitted on other rows."""
    given = isinstance(params, Mapping) and ("gamma" in params or "sigma" in params)
    return name == "pck" or (name == "rbf" and not given)


def in_short(kernel: Any) -> str:
    """What was given as a kernel, for messages; not all numbers of a matrix."""
    if isinstance(kernel, type):
        called = f", which has to be called: {kernel.__name__}()" if issubclass(kernel, BaseEstimator) else ""
        return f"the class {kernel.__name__}{called}"
    return f"an array of shape {kernel.shape}" if isinstance(kernel, np.ndarray) else repr(kernel)


def given_pck(kernel: Any) -> PCK | None:
    """The PCK that `kernel` is, fitted or not; None when it is none."""
    from ._pck import PCK

    kernel = getattr(kernel, "estimator", kernel)
    return kernel if isinstance(kernel, PCK) else None


def fitted_pck(kernel: Any, X: Rows, listener: _core._Listener | None = None) -> PCK | None:
    """The PCK that `kernel` is: as it is when it was fitted, else a copy fitted on `X`; None when it is none.

    scikit-learn's `clone` makes estimators among parameters unfitted; `sklearn.frozen.FrozenEstimator` keeps one.
    """
    pck = given_pck(kernel)
    if pck is None or is_fitted(pck):
        return pck
    pck = clone(pck)
    return pck._learn(take_rows(pck, X, reset=True, least=2), listener)


def is_fitted(pck: PCK) -> bool:
    """Whether a PCK was fitted; asking does not fit its kernel again, as it would after a pickle."""
    return hasattr(pck, "n_mixtures_")


def fit_kernel(kernel: Any, params: Mapping[str, Any] | None, X: Rows, seed: int) -> _core.Kernel:
    """The kernel of a kernel machine, fitted on its rows."""
    pck = fitted_pck(kernel, X)
    if pck is not None:
        return pck.kernel_
    if not isinstance(kernel, str) or kernel not in NAMES:
        raise ValueError(f"kernel: expected one of {', '.join(NAMES)} or a PCK, found {in_short(kernel)}")
    return _core.Kernel(json.dumps(spec_of_name(kernel, params, seed, len(X))), X)


class CheckedFunction:
    """A user's kernel function, with what it gives checked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, a: Rows, b: Rows) -> Rows:
        given = self.function(a, b)
        given = given.toarray() if sparse.issparse(given) else np.asarray(given)
        if np.iscomplexobj(given):
            raise ValueError("kernel: the function gave complex numbers")
        with np.errstate(over="ignore"):
            values = given.astype(np.float32, copy=False)
        if values.shape != (len(a), len(b)):
            raise ValueError(
                f"kernel: for blocks of {len(a)} and {len(b)} rows an array of shape {(len(a), len(b))} was expected, "
                f"found {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel: the function gave a value that is not finite")
        return values
