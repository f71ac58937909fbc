"""Support vector machines by scikit-learn (src/svm.rs)."""
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC


def prepare(settings):
    x = np.load(settings.x, mmap_mode="r")[: settings.all].copy()
    y = np.load(settings.labels)[: settings.all, 0].astype(np.int64)
    train, known = x[: settings.train], y[: settings.train]
    test, asked = x[settings.test :], y[settings.test :]

    def rbf():
        model = SVC(C=settings.c, gamma=settings.gamma, cache_size=4000)
        begin = time.perf_counter()
        model.fit(train, known)
        fitted = time.perf_counter()
        accuracy = model.score(test, asked)
        return fitted - begin, dict(accuracy=accuracy, predict_seconds=time.perf_counter() - fitted)

    def linear():
        squared = settings.machine == "squared-hinge"
        model = LinearSVC(C=settings.c, loss="squared_hinge" if squared else "hinge", dual="auto" if squared else True, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            begin = time.perf_counter()
            model.fit(train, known)
            seconds = time.perf_counter() - begin
        signs = np.where(known[:, None] == model.classes_, 1, -1)
        inside = np.maximum(0, 1 - signs * model.decision_function(train))
        losses = (inside**2).sum() if squared else inside.sum()
        objective = 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) + settings.c * losses
        converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        return seconds, dict(accuracy=model.score(test, asked), objective=objective, converged=converged)

    return rbf if settings.machine == "rbf" else linear
