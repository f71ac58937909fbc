"""DKAE: what it computes, what it takes, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import code_loss, decode_by_hand, encode_by_hand, run_python
from dkae import DKAE, PCK, LinearSVC
from dkae._base import take_rows
from dkae._core import Model


def test_codes_follow_the_formula_and_decoding_inverts_the_scaling(blobs, small):
    x, _ = blobs
    model = DKAE(**small).fit(x)
    codes = model.transform(x)
    np.testing.assert_allclose(codes, encode_by_hand(model.model_.to_bytes(), x), atol=1e-5)
    np.testing.assert_array_equal(model.inverse_transform(codes), model.reconstruct(x))
    np.testing.assert_allclose(model.reconstruct(x), decode_by_hand(model.model_.to_bytes(), codes), atol=1e-4)


def test_training_reaches_the_kernel_and_the_rows(blobs):
    x, _ = blobs
    model = DKAE((50,), 20, kernel="rbf", kernel_params={"median_fraction": 1.0}, max_steps=800, pretrain_steps=100)
    model.fit(x)
    assert model.alignment_ > 0.99
    assert model.losses_["train.reconstruction"] < 0.1
    history = model.history_
    assert history["step"][-1] == 2 * 100 + 800 and (np.diff(history["step"]) > 0).all()
    tuned = history["phase"] == 2
    assert history["code"][tuned][-1] < 0.5 * history["code"][tuned][0]


def test_score_is_the_negative_total_loss(blobs, small):
    x, y = blobs
    train, held = x[:160], x[160:]
    gamma = 0.05
    model = DKAE(**{**small, "kernel_params": {"gamma": gamma}, "scale": "none", "lam": 0.3}).fit(train)
    codes = model.transform(held).astype(np.float64)
    reconstruction = np.mean((held - model.inverse_transform(codes).astype(np.float64)) ** 2)
    code = code_loss(codes @ codes.T, rbf_kernel(held.astype(np.float64), gamma=gamma))
    assert model.score(held) == pytest.approx(-(0.7 * reconstruction + 0.3 * code), rel=1e-4)
    np.testing.assert_allclose(model.prior_kernel(held), rbf_kernel(held, gamma=gamma), atol=1e-5)


def test_the_alignment_is_the_cosine_of_both_kernels(blobs, small):
    x, _ = blobs
    model = DKAE(**small).fit(x)
    codes = model.transform(x).astype(np.float64)
    c, p = codes @ codes.T, model.prior_kernel(x).astype(np.float64)
    assert model.alignment_ == pytest.approx((c * p).sum() / np.linalg.norm(c) / np.linalg.norm(p), abs=1e-5)


@pytest.mark.parametrize("kernel", ["pck", "rbf", "linear", "poly", "cosine", "ideal"])
def test_every_kernel_by_name(kernel, blobs, small):
    x, y = blobs
    model = DKAE(**{**small, "kernel": kernel, "kernel_params": None}).fit(x, y)
    assert model.transform(x).shape == (240, 4)
    assert -2 < model.score(x, y) < 0
    if kernel == "ideal":
        np.testing.assert_array_equal(model.prior_kernel(x, y), np.equal.outer(y, y))


def test_a_matrix_a_function_and_a_name_for_the_same_kernel_agree(blobs, small):
    x, _ = blobs
    settings = {**small, "scale": "none"}
    named = DKAE(**{**settings, "kernel_params": {"gamma": 0.05}}).fit(x)
    seen = []

    def function(a, b):
        seen.append((a.shape, b.shape, a.dtype))
        return rbf_kernel(a, b, gamma=0.05)

    called = DKAE(**{**settings, "kernel": function, "kernel_params": None}).fit(x)
    matrix = rbf_kernel(x, gamma=0.05)
    given = DKAE(**{**settings, "kernel": "precomputed", "kernel_params": None}).fit(x, K=matrix)
    for other in (called, given):
        np.testing.assert_allclose(other.transform(x), named.transform(x), atol=2e-3)
    assert given.score(x, K=matrix) == pytest.approx(named.score(x), abs=1e-3)
    assert called.score(x) == pytest.approx(named.score(x), abs=1e-3)
    # Batches of rows against themselves, as float32.
    assert ((200, 5), (200, 5), np.float32) in seen


def test_a_function_sees_rows_as_they_are_in_x(blobs, small):
    x, _ = blobs
    known = {row.tobytes() for row in x}

    def function(a, b):
        assert all(row.tobytes() in known for row in (*a, *b))
        return a @ b.T

    DKAE(**{**small, "kernel": function, "kernel_params": None, "scale": "standard"}).fit(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda a, b: np.ones((2, 3)), "an array of shape"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "not finite"),
        (lambda a, b: 1 / 0, "division by zero"),
        (lambda a, b: "no", "could not convert"),
    ],
)
def test_a_function_that_fails_ends_training_with_its_error(function, words, blobs, small):
    model = DKAE(**{**small, "kernel": function, "kernel_params": None})
    with pytest.raises((ValueError, ZeroDivisionError), match=words):
        model.fit(blobs[0])
    assert not hasattr(model, "model_")


def test_a_pck_is_used_as_it_is_or_fitted(blobs, small):
    x, _ = blobs
    pck = PCK(n_restarts=3, max_components=6).fit(x[:100])
    model = DKAE(**{**small, "kernel": pck, "kernel_params": None}).fit(x)
    np.testing.assert_array_equal(model.prior_kernel(x[:9]), pck.kernel(x[:9]))
    # A clone has an unfitted one, which is fitted on the rows; a frozen one stays.
    fresh = clone(model)
    assert not hasattr(fresh.kernel, "kernel_")
    fresh.fit(x)
    assert not hasattr(fresh.kernel, "kernel_")
    np.testing.assert_array_equal(fresh.prior_kernel(x[:9]), clone(pck).fit(x).kernel(x[:9]))
    frozen = clone(DKAE(**{**small, "kernel": FrozenEstimator(pck), "kernel_params": None})).fit(x)
    np.testing.assert_array_equal(frozen.prior_kernel(x[:9]), pck.kernel(x[:9]))


def test_every_kind_of_rows_gives_the_same_codes(blobs, small):
    x, _ = blobs
    x = np.where(np.abs(x) < 0.5, 0, x).astype(np.float32)
    want = DKAE(**small).fit(x).transform(x)
    names = list("abcde")
    wide = np.zeros((240, 10), np.float32)
    wide[:, ::2] = x
    kinds = {
        "float64": x.astype(np.float64),
        "fortran": np.asfortranarray(x),
        "strided": wide[:, ::2],
        "reversed": x[::-1][::-1],
        "list": x.tolist(),
        "read-only": np.frombuffer(x.tobytes(), np.float32).reshape(x.shape),
        "pandas": pd.DataFrame(x, columns=names),
        "polars": pl.DataFrame(x, schema=names),
        "csr": sparse.csr_matrix(x),
        "csc array": sparse.csc_array(x.astype(np.float64)),
    }
    for name, rows in kinds.items():
        model = DKAE(**small).fit(rows)
        np.testing.assert_array_equal(model.transform(rows), want, err_msg=name)
        if name in ("pandas", "polars"):
            assert list(model.feature_names_in_) == names


def test_float32_rows_are_passed_without_a_copy(blobs):
    x, _ = blobs
    for rows in (x, x[::2], x[::-1], x[:, 1:4]):
        assert np.shares_memory(take_rows(DKAE(), rows, reset=True), rows)
    # And the core makes none either: 200 MB of rows are encoded in a few more.
    code = """
