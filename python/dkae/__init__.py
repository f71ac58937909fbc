"""Kernel methods with an explicit map both ways, as scikit-learn estimators on a Rust core.

`DKAE` learns an encoder whose code inner products reproduce a kernel of your choice, and a decoder that maps any point
of code space back to your rows (Kampffmeyer, Løkse, Bianchi, Jenssen and Livi, "The Deep Kernelized Autoencoder",
Applied Soft Computing 71, 2018).

>>> from dkae import DKAE, load_digits
>>> X, y = load_digits()
>>> model = DKAE(hidden=(64,), n_codes=16, kernel="rbf", max_steps=50, pretrain_steps=20, image_shape=(28, 28))
>>> codes = model.fit_transform(X[:1000])
>>> codes.shape, model.inverse_transform(codes).shape
((1000, 16), (1000, 784))
"""

from . import plot
from ._autoencoder import DKAE
from ._core import __version__
from ._datasets import load_digits
from ._isomap import Isomap
from ._pck import PCK
from ._spectral import KECA, KernelPCA
from ._svm import KernelSVC, LinearSVC
from ._threads import get_threads, set_threads

__all__ = [
    "DKAE",
    "KECA",
    "PCK",
    "Isomap",
    "KernelPCA",
    "KernelSVC",
    "LinearSVC",
    "__version__",
    "get_threads",
    "load_digits",
    "plot",
    "set_threads",
]
