"""Kernel PCA by scikit-learn (src/kpca.rs)."""
import time

import numpy as np
from sklearn.decomposition import KernelPCA


def prepare(settings):
    common = dict(n_components=settings.components, eigen_solver="randomized", random_state=0, copy_X=False)
    if settings.gamma is not None:
        x = np.load(settings.x, mmap_mode="r")[: settings.rows].copy()

        def rbf():
            begin = time.perf_counter()
            model = KernelPCA(kernel="rbf", gamma=settings.gamma, **common)
            scores = model.fit_transform(x)
            seconds = time.perf_counter() - begin
            np.save(settings.out, scores.astype(np.float32))
            return seconds, dict(values=model.eigenvalues_.tolist())

        return rbf

    begins = np.fromfile(settings.posteriors + ".begins", np.uint64).astype(np.int64)
    columns = np.fromfile(settings.posteriors + ".columns", np.uint32)
    values = np.fromfile(settings.posteriors + ".values", np.float32)
    factor = np.zeros((settings.rows, int(columns.max()) + 1), np.float32)
    for i in range(settings.rows):
        part = slice(begins[i], begins[i + 1])
        factor[i, columns[part]] = values[part]
    del begins, columns, values

    def pck():
        begin = time.perf_counter()
        kernel = factor @ factor.T
        given = time.perf_counter()
        model = KernelPCA(kernel="precomputed", **common)
        scores = model.fit_transform(kernel)
        end = time.perf_counter()
        np.save(settings.out, scores.astype(np.float32))
        return end - begin, dict(values=model.eigenvalues_.tolist(), eigen_seconds=end - given)

    return pck