import resource, numpy as np
from dkae import DKAE
x = np.random.default_rng(0).random((800_000, 64), dtype=np.float32)
model = DKAE((8,), 2, lam=0, max_steps=2, pretrain_steps=1).fit(x[:1000])
model.transform(x[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.model_.encode(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    assert int(run_python(code)) < 100


def test_seeds_decide_everything(blobs, small):
    x, _ = blobs
    codes = [DKAE(**small, random_state=seed).fit_transform(x) for seed in (1, 1, 2, np.random.RandomState(3))]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert np.abs(codes[0] - codes[2]).max() > 0.1 and np.abs(codes[0] - codes[3]).max() > 0.1


def test_defaults_are_the_librarys(blobs):
    x, _ = blobs
    model = DKAE(max_steps=2, pretrain_steps=1, kernel_params={"n_restarts": 1}).fit(x)
    assert model.layers_ == (50, 50, 200, 200)
    assert DKAE(n_codes=7, lam=0, max_steps=2, pretrain_steps=1).fit(x).layers_ == (50, 50, 200, 7)
    assert DKAE(hidden=(9,), lam=0, max_steps=2, pretrain_steps=1).fit(x).layers_ == (9, 200)


def test_pictures_keep_their_contrast(digits):
    x, _ = digits
    settings = {"hidden": (16,), "n_codes": 4, "lam": 0, "max_steps": 5, "pretrain_steps": 2}
    model = DKAE(**settings, image_shape=(28, 28)).fit(x)
    assert model.reconstruct(x).min() >= 0 and model.reconstruct(x).max() <= 255
    with pytest.raises(ValueError, match="image_shape"):
        DKAE(**settings, image_shape=(28, 27)).fit(x)


def test_partial_fit_goes_on_with_more_rows(blobs, small):
    x, _ = blobs
    model = DKAE(**small).partial_fit(x[:120])
    before, steps = model.score(x), model.history_["step"][-1]
    once = DKAE(**small).fit(x[:120])
    np.testing.assert_array_equal(model.transform(x), once.transform(x))
    offset = model.prior_kernel(x[:5])
    for _ in range(3):
        model.partial_fit(x[120:], steps=100)
    assert model.score(x) > before + 0.1 * abs(before)
    assert model.history_["step"][-1] == steps + 300
    np.testing.assert_array_equal(model.prior_kernel(x[:5]), offset)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, :3])


def test_steps_of_the_history_are_counted_through_all_phases_and_calls(blobs, small):
    x, _ = blobs
    # Records are every third step of 600, so that the first of a phase may be beyond the last of a shorter one before.
    model = DKAE(**{**small, "pretrain_steps": 2, "max_steps": 600}).fit(x)
    steps = model.history_["step"]
    assert steps[:6].tolist() == [1, 2, 3, 4, 7, 10] and steps[-1] == 2 + 2 + 600
    for more in (2, 600, 1):
        model.partial_fit(x, steps=more)
    np.testing.assert_array_equal(model.history_["step"][: len(steps)], steps)
    later = model.history_["step"][len(steps) :]
    assert later[:4].tolist() == [605, 606, 609, 612] and later[-2:].tolist() == [604 + 602, 604 + 603]
    assert model.fit(x).history_["step"][-1] == 604


def test_rows_set_aside_choose_the_weights(blobs, small):
    x, y = blobs
    settings = {**small, "max_steps": 1000, "learning_rate": 0.05, "validation_fraction": 0.25}
    model = DKAE(**settings).fit(x)
    tuned = model.history_["phase"] == len(model.layers_)
    held = model.history_["validation_code"][tuned]
    assert np.isfinite(held).sum() == 4
    assert np.isfinite(model.history_["validation_reconstruction"][~tuned]).any()
    total = 0.9 * model.history_["validation_reconstruction"][tuned] + 0.1 * held
    kept = 0.9 * model.losses_["validation.reconstruction"] + 0.1 * model.losses_["validation.code"]
    assert kept == pytest.approx(np.nanmin(total), rel=1e-5)
    # What is known about rows is split with them.
    ideal = {**settings, "kernel": "ideal", "kernel_params": None, "max_steps": 250}
    by_class = DKAE(**ideal).fit(x, y)
    matrix = np.equal.outer(y, y).astype(float)
    by_matrix = DKAE(**{**ideal, "kernel": "precomputed"}).fit(x, K=matrix)
    np.testing.assert_array_equal(by_class.transform(x), by_matrix.transform(x))


def test_a_callback_sees_every_step_and_may_stop(blobs, small):
    x, _ = blobs
    seen = []

    def callback(step, losses):
        seen.append((step, losses))
        return step == 50

    model = DKAE(**small, callback=callback).fit(x)
    assert [step for step, _ in seen] == list(range(1, 51))
    assert seen[0][1]["phase"] == "pretraining layer 1 of 2" and seen[-1][1]["phase"] == "fine-tuning"
    losses = seen[-1][1]
    assert losses["total"] == pytest.approx(0.9 * losses["reconstruction"] + 0.1 * losses["code"])
    assert model.history_["step"][-1] == 50 and model.transform(x).shape == (240, 4)

    # Counted through all calls, as the history is.
    seen.clear()
    model.partial_fit(x, steps=5)
    assert [step for step, _ in seen] == [51, 52, 53, 54, 55] == model.history_["step"][-5:].tolist()

    def broken(step, losses):
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        DKAE(**small, callback=broken).fit(x)


def test_the_progress_bar_shows_phases_and_losses(blobs, small, capfd):
    DKAE(**small, verbose=1).fit(blobs[0])
    shown = capfd.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 3 and lines[0].startswith("pretraining layer 1 of 2")
    assert "60/60" in lines[2] and "L_r" in lines[2] and "L_c" in lines[2]


def test_the_progress_bar_is_one_line_in_a_terminal(blobs):
    import os
    import pty

    code = """
import numpy as np
from dkae import DKAE
x = np.random.default_rng(0).random((300, 8), dtype=np.float32)
DKAE((50,), 20, kernel="linear", max_steps=1500, pretrain_steps=2, verbose=1).fit(x)
"""
    import subprocess
    import sys

    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=slave) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(master)
    # A terminal's end of line is both; a return alone goes back to write over the line.
    first, second, third, rest = shown.decode().replace("\r\n", "\n").split("\n")
    assert "\rpretraining layer 1 of 2" in first and "\rpretraining layer 2 of 2" in second and rest == ""
    drawn = third.split("\r")
    assert drawn[0] == "" and len(drawn) > 2 and all(line.startswith("fine-tuning") for line in drawn[1:])
    assert "1500/1500" in drawn[-1]


