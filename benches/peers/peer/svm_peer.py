"""Support vector machines by scikit-learn (src/svm.rs)."""
import time
import warnings

import numpy as np
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

# liblinear and libsvm solve the problems of the classes one after the other on one core. They let go of Python's lock meanwhile, so
# that scikit-learn's own wrappers, which make the same problems, can share them out among threads.
THREADS = dict(n_jobs=-1)


def prepare(settings):
    x = np.load(settings.x, mmap_mode="r")[: settings.all].copy()
    y = np.load(settings.labels)[: settings.all, 0].astype(np.int64)
    train, known = x[: settings.train], y[: settings.train]
    test, asked = x[settings.test :], y[settings.test :]

    def rbf():
        model = OneVsOneClassifier(SVC(C=settings.c, gamma=settings.gamma, cache_size=2000), **THREADS)
        begin = time.perf_counter()
        with parallel_config(backend="threading"):
            model.fit(train, known)
        fitted = time.perf_counter()
        accuracy = model.score(test, asked)
        return fitted - begin, dict(accuracy=accuracy, predict_seconds=time.perf_counter() - fitted)

    def linear():
        squared = settings.machine == "squared-hinge"
        one = LinearSVC(C=settings.c, loss="squared_hinge" if squared else "hinge", dual="auto" if squared else True, random_state=0)
        model = OneVsRestClassifier(one, **THREADS)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            begin = time.perf_counter()
            with parallel_config(backend="threading"):
                model.fit(train, known)
            seconds = time.perf_counter() - begin
        signs = np.where(known[:, None] == model.classes_, 1, -1)
        inside = np.maximum(0, 1 - signs * model.decision_function(train))
        losses = (inside**2).sum() if squared else inside.sum()
        weights = sum((one.coef_**2).sum() + (one.intercept_**2).sum() for one in model.estimators_)
        objective = 0.5 * weights + settings.c * losses
        converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        return seconds, dict(accuracy=model.score(test, asked), objective=objective, converged=converged)

    return rbf if settings.machine == "rbf" else linear
