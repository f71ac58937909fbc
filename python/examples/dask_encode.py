"""Encode a partitioned data set with a model from a file, by Dask.

Workers read the model once each and then encode partition after partition; nothing but rows and codes travels.

Run it with ``python dask_encode.py``: it trains a small model on the embedded digits and encodes them in 8 partitions.
"""

from __future__ import annotations

from functools import lru_cache
from os import PathLike

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from dkae import DKAE, load_digits


@lru_cache(maxsize=4)
def model(path: str) -> DKAE:
    """The model of a file, read once in each worker."""
    return DKAE.load(path)


def encode_partition(rows: pd.DataFrame, path: str) -> pd.DataFrame:
    """The codes of one partition, with its index."""
    estimator = model(path)
    return pd.DataFrame(estimator.transform(rows.to_numpy()), rows.index, estimator.get_feature_names_out())


def encode_frame(x: np.ndarray, path: str | PathLike[str], partitions: int) -> dd.DataFrame:
    """Rows as a frame of so many partitions, encoded; nothing is computed yet."""
    frame = dd.from_pandas(pd.DataFrame(x), npartitions=partitions)
    names = model(str(path)).get_feature_names_out()
    codes = pd.DataFrame({name: pd.Series(dtype=np.float32) for name in names})
    return frame.map_partitions(encode_partition, str(path), meta=codes)


def encode_block(rows: np.ndarray, path: str) -> np.ndarray:
    """The codes of one block."""
    return model(path).transform(rows)


def encode_array(x: np.ndarray, path: str | PathLike[str], rows: int) -> da.Array:
    """Rows as an array of blocks of so many rows, encoded; nothing is computed yet."""
    blocks = da.from_array(x, chunks=(rows, x.shape[1]))
    width = len(model(str(path)).get_feature_names_out())
    return blocks.map_blocks(encode_block, str(path), dtype=np.float32, chunks=(blocks.chunks[0], (width,)))


if __name__ == "__main__":
    X, _ = load_digits()
    DKAE((100,), 20, kernel="rbf", max_steps=200, pretrain_steps=50, image_shape=(28, 28)).fit(X).save("digits.dkae")
    print(encode_frame(X, "digits.dkae", partitions=8).compute(scheduler="processes").describe())