def test_pipelines_searches_and_frames(blobs, small):
    x, y = blobs
    pipeline = make_pipeline(StandardScaler(), DKAE(**small, scale="none"), LinearSVC())
    assert pipeline.fit(x, y).score(x, y) > 0.9
    search = GridSearchCV(DKAE(**small), {"n_codes": [1, 6], "lam": [0.1]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(x)
    # One number cannot hold what six can.
    assert search.best_params_["n_codes"] == 6 and (search.cv_results_["mean_test_score"] < 0).all()
    model = DKAE(**small).set_output(transform="pandas").fit(pd.DataFrame(x, columns=list("abcde")))
    frame = model.transform(pd.DataFrame(x, columns=list("abcde"), index=range(5, 245)))
    assert list(frame.columns) == ["dkae0", "dkae1", "dkae2", "dkae3"] and frame.index[0] == 5
    assert list(model.get_feature_names_out()) == list(frame.columns)
    polars = DKAE(**small).set_output(transform="polars").fit_transform(x)
    assert isinstance(polars, pl.DataFrame) and polars.shape == (240, 4)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lam": 1.5}, "lam: expected a number from 0 to 1"),
        ({"lam": -1}, "lam: expected"),
        ({"hidden": (5, 0)}, "hidden: expected a whole number"),
        ({"n_codes": 2.5}, "n_codes: expected a whole number"),
        ({"max_steps": -1}, "max_steps"),
        ({"batch_size": 1}, "batch_size"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"activation": "swish"}, "activation: expected one of relu"),
        ({"scale": "big"}, "scale: expected one of auto"),
        ({"noise": "mask"}, "noise: expected None"),
        ({"noise": "mask:2"}, "noise"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"patience": 0}, "patience"),
        ({"kernel": "laplace", "kernel_params": None}, "kernel: expected one of pck"),
        ({"kernel": 3, "kernel_params": None}, "kernel: expected one of pck"),
        ({"kernel_params": {"width": 3}}, "the kernel 'rbf' has gamma, sigma, median_fraction; found 'width'"),
        ({"kernel_params": {"gamma": 1, "sigma": 1}}, "exclude each other"),
        ({"kernel_params": {"gamma": -1}}, "gamma"),
        ({"kernel": "ideal", "kernel_params": None}, "y is None"),
        ({"kernel": "precomputed", "kernel_params": None}, "needs the kernel matrix"),
        ({"random_state": -1}, "random_state"),
        ({"activation": np.eye(2)}, "activation: expected one of relu"),
        ({"noise": "gauss:nan"}, "noise: expected None"),
        ({"tied": "no"}, "tied: expected True or False, found 'no'"),
        ({"callback": 5}, "callback: expected a function"),
        ({"image_shape": 5}, "image_shape: expected height and width"),
        ({"image_shape": "15"}, "image_shape: expected height and width"),
        ({"image_shape": (2.5, 2)}, "image_shape: expected height and width"),
        ({"image_shape": (-1, -5)}, "image_shape: expected height and width"),
        ({"kernel": np.eye(3), "kernel_params": None}, r"kernel: .* found an array of shape \(3, 3\); a kernel matrix"),
        ({"kernel_params": 5}, "kernel_params: expected a dict or None, found 5"),
        ({"kernel_params": ["gamma"]}, "kernel_params: expected a dict"),
        ({"kernel": "poly", "kernel_params": {"degree": 2.5}}, r"kernel_params\['degree'\]: expected a whole number"),
        ({"kernel": "poly", "kernel_params": {"gamma": "a"}}, r"kernel_params\['gamma'\]: expected a number above 0"),
        ({"kernel": "poly", "kernel_params": {"coef0": None}}, r"kernel_params\['coef0'\]: expected a number"),
        ({"kernel": PCK, "kernel_params": None}, r"kernel: .* found the class PCK, which has to be called: PCK\(\)"),
        ({"lam": 1e-50}, "lam: is too small for float32, in which computation is, found 1e-50"),
        ({"lam": np.float64(1e-50)}, "lam: is too small for float32, in which computation is, found 1e-50"),
        ({"lam": 10**400}, r"lam: expected a number of at least 0, found about 2\*\*1328"),
        ({"weight_decay": 1e39}, r"weight_decay: is too large for float32, in which computation is, found 1e\+39"),
        ({"learning_rate": 1e-50}, "learning_rate: is too small for float32, in which computation is, found 1e-50"),
        ({"noise": "gauss:1e300"}, r"noise: is too large for float32, in which computation is, found 1e\+300"),
        ({"noise": "mask:1e-50"}, "noise: is too small for float32, in which computation is, found 1e-50"),
        ({"kernel": "poly", "kernel_params": {"coef0": 1e300}}, r"kernel_params\['coef0'\]: is too large for float32"),
        ({"kernel": "poly", "kernel_params": {"gamma": 1e-300}}, r"kernel_params\['gamma'\]: is too small for float32"),
        (
            {"kernel_params": {"median_fraction": 1e300}},
            r"kernel_params\['median_fraction'\]: is beyond float32, found 1e\+300, a width of 1e\+300 times",
        ),
        ({"patience": 3}, "patience: 3 looks at rows .* set validation_fraction, or patience to None"),
        ({"validation_fraction": 0.001}, "validation_fraction: 0.001 of 240 rows sets 0 aside.* raise it, bring more"),
        ({"validation_fraction": 0.005}, "validation_fraction: 0.005 of 240 rows sets 1 aside.* raise it, bring more"),
        ({"validation_fraction": 0.996}, "validation_fraction: 0.996 of 240 rows leaves 1 to learn from.* lower it"),
        ({"kernel": "pck", "kernel_params": {"restarts": 3}}, "the kernel 'pck' has .*n_restarts.*; found 'restarts'"),
    ],
)
def test_parameters_are_only_stored_and_fit_refuses_bad_ones(parameters, words, blobs, small):
    model = DKAE(**{**small, **parameters})
    assert all(model.get_params()[name] is value for name, value in parameters.items())
    with pytest.raises(ValueError, match=words):
        model.fit(blobs[0])


