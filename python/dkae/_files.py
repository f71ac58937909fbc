"""What a model's file tells about the estimator that it came from.

The file has the recipe that the core trained by. Where rows made something else of a parameter (a PCK of 30 components
needs 60 rows, `gamma` is a width), the parameter as it was given is kept beside it: see `given_by` and `About.caller`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._kernels import NAMES, given_pck
from ._pck import PCK

if TYPE_CHECKING:
    from ._autoencoder import DKAE

#: How the core ends the description of a kernel that sees rows as they are given: a PCK's.
_AS_GIVEN = "; of unscaled rows"


def given_by(dkae: DKAE, calls: Sequence[int]) -> str:
    """What the file keeps for this package, as JSON: parameters as given, and where calls of training begin."""
    given: dict[str, Any] = {
        "hidden": None if dkae.hidden is None else [int(width) for width in np.atleast_1d(dkae.hidden)],
        "n_codes": None if dkae.n_codes is None else int(dkae.n_codes),
        "image_shape": None if dkae.image_shape is None else [int(side) for side in dkae.image_shape],
    }
    pck = given_pck(dkae.kernel)
    if pck is not None:
        given["max_components"] = int(pck.max_components)
    elif dkae.kernel_params is None:
        given["kernel_params"] = None
    else:
        plain = {name: _plain(value) for name, value in dkae.kernel_params.items()}
        # A random state is told by the seed that came of it.
        if None not in plain.values():
            given["kernel_params"] = plain
    return json.dumps({"given": given, "calls": list(calls)})


def _plain(value: Any) -> Any:
    """The same value as JSON has it; None when it has none."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value if isinstance(value, str) else None


def _as_given(told: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the file tells of parameters, with those that it keeps as they were given."""
    parameters = dict(told)
    for name in ("hidden", "n_codes", "image_shape"):
        parameters[name] = tuple(given[name]) if isinstance(given[name], list) else given[name]
    kernel = told["kernel"]
    if isinstance(kernel, PCK):
        kernel.max_components = max(kernel.max_components, given.get("max_components", 0))
    elif "kernel_params" in given and kernel in NAMES:
        parameters["kernel_params"] = given["kernel_params"]
    return parameters


def calls_of(model: _core.Model) -> list[int]:
    """The records of the history that began another training."""
    kept = json.loads(model.caller())
    return [int(record) for record in kept["calls"]] if kept else []


def history_of(model: _core.Model, calls: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The losses by step, counted from the start of pretraining; `calls` are the records that began another training.

    Files of earlier versions do not tell these; there, steps that do not grow within a phase tell of another training.
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


def parameters_of(model: _core.Model) -> dict[str, Any]:
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
    # Files from before there was a choice.
    parameters["init"] = train.get("init", "glorot")
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
    if not parameters.get("validation_fraction"):
        # By groups, rows may have been set aside that a fit here has not.
        parameters.pop("patience", None)
    parameters.update(_kernel_parameters(settings.get("kernel", "pck"), model.kernel(), train.get("seed")))
    kept = json.loads(model.caller())
    return _as_given(parameters, kept["given"]) if kept else parameters


def _shortest(value: float) -> float:
    """The shortest number that is this one in float32, which is how it was stored: 0.1, not 0.10000000149."""
    return float(str(np.float32(value)))


def _kernel_parameters(spec: Any, description: str, seed: Any) -> dict[str, Any]:
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
        if values["seed"] != seed:
            renamed["random_state"] = values["seed"]
        return {"kernel": "pck", "kernel_params": renamed}
    if name == "sum":
        parts = [(part["weight"], part["kernel"]) for part in values["parts"]]
        names = [(weight, next(iter(kernel)) if isinstance(kernel, dict) else kernel) for weight, kernel in parts]
        return {"kernel": "+".join(f"{weight:g}*{kernel}" for weight, kernel in names)}
    if name not in (*NAMES, "polynomial", "ideal", "precomputed"):
        raise ValueError(f"the kernel {name!r} is not known")
    return {"kernel": "poly" if name == "polynomial" else name}
