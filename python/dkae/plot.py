"""Plots, one call each. They need matplotlib: ``pip install dkae[plot]``.

Every function draws into the axes it is given, or into new ones, and returns them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["embedding", "history", "kernel", "reconstructions"]


#: Negative values of a kernel up to this share of the largest are noise, which codes always have, and drawn as zero.
_NEGATIVE = 0.1


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
        Classes; more than 20 different numbers are shown on a colour scale. Rows without one (NaN, None) are grey.
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
    points = _dense(Z, np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"Z: expected at least two columns, found shape {points.shape}")
    names = ("", "")
    if points.shape[1] > 2 and len(points) > 2:
        from sklearn.decomposition import PCA

        points = PCA(2, random_state=0).fit_transform(points)
        names = ("first principal component", "second principal component")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6, 5), layout="constrained")
    dots = {"s": max(2.0, min(30.0, 6000.0 / max(len(points), 1))), "linewidths": 0}
    if y is None:
        ax.scatter(points[:, 0], points[:, 1], **dots)
    else:
        labels, known = _labels(y, len(points))
        # Objects of several kinds have no order of their own, but their names do.
        mixed = labels.dtype == object
        names_of = np.array([str(label) for label in labels], dtype=object) if mixed else labels
        classes = np.unique(names_of[known])
        if not known.all():
            ax.scatter(points[~known, 0], points[~known, 1], color="0.8", **dots)
        if len(classes) > 20 and names_of.dtype.kind in "iuf":
            shown = names_of[known].astype(np.float64)
            drawn = ax.scatter(points[known, 0], points[known, 1], c=shown, **dots)
            ax.figure.colorbar(drawn, ax=ax)
        else:
            colours = _colours(pyplot, len(classes))
            for i, name in enumerate(classes):
                chosen = points[known & (names_of == name)]
                ax.scatter(chosen[:, 0], chosen[:, 1], color=colours[i], label=str(name), **dots)
            # Beside the points, where it hides none.
            columns = 1 + (len(classes) - 1) // 25
            ax.legend(
                loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, scatterpoints=1, markerscale=2, ncols=columns
            )
    ax.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    if title is not None:
        ax.set_title(title)
    return ax


def _dense(X: Any, dtype: Any = None) -> NDArray[Any]:
    """The values of an array, a frame or a sparse matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=dtype)


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows; a frame stays one, with the names of its columns."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "toarray"):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "columns") else np.asarray(X)[rows]


def _labels(y: ArrayLike, rows: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """One label for each row, and which of them are known."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (rows,):
        raise ValueError(f"y: expected {rows} labels, one for each row, found shape {labels.shape}")
    # Of all values only those that are missing differ from themselves.
    known = np.array([label is not None and bool(label == label) for label in labels.tolist()], dtype=bool)
    return labels, known


def _colours(pyplot: Any, count: int) -> Any:
    """As many colours as there are classes."""
    if count <= 20:
        colours = pyplot.get_cmap("tab10" if count <= 10 else "tab20")
        return [colours(i) for i in range(count)]
    return [pyplot.get_cmap("turbo")(i / (count - 1)) for i in range(count)]


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
    if n < 1:
        raise ValueError(f"n: expected at least 1, found {n}")
    chosen = np.arange(min(n, np.shape(X)[0]))
    given = _take(X, chosen)
    rows = _dense(given)
    shape = image_shape or getattr(estimator, "image_shape", None)
    if shape is None:
        side = int(np.sqrt(rows.shape[1]))
        if side * side != rows.shape[1]:
            raise ValueError(f"image_shape: rows of {rows.shape[1]} values are not square pictures; give it")
        shape = (side, side)
    below = estimator.reconstruct(given) if hasattr(estimator, "reconstruct") else _dense(estimator)[:n]
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
        A fitted model. Where its kernel is not known (from a file, or a matrix about other rows), only the codes are
        shown, and a warning tells why.
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
    total = int(np.shape(X)[0])
    chosen = np.linspace(0, total - 1, min(max_rows, total)).astype(np.int64)
    labels = None if y is None else _labels(y, total)[0][chosen]
    if labels is not None:
        order = np.argsort([str(v) for v in labels] if labels.dtype == object else labels, kind="stable")
        chosen, labels = chosen[order], labels[order]
    rows = _take(X, chosen)
    codes = np.asarray(estimator.transform(rows))
    panels = [("kernel of codes", codes @ codes.T)]
    try:
        panels.insert(0, ("prior", estimator.prior_kernel(rows, labels)))
    except ValueError as error:
        # The model came from a file, or the kernel is a matrix about other rows.
        warnings.warn(f"the prior is not shown: {error}", UserWarning, stacklevel=2)
    if axes is None:
        size = (4.2 * len(panels), 4)
        _, axes = pyplot.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
        axes = axes[0]
    axes = np.atleast_1d(np.asarray(axes))
    # Both are compared after normalisation in training, so each has a scale of its own here, but the same colours.
    ranges = [np.quantile(matrix, [0.005, 0.995]).tolist() for _, matrix in panels]
    signed = any(low < -_NEGATIVE * high for low, high in ranges)
    for ax, (title, matrix), (low, high) in zip(axes, panels, ranges, strict=False):
        if signed:
            # White is zero, so that what is unlike shows as such.
            high = max(-low, high)
            drawn = ax.imshow(matrix, cmap="RdBu_r", vmin=-high, vmax=high, interpolation="nearest")
        else:
            drawn = ax.imshow(matrix, cmap="viridis", vmin=0, vmax=high, interpolation="nearest")
        ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
        ax.set(title=title, xticks=[], yticks=[])
    return axes


def history(estimator: Any, *, axes: Any = None) -> Any:
    """Both losses as training went on; the start of fine-tuning is marked.

    Parameters
    ----------
    estimator : DKAE
        A fitted model.
    axes : sequence of matplotlib axes, default=None
        Two of them, or one for a model without a code loss (lam=0).

    Returns
    -------
    axes : array of matplotlib axes
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    pyplot = _pyplot()
    record = estimator.history_
    last = len(estimator.layers_)
    tuned = record["phase"] == last
    panels = [("reconstruction", "reconstruction loss L_r")]
    if np.isfinite(record["code"]).any():
        panels.append(("code", "code loss L_c"))
    if axes is None:
        _, axes = pyplot.subplots(1, len(panels), figsize=(4.5 * len(panels), 3.2), squeeze=False, layout="constrained")
        axes = axes[0]
    axes = np.atleast_1d(np.asarray(axes))
    for ax, (name, title) in zip(axes, panels, strict=False):
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
    return axes