@pytest.mark.parametrize(
    "parameters", [{"n_codes": 10**7}, {"hidden": (10**7,), "n_codes": 1}, {"weight_decay": 11}, {"noise": "mask:2"}]
)
@pytest.mark.parametrize("kernel", ["pck", PCK()], ids=str)
def test_bad_parameters_are_refused_before_time_is_spent_on_the_kernel(kernel, parameters, blobs, small, monkeypatch):
    def spent(*arguments, **keywords):
        raise AssertionError("a kernel was fitted")

    monkeypatch.setattr("dkae._core.Kernel", spent)
    parts = {"automatic_layers": Model.automatic_layers, "check": Model.check, "fit": spent}
    monkeypatch.setattr("dkae._core.Model", type("Model", (), parts))
    with pytest.raises(ValueError, match="; the most is 1000000|weight_decay: expected|noise: expected"):
        DKAE(**{**small, "kernel": kernel, "kernel_params": None, **parameters}).fit(blobs[0])


def test_a_batch_is_never_more_than_the_rows_that_are_learned_from(blobs, small):
    x, _ = blobs
    # 240 rows of which a quarter is set aside.
    models = [DKAE(**small, validation_fraction=0.25, batch_size=size).fit(x) for size in (180, 200, 1000)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.transform(x), models[0].transform(x))


def test_bad_rows_are_refused_with_a_reason(blobs, small):
    x, _ = blobs
    with pytest.raises(NotFittedError):
        DKAE().transform(x)
    with pytest.raises(ValueError, match="NaN"):
        DKAE(**small).fit(np.where(x > 3, np.nan, x))
    with pytest.raises(ValueError, match="infinity or a value too large"), np.errstate(over="ignore"):
        DKAE(**small).fit(x.astype(np.float64) * 1e300)
    model = DKAE(**small).fit(x)
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.transform(x[:, :4])
    with pytest.raises(ValueError, match="4"):
        model.inverse_transform(x)
    precomputed = {**small, "kernel": "precomputed", "kernel_params": None}
    with pytest.raises(ValueError, match="K: expected shape"):
        DKAE(**precomputed).fit(x, K=np.eye(3))
    with pytest.raises(ValueError, match="symmetric"):
        DKAE(**precomputed).fit(x, K=np.triu(np.ones((240, 240))))
    with pytest.raises(ValueError, match="K: is for"):
        DKAE(**small).fit(x, K=np.eye(240))
