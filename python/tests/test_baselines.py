"""PCK, KernelPCA, KECA, Isomap and the SVMs, against scikit-learn or their definition."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition, manifold, svm
from sklearn.base import clone
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from dkae import KECA, PCK, Isomap, KernelPCA, KernelSVC, LinearSVC


def same_but_for_signs(a, b, tolerance):
    signs = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(a * signs, b, atol=tolerance)


def test_the_pck_is_the_product_of_its_posteriors(blobs):
    x, y = blobs
    pck = PCK(n_restarts=4, max_components=7).fit(x)
    f = pck.transform(x)
    assert sparse.issparse(f) and f.dtype == np.float32
    # 4 starts of mixtures with 2 to 7 components.
    assert f.shape == (240, 4 * (2 + 3 + 4 + 5 + 6 + 7)) and pck.n_mixtures_ == 24
    assert len(pck.get_feature_names_out()) == f.shape[1]
    # Posteriors of a mixture sum to one, and there are 24 of them.
    np.testing.assert_allclose(f.sum(axis=1) * np.sqrt(24), 24, atol=1e-3)
    np.testing.assert_allclose(pck.kernel(x[:50], x), (f[:50] @ f.T).toarray(), atol=1e-5)
    np.testing.assert_array_equal(pck.kernel(x), pck.kernel(x, x))
    k = pck.kernel(x)
    assert k[np.equal.outer(y, y)].mean() > 3 * k[~np.equal.outer(y, y)].mean()
    assert PCK(n_restarts=1, max_components=30).fit(x[:8]).n_mixtures_ == 3, "at most half of the rows"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_restarts": 0}, "n_restarts"),
        ({"max_components": 1}, "max_components"),
        ({"covariance_type": "full"}, "covariance_type: expected one of diag"),
        ({"floor": "much"}, "floor: expected a number or a share"),
        ({"floor": 0}, "floor"),
        ({"floor": "15"}, "floor: expected a number or a share such as '15%', above 0, found '15'"),
        ({"floor": "0%"}, "floor: expected a number or a share"),
        ({"floor": "nan%"}, "floor: expected a number or a share"),
        ({"init": "far"}, "init"),
        ({"max_iter": 0}, "max_iter"),
        ({"floor": 1e300}, r"floor: expected from 1e-30 to 1e\+30, found 1e\+300"),
        ({"floor": np.float32(1e-35)}, r"floor: expected from 1e-30 to 1e\+30, found 1e-35"),
        ({"floor": "1e300%"}, r"floor: expected from 1e-30 to 1e\+30, found '1e300%'"),
    ],
)
def test_bad_parameters_of_a_pck_are_named(parameters, words, blobs):
    with pytest.raises(ValueError, match=words):
        PCK(**parameters).fit(blobs[0])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"kernel": "rbf", "kernel_params": {"gamma": 0.1}}, {"kernel": "rbf", "gamma": 0.1}),
        (
            {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.1, "coef0": 1.0}},
            {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0},
        ),
        ({"kernel": "linear"}, {"kernel": "linear"}),
        ({"kernel": "cosine"}, {"kernel": "cosine"}),
    ],
)
def test_kernel_pca_agrees_with_scikit_learn(ours, theirs, blobs):
    x, _ = blobs
    model = KernelPCA(3, tol=1e-5, **ours).fit(x[:200])
    reference = decomposition.KernelPCA(3, **theirs).fit(x[:200].astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-4)
    scale = np.sqrt(reference.eigenvalues_[0])
    same_but_for_signs(model.transform(x) / scale, reference.transform(x) / scale, 1e-4)
    same_but_for_signs(model.fit_transform(x[:200]) / scale, reference.transform(x[:200]) / scale, 1e-4)


def test_kernel_pca_of_a_pck_is_that_of_its_matrix(blobs):
    x, _ = blobs
    pck = PCK(n_restarts=3, max_components=8).fit(x)
    model = KernelPCA(4, kernel=pck, tol=1e-5).fit(x[:200])
    matrix = pck.kernel(x).astype(np.float64)
    reference = decomposition.KernelPCA(4, kernel="precomputed").fit(matrix[:200, :200])
    same_but_for_signs(model.transform(x), reference.transform(matrix[:, :200]), 1e-3)
    assert hasattr(clone(model).fit(x), "model_")


def test_entropy_components_are_ranked_by_their_contribution(blobs):
    x, _ = blobs
    sigma = 1.5
    values, vectors = np.linalg.eigh(rbf_kernel(x.astype(np.float64), gamma=0.5 / sigma**2))
    terms = values * vectors.sum(axis=0) ** 2
    best = np.argsort(-terms)[:3]
    model = KECA(3, kernel_params={"sigma": sigma}, n_candidates=240, tol=1e-5).fit(x)
    np.testing.assert_allclose(model.contributions_, terms[best], rtol=1e-3)
    np.testing.assert_array_equal(model.ranks_, 239 - best)
    same_but_for_signs(model.transform(x), vectors[:, best] * np.sqrt(values[best]), 1e-3)
    assert model.exact_


@pytest.mark.parametrize(("method", "what"), [(KernelPCA, "component"), (partial(KECA, n_candidates=40), "candidate")])
@pytest.mark.parametrize("kernel", ["rbf", "pck"])
def test_eigenpairs_that_were_not_found_are_warned_of(method, what, kernel, blobs):
    # So few that they are searched for: a third of the eigenpairs and more are found by decomposing the whole matrix.
    x, _ = blobs
    with pytest.warns(ConvergenceWarning, match=f"not every {what} was found .* in 1 iterations; raise max") as told:
        model = method(3, kernel=kernel, max_iter=1, tol=1e-12).fit(x)
    assert told[0].filename == __file__
    assert not getattr(model, "exact_", False), "eigenpairs that are not known cannot be ranked"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(3, kernel=kernel).fit(x)


def test_isomap_with_all_landmarks_agrees_with_scikit_learn():
    x, _ = make_swiss_roll(400, random_state=1)
    ours = Isomap(n_neighbors=8).fit(x)
    reference = manifold.Isomap(n_neighbors=8).fit(x)
    same_but_for_signs(ours.embedding_ / 10, reference.embedding_ / 10, 1e-2)
    same_but_for_signs(ours.transform(x[:50]) / 10, reference.transform(x[:50]) / 10, 2e-2)
    with pytest.warns(UserWarning, match="in 2 pieces"):
        Isomap(n_neighbors=3).fit(np.concatenate([x[:50], x[:50] + 1000]))
    with pytest.raises(ValueError, match="n_neighbors"):
        Isomap(n_neighbors=9).fit(x[:9])


@pytest.mark.parametrize("estimator", [KernelPCA(), KECA(), Isomap(n_neighbors=12)], ids=str)
def test_what_was_fitted_is_apart_from_the_callers_rows(estimator, blobs):
    x = blobs[0].copy()
    estimator.fit(x)
    before = estimator.transform(blobs[0])
    x[:] = 0
    np.testing.assert_array_equal(estimator.X_fit_, blobs[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).transform(blobs[0]), before)


def test_what_was_fitted_is_apart_from_parameters_set_later(blobs):
    x, _ = blobs
    isomap = Isomap(n_neighbors=12).fit(x)
    before = isomap.transform(x + 0.1)
    isomap.set_params(n_neighbors=3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(isomap)).transform(x + 0.1), before)
    pck = PCK(n_restarts=4, max_components=7).fit(x).set_params(n_restarts=3)
    assert len(pck.get_feature_names_out()) == pck.transform(x).shape[1]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_svc_agrees_with_scikit_learn(loss, classes, blobs):
    x, y = blobs
    x, y = x[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    settings = {"C": 0.3, "loss": loss, "tol": 1e-8, "max_iter": 100_000}
    ours = LinearSVC(**settings).fit(x, y)
    reference = svm.LinearSVC(**settings, dual=True, random_state=0).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(x), reference.predict(x))
    origin = LinearSVC(fit_intercept=False).fit(x, y)
    assert (origin.intercept_ == 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_svc_agrees_with_scikit_learn(classes, blobs):
    x, y = blobs
    x, y = x[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    ours = KernelSVC(C=2.0, tol=1e-6).fit(x, y)
    reference = svm.SVC(C=2.0, tol=1e-6).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(ours.decision_function(x), reference.decision_function(x), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(x), reference.predict(x))
    # Rows whose multiplier is rounding may be counted by one and not by the other.
    assert abs(len(ours.support_) - len(reference.support_)) <= 3


def test_warnings_of_support_vector_machines_name_the_classes(blobs):
    x, y = blobs
    # Five features of noise beside 100 times as large ones: nothing is found in one step.
    x = np.random.default_rng(1).normal(size=x.shape) * [1, 10, 100, 1, 1]
    three, two = np.array(["oak", "elm", "fir"])[y], np.array([7, 40])[y % 2]

    def told(machine, y):
        with pytest.warns(ConvergenceWarning) as messages:
            machine.fit(x, y)
        return [str(message.message).split(":")[0] for message in messages]

    # Classes are in order of their names; a machine for two classes is about the second.
    assert told(LinearSVC(loss="hinge", max_iter=1, tol=1e-12), three) == ["class elm", "class fir", "class oak"]
    assert told(LinearSVC(loss="hinge", max_iter=1, tol=1e-12), two) == ["class 40"]
    pairs = ["classes elm and fir", "classes elm and oak", "classes fir and oak"]
    assert told(KernelSVC(max_iter=1, tol=1e-12), three) == pairs
    assert told(KernelSVC(max_iter=1, tol=1e-12), two) == ["classes 7 and 40"]


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (KernelPCA(kernel_params=5), "kernel_params: expected a dict or None, found 5"),
        (KernelPCA(kernel=np.eye(3)), r"kernel: .* found an array of shape \(3, 3\)"),
        (KernelPCA(kernel=PCK), r"kernel: .* or a PCK, found the class PCK, which has to be called: PCK\(\)"),
        (KernelPCA(centre="no"), "centre: expected True or False"),
        (KernelSVC(kernel="poly", kernel_params={"degree": 2.5}), r"kernel_params\['degree'\]: expected a whole"),
        (LinearSVC(fit_intercept="no"), "fit_intercept: expected True or False"),
    ],
)
def test_bad_parameters_of_the_others_are_named(estimator, words, blobs):
    with pytest.raises(ValueError, match=words):
        estimator.fit(*blobs)


def test_numbers_of_numpy_are_numbers(blobs):
    x, _ = blobs
    params = {"degree": np.int64(2), "gamma": np.float32(0.5), "coef0": np.int32(1)}
    want = KernelPCA(kernel="poly", kernel_params={"degree": 2, "gamma": 0.5, "coef0": 1}).fit_transform(x)
    got = KernelPCA(kernel="poly", kernel_params=params, centre=np.True_).fit_transform(x)
    np.testing.assert_array_equal(got, want)


def test_a_kernel_tells_moons_apart():
    x, y = make_moons(300, noise=0.1, random_state=0)
    assert KernelSVC(C=10).fit(x[:200], y[:200]).score(x[200:], y[200:]) > 0.95
    assert KernelSVC(C=10, kernel=PCK(n_restarts=5)).fit(x[:200], y[:200]).score(x[200:], y[200:]) > 0.95
    with pytest.raises(ValueError, match="kernel: expected one of pck"):
        KernelSVC(kernel="sigmoid").fit(x, y)
