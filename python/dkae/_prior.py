"""What the codes of a `DKAE` are aligned with: from its parameters, y and K to what the core takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from . import _core
from ._base import Rows, take_classes
from ._kernels import NAMES, CheckedFunction, fitted_pck, given_pck, in_short, is_fitted, is_of_rows, spec_of_name

if TYPE_CHECKING:
    from ._autoencoder import DKAE

#: Parameters that are settled by the first fit; `partial_fit` and `score` go on with what was learned.
OF_THE_NETWORK = (
    "hidden", "n_codes", "activation", "code_activation", "output_activation", "tied", "scale", "image_shape",
)  # fmt: skip
OF_THE_KERNEL = ("kernel", "kernel_params")
#: Where the parameters of a PCK that is the kernel are kept beside these.
_OF_A_PCK = "kernel__"


def spec_of(dkae: DKAE, X: Rows, seed: int, start: _core.Model | None) -> Any:
    """The core's description of the kernel; also of one that is brought along, for the model's file."""
    if start is not None and dkae.kernel_ is not None:
        return json.loads(start.settings())["kernel"]
    if isinstance(dkae.kernel, str) and dkae.kernel in NAMES:
        return spec_of_name(dkae.kernel, dkae.kernel_params, seed, len(X))
    if dkae.kernel_params:
        raise ValueError(
            f"kernel_params: are for a kernel with a name, but kernel is {in_short(dkae.kernel)}, "
            f"found {dkae.kernel_params!r}"
        )
    pck = given_pck(dkae.kernel)
    if pck is not None:
        return json.loads(pck.kernel_.__getnewargs__()[0]) if is_fitted(pck) else pck._spec(len(X))
    # A function has no other name in the file: it is known for the rows of the fit only.
    return "ideal" if isinstance(dkae.kernel, str) and dkae.kernel == "ideal" else "precomputed"


def prior_of(
    dkae: DKAE, X: Rows, y: Any, K: Any, *, known: bool, listener: _core._Listener | None = None
) -> _core._Prior | None:
    """What codes of these rows are to be aligned with; None leaves it to the core to fit the kernel by its name.

    `known` says that the kernel of before is to be used; `listener` hears of a kernel that is fitted here.
    """
    if K is not None and not (isinstance(dkae.kernel, str) and dkae.kernel == "precomputed"):
        raise ValueError(f"K: is for kernel='precomputed', but kernel is {in_short(dkae.kernel)}")
    if known:
        return dkae.kernel_
    pck = fitted_pck(dkae.kernel, X, listener)
    if pck is not None:
        return pck.kernel_
    if isinstance(dkae.kernel, str):
        if dkae.kernel in NAMES:
            return None
        if dkae.kernel == "ideal":
            if y is None:
                raise ValueError("kernel='ideal' requires y to be passed, but the target y is None")
            return take_classes(y, len(X))[1]
        if dkae.kernel == "precomputed":
            if K is None:
                raise ValueError("kernel='precomputed' needs the kernel matrix of these rows: fit(X, K=matrix)")
            K = check_array(K, dtype=np.float32, input_name="K")
            if K.shape != (len(X), len(X)):
                raise ValueError(f"K: expected shape {(len(X), len(X))}, as X has {len(X)} rows, found {K.shape}")
            return np.ascontiguousarray(K)
    if callable(dkae.kernel) and not isinstance(dkae.kernel, type):
        return CheckedFunction(dkae.kernel)
    names = ", ".join((*NAMES, "ideal", "precomputed"))
    hint = ""
    if isinstance(dkae.kernel, np.ndarray):
        hint = "; a kernel matrix is given to fit: kernel='precomputed', fit(X, K=matrix)"
    elif isinstance(dkae.kernel, str) and dkae._from_file:
        hint = ": the kernel of the file that this model came from, which cannot be made here; set another one"
    raise ValueError(f"kernel: expected one of {names}, a PCK or a function, found {in_short(dkae.kernel)}{hint}")


def known_prior(dkae: DKAE, X: Rows, y: Any, K: Any) -> _core._Prior:
    """What codes of these rows are compared with: by the kernel of the fit, never by one fitted on these rows."""
    refuse_changes(dkae, OF_THE_KERNEL)
    known = dkae.kernel_ is not None
    pck = given_pck(dkae.kernel)
    named = isinstance(dkae.kernel, str) and dkae.kernel in NAMES
    if known or not (named or (pck is not None and not is_fitted(pck))):
        prior = prior_of(dkae, X, y, K, known=known)
        assert prior is not None, "only a kernel with a name is left to the core"
        return prior
    if named and not is_of_rows(dkae.kernel, dkae.kernel_params):
        spec = spec_of_name(dkae.kernel, dkae.kernel_params, 0, len(X))
        return dkae.model_.fit_kernel(json.dumps(spec), X)
    if not dkae._from_file:
        why = "this model was fitted without it, as lam was 0"
    elif pck is None and dkae.kernel == "rbf":
        # A model without a code loss has none to tell.
        told = f" ({dkae.kernel_description_})" if "width" in dkae.kernel_description_ else ""
        why = (
            f"this model came from a file, which does not keep it; set kernel_params to {{'sigma': width}}{told}, "
            "or pickle the estimator instead"
        )
    else:
        why = (
            "this model came from a file, which does not keep it; set kernel to a fitted PCK, or pickle the estimator "
            "instead"
        )
    raise ValueError(f"the kernel {dkae.kernel!r} is fitted on rows, and {why}")


def settled(dkae: DKAE, names: Iterable[str]) -> dict[str, Any]:
    """Parameters as they are now; changes within them, later, are not changes of these."""
    now = {name: copy(getattr(dkae, name)) if name != "kernel" else dkae.kernel for name in names}
    pck = given_pck(now.get("kernel"))
    return {**now, _OF_A_PCK: None if pck is None else pck.get_params()} if "kernel" in now else now


def refuse_changes(dkae: DKAE, names: Iterable[str]) -> None:
    """An error where a parameter is no longer that of what was learned."""
    for name in names:
        now = getattr(dkae, name)
        before = vars(dkae).get("_fitted_with", {}).get(name, now)
        if _same(before, now):
            if name == "kernel":
                _refuse_changes_within(dkae)
            continue
        if name in OF_THE_KERNEL and dkae._from_file:
            # A file has no kernel, so one that was fitted may take its place, or the width that came of the rows.
            pck = given_pck(dkae.kernel)
            if (pck is not None and is_fitted(pck)) or callable(dkae.kernel):
                continue
            came, known = is_of_rows("rbf", before), not is_of_rows("rbf", now)
            if name == "kernel_params" and dkae.kernel == "rbf" and came and known:
                continue
        raise _changed(name, before, now)


def _refuse_changes_within(dkae: DKAE) -> None:
    """An error where a parameter of the PCK that `kernel` is has been changed since the fit."""
    pck, before = given_pck(dkae.kernel), vars(dkae).get("_fitted_with", {}).get(_OF_A_PCK)
    if pck is None or before is None:
        return
    for name, now in pck.get_params().items():
        if not _same(before.get(name, now), now):
            raise _changed(f"kernel__{name}", before[name], now)


def _changed(name: str, before: Any, now: Any) -> ValueError:
    return ValueError(
        f"{name}: the model was fitted with {in_short(before)}, and it is {in_short(now)} now; set it back, "
        "or fit the model again"
    )


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters mean the same: (5,) and [5] do, two estimators only when they are one."""
    if isinstance(a, (list, tuple, np.ndarray)) and isinstance(b, (list, tuple, np.ndarray)):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    # A bool, since arrays compare value by value.
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and bool(a == b))
