"""Plots, one call each. They need matplotlib: ``pip install dkae[plot]``.

Every function draws into the axes it is given, or into new ones, and returns them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["embedding", "history", "kernel", "reconstructions"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install dkae[plot]") from error
    return pyplot


def embedding(Z: ArrayLike, y: ArrayLike | None = None, *, ax: Any = None, title: str | None = None) -> Any:
    """A map of embedded rows, coloured by class.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        Embedded rows. With more than two columns the two leading principal components are shown.
    y : array-like of shape (n_rows,), default=None
        Classes; with more than 20 different values they are shown as numbers on a colour scale.
    ax : matplotlib axes, default=None
    title : str, default=None

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import dkae.plot
    >>> ax = dkae.plot.embedding(np.eye(3), ["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'c']
    """
    pyplot = _pyplot()
    points = np.asarray(Z, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"Z: expected at least two columns, found shape {points.shape}")
    names = ("", "")
    if points.shape[1] > 2:
        from sklearn.decomposition import PCA

        points = PCA(2, random_state=0).fit_transform(points)
        names = ("first principal component", "second principal component")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6, 5), layout="constrained")
    dots = {"s": max(2.0, min(30.0, 6000.0 / len(points))), "linewidths": 0}
    classes = None if y is None else np.unique(np.asarray(y))
    if classes is None:
        ax.scatter(points[:, 0], points[:, 1], **dots)
    elif len(classes) > 20:
        drawn = ax.scatter(points[:, 0], points[:, 1], c=np.asarray(y, dtype=np.float64), **dots)
        ax.figure.colorbar(drawn, ax=ax)
    else:
        colours = pyplot.get_cmap("tab10" if len(classes) <= 10 else "tab20")
        for i, name in enumerate(classes):
            chosen = points[np.asarray(y) == name]
            ax.scatter(chosen[:, 0], chosen[:, 1], color=colours(i), label=str(name), **dots)
        # Beside the points, where it hides none.
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, scatterpoints=1, markerscale=2)
    ax.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    if title is not None:
        ax.set_title(title)
    return ax


def reconstructions(
    estimator: Any, X: ArrayLike, *, image_shape: tuple[int, ...] | None = None, n: int = 10, axes: Any = None
) -> Any:
    """Pictures above their reconstructions.

    Parameters
    ----------
    estimator : DKAE, or array-like of shape (n_rows, n_features)
        A fitted model, or what is to be shown below the rows of X.
    X : array-like of shape (n_rows, n_features)
        Rows; the first `n` are shown.
    image_shape : tuple of 2 or 3 int, default=None
        As in `DKAE`; None means the model's.
    n : int, default=10
        How many.
    axes : array of matplotlib axes of shape (2, n), default=None

    Returns
    -------
    axes : array of matplotlib axes of shape (2, n)
    """
    pyplot = _pyplot()
    rows = np.asarray(X)[:n]
    shape = image_shape or getattr(estimator, "image_shape", None)
    if shape is None:
        side = int(np.sqrt(rows.shape[1]))
        if side * side != rows.shape[1]:
            raise ValueError(f"image_shape: rows of {rows.shape[1]} values are not square pictures; give it")
        shape = (side, side)
    below = estimator.reconstruct(rows) if hasattr(estimator, "reconstruct") else np.asarray(estimator)[:n]
    if axes is None:
        _, axes = pyplot.subplots(2, len(rows), figsize=(0.9 * len(rows), 2.1), squeeze=False, layout="constrained")
    low, high = float(rows.min()), float(rows.max())
    for line, pictures, label in ((axes[0], rows, "rows"), (axes[1], below, "back")):
        for ax, picture in zip(line, pictures, strict=True):
            _picture(ax, np.asarray(picture, dtype=np.float64), shape, low, high)
        line[0].set_ylabel(label)
    return axes


def _picture(ax: Any, values: NDArray[np.float64], shape: tuple[int, ...], low: float, high: float) -> None:
    if len(shape) == 3 and shape[0] == 3:
        # Three planes become one picture of three colours.
        scaled = (values.reshape(shape).transpose(1, 2, 0) - low) / max(high - low, 1e-12)
        ax.imshow(scaled.clip(0, 1))
    else:
        ax.imshow(values.reshape(shape[-2:]), cmap="gray_r", vmin=low, vmax=high)
    ax.set(xticks=[], yticks=[])
    for edge in ax.spines.values():
        edge.set_visible(False)


def kernel(estimator: Any, X: ArrayLike, y: ArrayLike | None = None, *, max_rows: int = 500, axes: Any = None) -> Any:
    """The kernel matrix of the prior beside that of the codes, rows in order of their classes.

    Parameters
    ----------
    estimator : DKAE
        A fitted model. Without its kernel (from a file), only the codes are shown.
    X : array-like of shape (n_rows, n_features)
        Rows; at most `max_rows` of them, evenly spread, are shown.
    y : array-like of shape (n_rows,), default=None
        Classes, to order rows by.
    max_rows : int, default=500
    axes : sequence of matplotlib axes, default=None

    Returns
    -------
    axes : array of matplotlib axes
    """
    pyplot = _pyplot()
    rows = np.asarray(X)
    chosen = np.linspace(0, len(rows) - 1, min(max_rows, len(rows))).astype(int)
    labels = None if y is None else np.asarray(y)[chosen]
    if labels is not None:
        order = np.argsort(labels, kind="stable")
        chosen, labels = chosen[order], labels[order]
    rows = rows[chosen]
    codes = estimator.transform(rows)
    panels = [("kernel of codes", codes @ codes.T)]
    try:
        panels.insert(0, ("prior", estimator.prior_kernel(rows, labels)))
    except ValueError:
        pass  # Not known: the model came from a file, or the kernel is a matrix about other rows.
    if axes is None:
        size = (4.2 * len(panels), 4)
        _, axes = pyplot.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
        axes = axes[0]
    for ax, (title, matrix) in zip(axes, panels, strict=False):
        # Both are compared after normalisation in training, so each has a scale of its own here.
        ax.imshow(matrix, cmap="viridis", vmin=0, vmax=float(np.quantile(matrix, 0.995)), interpolation="nearest")
        ax.set(title=title, xticks=[], yticks=[])
    return np.asarray(axes)


def history(estimator: Any, *, axes: Any = None) -> Any:
    """Both losses as training went on; the start of fine-tuning is marked.

    Parameters
    ----------
    estimator : DKAE
        A fitted model.
    axes : sequence of two matplotlib axes, default=None

    Returns
    -------
    axes : array of matplotlib axes
    """
    pyplot = _pyplot()
    if axes is None:
        _, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    record = estimator.history_
    last = len(estimator.layers_)
    tuned = record["phase"] == last
    for ax, name, title in zip(
        axes, ("reconstruction", "code"), ("reconstruction loss L_r", "code loss L_c"), strict=True
    ):
        # Layers below the code have no code loss, and each reconstructs something else than the rows.
        shown = tuned if name == "reconstruction" else record["phase"] >= last - 1
        ax.plot(record["step"][shown], record[name][shown], label="training")
        held = shown & np.isfinite(record[f"validation_{name}"])
        if held.any():
            ax.plot(record["step"][held], record[f"validation_{name}"][held], "o-", markersize=3, label="validation")
            ax.legend(frameon=False)
        if tuned.any() and not tuned[shown].all():
            ax.axvline(record["step"][tuned][0], color="0.7", linewidth=1, linestyle=":")
        ax.set(xlabel="step", title=title)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
    return np.asarray(axes)
