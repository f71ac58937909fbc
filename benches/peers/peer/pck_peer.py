"""Mixtures and posteriors by scikit-learn (src/pck.rs)."""
import time

import numpy as np
from mixtures import Mixtures


def prepare(settings):
    rows = np.load(settings.x, mmap_mode="r")[: settings.rows]
    # scikit-learn computes in the type of the rows; single precision would not give the same posteriors.
    x = rows.astype(np.float64)

    def turn():
        begin = time.perf_counter()
        mixtures = Mixtures(settings.kernel, settings.starts, rows, settings.shared_out).fit()
        posteriors = mixtures.posteriors(x)
        seconds = time.perf_counter() - begin
        np.save(settings.out, posteriors[: settings.compared])
        return seconds, dict(iterations=sum(m.n_iter_ for m in mixtures.mixtures))

    return turn
