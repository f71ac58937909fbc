"""The Rust core: arrays in, arrays out."""

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Rows: TypeAlias = NDArray[np.float32]
_Prior: TypeAlias = Kernel | NDArray[Any] | Callable[[_Rows, _Rows], _Rows]
_Listener: TypeAlias = Callable[[str, int, int, float | None, float | None], bool | None]

__all__ = [
    "IsomapModel",
    "Kernel",
    "Model",
    "SpectralModel",
    "SupportVectorModel",
    "__version__",
    "digits",
    "get_threads",
    "keca",
    "kernel_pca",
    "linear_svm",
    "set_threads",
]

__version__: str

def set_threads(count: int) -> None: ...
def get_threads() -> int: ...
def digits() -> tuple[_Rows, NDArray[np.uint32]]: ...

@final
class Kernel:
    def __new__(cls, spec: str, x: _Rows, of_prepared: bool = False, listener: _Listener | None = None) -> Kernel: ...
    def between(self, a: _Rows, b: _Rows) -> _Rows: ...
    def posteriors(self, x: _Rows) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int]: ...
    def describe(self) -> str: ...
    def mixtures(self) -> tuple[int, int, int] | None: ...
    def __getnewargs__(self) -> tuple[str, _Rows, bool]: ...

@final
class Model:
    @staticmethod
    def fit(
        x: _Rows,
        recipe: str,
        prior: _Prior | None,
        picture: tuple[int, int, int] | None,
        names: list[str] | None,
        start: Model | None,
        listener: _Listener | None,
        every_step: bool,
        asked: str = "{}",
        caller: str = "null",
    ) -> tuple[Model, Kernel | None, list[str]]: ...
    @staticmethod
    def check(recipe: str) -> None: ...
    def fit_kernel(self, spec: str, x: _Rows) -> Kernel: ...
    def losses(self, x: _Rows, prior: _Prior | None) -> tuple[float, float]: ...
    def prior(self, x: _Rows, prior: _Prior) -> _Rows: ...
    def encode(self, x: _Rows) -> _Rows: ...
    def decode(self, codes: _Rows) -> _Rows: ...
    def reconstruct(self, x: _Rows) -> _Rows: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Model], tuple[bytes]]: ...
    def history(self) -> list[tuple[int, int, float, float, tuple[float, float] | None]]: ...
    def figures(self) -> dict[str, float]: ...
    def settings(self) -> str: ...
    def caller(self) -> str: ...
    def kernel(self) -> str: ...
    def names(self) -> list[str] | None: ...
    def picture(self) -> tuple[int, int, int] | None: ...
    def rows(self) -> int: ...
    def input_width(self) -> int: ...
    def layers(self) -> list[int]: ...
    @staticmethod
    def automatic_layers(rows: int, features: int) -> list[int]: ...

@final
class SpectralModel:
    def __new__(
        cls,
        kernel: Kernel,
        x: _Rows,
        values: NDArray[np.float64],
        vectors: NDArray[np.float64],
        offset: NDArray[np.float32],
    ) -> SpectralModel: ...
    def parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]: ...
    def sweeps(self) -> int | None: ...
    def scores(self) -> _Rows: ...
    def embed(self, x: _Rows) -> _Rows: ...

def kernel_pca(
    kernel: Kernel,
    x: _Rows,
    components: int,
    centred: bool,
    cache_mb: int,
    tolerance: float,
    max_sweeps: int,
    seed: int,
) -> tuple[SpectralModel, bool]: ...
def keca(
    kernel: Kernel,
    x: _Rows,
    components: int,
    candidates: int,
    cache_mb: int,
    tolerance: float,
    max_sweeps: int,
    seed: int,
) -> tuple[SpectralModel, NDArray[np.float64], list[int], bool, bool]: ...

@final
class IsomapModel:
    def __new__(
        cls,
        x: _Rows,
        neighbours: int,
        pieces: int,
        to_landmarks: _Rows,
        values: NDArray[np.float64],
        vectors: NDArray[np.float64],
        offset: NDArray[np.float32],
        scores: _Rows,
    ) -> IsomapModel: ...
    @staticmethod
    def fit(x: _Rows, components: int, neighbours: int, landmarks: int, seed: int) -> tuple[IsomapModel, int]: ...
    def parts(
        self,
    ) -> tuple[_Rows, NDArray[np.float64], NDArray[np.float64], NDArray[np.float32], _Rows]: ...
    def embed(self, x: _Rows) -> _Rows: ...

def linear_svm(
    x: _Rows,
    classes: NDArray[np.uint32],
    names: list[str],
    c: float,
    hinge: bool,
    bias: float | None,
    tolerance: float,
    max_iterations: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[int], list[str]]: ...

@final
class SupportVectorModel:
    def __new__(
        cls,
        kernel: Kernel,
        x: _Rows,
        classes: list[int],
        rows: NDArray[np.int64],
        duals: NDArray[np.float64],
        thresholds: NDArray[np.float64],
    ) -> SupportVectorModel: ...
    @staticmethod
    def fit(
        kernel: Kernel,
        x: _Rows,
        classes: NDArray[np.uint32],
        names: list[str],
        c: float,
        tolerance: float,
        cache_mb: int,
        max_iterations: int,
    ) -> tuple[SupportVectorModel, int, list[str]]: ...
    def parts(
        self,
    ) -> tuple[list[int], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
    def decision(self, x: _Rows) -> NDArray[np.float64]: ...
