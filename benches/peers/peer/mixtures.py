"""The mixtures of the probabilistic cluster kernel by scikit-learn, from given starts."""
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from os import cpu_count

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits


# Rows whose posteriors are computed at a time: scikit-learn squares them anew for every mixture, best while they are in cache.
CHUNK = 1000


class Mixtures:
    """All mixtures of a kernel. `shared_out` runs whole mixtures side by side, each on one thread, instead of one after another
    with the threads of the linear algebra."""

    def __init__(self, kernel, starts, x, shared_out):
        with open(starts) as file:
            starts = json.load(file)
        self.kernel, self.starts, self.shared_out = kernel, starts["starts"], shared_out
        self.subset = x[starts["subset"]].astype(np.float64)

    def each(self, work, items):
        if not self.shared_out:
            return [work(item) for item in items]
        with threadpool_limits(1), ThreadPoolExecutor(cpu_count()) as threads:
            return list(threads.map(work, items))

    def fit_one(self, start):
        g, floor = len(start), self.kernel.floor.absolute
        precision = 1 / (self.subset.var(axis=0) + floor)
        mixture = GaussianMixture(
            g, covariance_type="diag", reg_covar=floor, tol=self.kernel.tolerance, max_iter=self.kernel.max_iterations,
            weights_init=np.full(g, 1 / g), means_init=self.subset[start], precisions_init=np.tile(precision, (g, 1)),
            init_params="random", random_state=0,
        )
        return mixture.fit(self.subset)

    def fit(self):
        self.mixtures = self.each(self.fit_one, self.starts)
        self.columns = np.cumsum([0] + [len(start) for start in self.starts])
        return self

    def posteriors(self, x, some=slice(None)):
        """Posteriors of rows in double precision under some of the mixtures, stacked, in single precision."""
        chosen = list(range(len(self.mixtures)))[some]
        first = self.columns[chosen[0]]
        out = np.empty((len(x), self.columns[chosen[-1] + 1] - first), np.float32)

        def one(m):
            columns = slice(self.columns[m] - first, self.columns[m + 1] - first)
            for begin in range(0, len(x), CHUNK):
                rows = slice(begin, begin + CHUNK)
                out[rows, columns] = self.mixtures[m].predict_proba(x[rows])

        self.each(one, chosen)
        return out
