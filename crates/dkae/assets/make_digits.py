"""Draws the 5000 digits that are embedded in the library: 500 of each class from MNIST's training file, shuffled.

    python make_digits.py FOLDER_WITH_MNIST

writes digits.gz beside this script: 5000 labels of one byte, then 5000 pictures of 28 x 28 bytes, row by row.
"""

import gzip
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
images = np.frombuffer(gzip.open(folder / "train-images-idx3-ubyte.gz").read(), np.uint8, offset=16).reshape(60000, 784)
labels = np.frombuffer(gzip.open(folder / "train-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
rng = np.random.default_rng(0)
rows = np.concatenate([rng.choice(np.flatnonzero(labels == k), 500, replace=False) for k in range(10)])
rng.shuffle(rows)
out = pathlib.Path(__file__).with_name("digits.gz")
# No name and no time in the header: the same bytes whenever it is made.
with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
    packed.write(labels[rows].tobytes() + images[rows].tobytes())
