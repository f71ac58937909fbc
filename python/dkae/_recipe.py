"""The parameters of a `DKAE`, checked, as the core reads them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._base import Rows, check_choice, check_flag, check_number, check_single, shown, take_seed
from ._prior import spec_of

if TYPE_CHECKING:
    from ._autoencoder import DKAE

_ACTIVATIONS = ("relu", "linear", "sigmoid", "tanh")
_SCALES = ("auto", "none", "unit", "unit-all", "standard")


def recipe_of(dkae: DKAE, X: Rows, steps: int, start: _core.Model | None) -> dict[str, Any]:
    """All parameters, checked, as the core reads them."""
    check_number("lam", dkae.lam, least=0, single=True)
    if dkae.lam > 1:
        raise ValueError(f"lam: expected a number from 0 to 1, found {shown(dkae.lam)}")
    if not isinstance(dkae.verbose, (Integral, np.bool_)):
        raise ValueError(f"verbose: expected a whole number, found {dkae.verbose!r}")
    check_number("max_steps", dkae.max_steps, least=0, whole=True)
    check_number("steps", steps, least=0, whole=True)
    if dkae.pretrain_steps is not None:
        check_number("pretrain_steps", dkae.pretrain_steps, least=0, whole=True)
    check_choice("init", dkae.init, ("mirrored", "glorot"))
    check_number("validation_fraction", dkae.validation_fraction, least=0)
    if dkae.validation_fraction >= 1:
        raise ValueError(f"validation_fraction: expected less than 1, found {shown(dkae.validation_fraction)}")
    for name, value in (("batch_size", dkae.batch_size), ("n_codes", dkae.n_codes), ("patience", dkae.patience)):
        if value is not None:
            check_number(name, value, least=2 if name == "batch_size" else 1, whole=True)
    if dkae.learning_rate is not None:
        check_number("learning_rate", dkae.learning_rate, least=0, above=True, single=True)
    check_number("weight_decay", dkae.weight_decay, least=0, single=True)
    for name in ("activation", "code_activation", "output_activation"):
        if not (name == "output_activation" and dkae.output_activation is None):
            check_choice(name, getattr(dkae, name), _ACTIVATIONS)
    check_choice("scale", dkae.scale, _SCALES)
    check_flag("tied", dkae.tied)
    if dkae.callback is not None and not callable(dkae.callback):
        raise ValueError(f"callback: expected a function or None, found {dkae.callback!r}")
    seed, held = take_seed(dkae.random_state), float(dkae.validation_fraction)
    learned = _rows_to_learn_from(dkae, len(X))
    return {
        "seed": seed,
        "split": [1 - held, held, 0.0],
        "scale": dkae.scale,
        "kernel": spec_of(dkae, X, seed, start),
        "train": {
            "layers": list(start.layers()) if start is not None else _layers(dkae, X),
            "hidden": dkae.activation,
            "code": dkae.code_activation,
            "output": dkae.output_activation,
            "tied": bool(dkae.tied),
            "lambda": float(dkae.lam),
            "batch": None if dkae.batch_size is None else int(min(dkae.batch_size, learned)),
            "init": dkae.init,
            "pretrain": None if dkae.pretrain_steps is None else int(dkae.pretrain_steps),
            "steps": int(steps),
            "rate": None if dkae.learning_rate is None else float(dkae.learning_rate),
            "weight-decay": float(dkae.weight_decay),
            "noise": _noise(dkae.noise),
            "patience": None if dkae.patience is None else int(dkae.patience),
        },
    }


def _rows_to_learn_from(dkae: DKAE, rows: int) -> int:
    """How many of these rows are not set aside. Both parts need two, as a kernel is about pairs."""
    held = float(dkae.validation_fraction)
    if held == 0:
        if dkae.patience is not None:
            raise ValueError(
                f"patience: {dkae.patience} looks at rows that are set aside, but there are none; "
                "set validation_fraction, or patience to None"
            )
        return rows
    # As the core rounds: halves upwards.
    learned = int((1 - held) * rows + 0.5)
    aside = min(int(held * rows + 0.5), rows - learned)
    share = f"validation_fraction: {shown(dkae.validation_fraction)} of {rows} rows"
    if aside < 2:
        raise ValueError(
            f"{share} sets {aside} aside, and at least 2 are needed; raise it, bring more rows, or set it to 0"
        )
    if learned < 2:
        raise ValueError(
            f"{share} leaves {learned} to learn from, and at least 2 are needed; lower it, or bring more rows"
        )
    return learned


def picture_of(image_shape: Any, width: int) -> tuple[int, int, int] | None:
    """Channels, height and width, when rows are pictures."""
    if image_shape is None:
        return None
    shape = tuple(image_shape) if isinstance(image_shape, Iterable) else ()
    whole = all(isinstance(v, Integral) and int(v) > 0 for v in shape)
    if len(shape) not in (2, 3) or not whole or int(np.prod(shape)) != width:
        raise ValueError(
            f"image_shape: expected height and width, or channels, height and width, of {width} values in all, "
            f"found {image_shape!r}"
        )
    channels, height, wide = shape if len(shape) == 3 else (1, *shape)
    return int(channels), int(height), int(wide)


def _layers(dkae: DKAE, X: Rows) -> list[int]:
    """Widths of the layers above the input, if they fit into memory."""
    automatic = list(_core.Model.automatic_layers(*X.shape))
    hidden = automatic[:-1] if dkae.hidden is None else list(np.atleast_1d(dkae.hidden))
    for width in hidden:
        check_number("hidden", width, least=1, whole=True)
    codes = automatic[-1] if dkae.n_codes is None else dkae.n_codes
    layers = [int(width) for width in (*hidden, codes)]
    weights = sum(a * b for a, b in zip((X.shape[1], *layers), layers, strict=False))
    # Weights, their gradients and two moments of these, in float32.
    needed, there = 16 * weights * (1 if dkae.tied else 2), _memory()
    if needed > there:
        raise MemoryError(
            f"hidden, n_codes: training layers of {layers} on {X.shape[1]} features takes {needed / 1e9:.3g} GB, "
            f"and this machine has {there / 1e9:.3g} GB"
        )
    return layers


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
        value = float(amount)
    except ValueError:
        value = float("nan")
    if kind not in ("mask", "gauss") or not np.isfinite(value):
        raise ValueError(f"noise: expected None, 'mask:SHARE' or 'gauss:DEVIATION', found {noise!r}")
    check_single("noise", value)
    return {kind: value}
