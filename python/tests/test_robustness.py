"""What a stranger may do: odd arrays, numbers of NumPy, too large a wish, parameters changed between two calls."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dkae
from common import run_python
from dkae import DKAE, KECA, PCK, Isomap, KernelPCA, KernelSVC, LinearSVC

QUICK = {"hidden": (8,), "n_codes": 3, "max_steps": 10, "pretrain_steps": 2}


def packed(x):
    """The same values as a field of packed records, 4 n + 1 bytes each: no stride is a multiple of 4."""
    records = np.zeros(len(x), dtype=[("values", "f4", x.shape[1]), ("flag", "u1")])
    records["values"] = x
    assert records["values"].strides[0] % 4
    return records["values"]


def shifted(x):
    """The same values, beginning one byte after a multiple of 4."""
    memory = np.zeros(x.nbytes + 1, dtype=np.uint8)
    rows = memory[1:].view(np.float32).reshape(x.shape)
    rows[:] = x
    assert not rows.flags.aligned
    return rows


@pytest.mark.parametrize("layout", [packed, shifted])
@pytest.mark.parametrize(
    "estimator",
    [
        DKAE(**QUICK, kernel="linear"),
        PCK(n_restarts=2),
        KernelPCA(),
        KECA(),
        Isomap(n_neighbors=12),
        LinearSVC(),
        KernelSVC(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_rows_between_whole_values_are_read_as_they_are(layout, estimator, blobs):
    x, y = blobs
    odd = layout(x)

    def results(model, rows):
        found = [getattr(model, name)(rows) for name in ("transform", "decision_function") if hasattr(model, name)]
        found += [model.kernel(rows)] if isinstance(model, PCK) else []
        if isinstance(model, DKAE):
            found += [model.reconstruct(rows), model.score(rows), model.prior_kernel(rows)]
            found += [model.inverse_transform(layout(found[0])), model.inverse_transform(found[0])]
            np.testing.assert_array_equal(found[-1], found[-2])
        return [value.toarray() if hasattr(value, "toarray") else value for value in found]

    want = results(estimator.fit(x, y), x)
    for got in (results(estimator, odd), results(estimator.fit(odd, y), odd)):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_every_number_may_be_one_of_numpy(blobs):
    x, _ = blobs
    plain = {
        "n_codes": 3, "max_steps": 10, "pretrain_steps": 2, "batch_size": 20, "patience": 2, "random_state": 5,
        "lam": 0.5, "weight_decay": 0.25, "learning_rate": 0.0078125, "validation_fraction": 0.25,
    }  # fmt: skip
    want = DKAE((8,), kernel="linear", **plain).fit(x)
    for whole, real in ((np.int64, np.float32), (np.uint8, np.float64)):
        numbers = {name: (whole if isinstance(value, int) else real)(value) for name, value in plain.items()}
        model = DKAE(np.array([8]), kernel="linear", verbose=np.int64(0), **numbers).fit(x)
        np.testing.assert_array_equal(model.transform(x), want.transform(x))
        assert model.score(x) == want.score(x)


def test_numbers_beyond_all_use_are_refused(blobs):
    for name in ("n_codes", "max_steps", "batch_size", "random_state"):
        with pytest.raises(ValueError, match=f"{name}: expected a"):
            DKAE(**{**QUICK, "kernel": "linear", name: 2**70}).fit(blobs[0])
    with pytest.raises(ValueError, match="verbose: expected a whole number"):
        DKAE(**QUICK, kernel="linear", verbose="yes").fit(blobs[0])


FAILING = [
    (DKAE(**QUICK, kernel="linear"), {"scale": "bad"}),
    (DKAE(**QUICK, kernel="linear"), {"callback": lambda step, losses: 1 / 0}),
    (PCK(n_restarts=2), {"n_restarts": 0}),
    (KernelPCA(), {"n_components": 0}),
    (KECA(), {"n_candidates": 0}),
    (Isomap(n_neighbors=12), {"n_components": 0}),
    (LinearSVC(), {"loss": "x"}),
    (KernelSVC(), {"kernel": "x"}),
]


@pytest.mark.parametrize(("estimator", "bad"), FAILING, ids=lambda value: str(value)[:30])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(estimator, bad, blobs):
    x, y = blobs
    good = estimator.get_params(deep=False)
    apply = "predict" if hasattr(estimator, "predict") else "transform"
    estimator.set_params(**bad)
    with pytest.raises((ValueError, ZeroDivisionError)):
        estimator.fit(x, y)
    with pytest.raises(NotFittedError):
        getattr(estimator, apply)(x)
    estimator.set_params(**good).fit(x, y)
    want = getattr(estimator, apply)(x)
    with pytest.raises((ValueError, ZeroDivisionError)):
        estimator.set_params(**bad).fit(x[:, :3], y)
    got = getattr(estimator, apply)(x)
    np.testing.assert_array_equal(*(v.toarray() if hasattr(v, "toarray") else v for v in (got, want)))


def test_what_has_no_room_is_a_memory_error():
    code = """
import numpy as np
from dkae import DKAE, PCK, KernelPCA
x = np.zeros((3_000_000, 2), dtype=np.float32)
x[:, 0] = np.arange(len(x)) % 7
quick = dict(max_steps=1, pretrain_steps=0, kernel="linear")
model = DKAE((2,), 2, **quick).fit(x[:50])
pck = PCK(n_restarts=1, max_components=3).fit(x[:50])
wide = np.random.default_rng(0).random((50, 60_000), dtype=np.float32)
for work in (
    lambda: pck.kernel(x),
    lambda: model.prior_kernel(x),
    lambda: DKAE((900_000,), 2, **quick).fit(wide),
    lambda: DKAE((2,), 900_000, **quick).fit(x[:50]).transform(x),
):
    try:
        work()
        print("done")
    except MemoryError as error:
        print(error)
print("alive", model.transform(x[:5]).shape)
"""
    lines = run_python(code).splitlines()
    assert lines[-1] == "alive (5, 2)" and "done" not in lines, lines
    assert sum("3000000 x 3000000 numbers take 36000.0 GB" in line for line in lines) == 2
    assert lines[2].startswith("hidden, n_codes: training layers of [900000, 2] on 60000 features takes 864 GB")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("activation", "tanh"), ("code_activation", "sigmoid"), ("output_activation", "tanh"), ("tied", False),
        ("hidden", (3,)), ("n_codes", 9), ("scale", "none"), ("kernel", "ideal"), ("kernel_params", {"gamma": 1.0}),
    ],
)  # fmt: skip
def test_parameters_that_were_settled_by_the_fit_are_not_changed_in_passing(name, value, blobs):
    x, y = blobs
    model = DKAE(**QUICK, kernel="rbf", scale="standard").fit(x)
    before = model.model_.to_bytes()
    model.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name}: the model was fitted with"):
        model.partial_fit(x, y)
    if name.startswith("kernel"):
        for work in (model.score, model.prior_kernel):
            with pytest.raises(ValueError, match=f"{name}: the model was fitted with"):
                work(x, y)
    assert model.model_.to_bytes() == before
    # What means the same is the same, and what training is about may change.
    again = DKAE(**QUICK, kernel="rbf").fit(x)
    again.set_params(hidden=[8], lam=0.3, learning_rate=1e-3).partial_fit(x, steps=2)
    assert again.score(x) < 0


def test_parameters_within_those_settled_by_the_fit_are_not_changed_either(blobs):
    x, _ = blobs
    model = DKAE(**QUICK, kernel=PCK(n_restarts=2, max_components=4)).fit(x)
    before = model.model_.to_bytes()
    model.set_params(kernel__n_restarts=9)
    for work in (model.partial_fit, model.score, model.prior_kernel):
        with pytest.raises(ValueError, match="kernel__n_restarts: the model was fitted with 2, and it is 9 now"):
            work(x)
    assert model.model_.to_bytes() == before
    assert pickle.loads(pickle.dumps(model)).set_params(kernel__n_restarts=2).partial_fit(x, steps=1).score(x) < 0
    named = DKAE(**QUICK, kernel="rbf", kernel_params={"gamma": 1.0}).fit(x)
    named.kernel_params["gamma"] = 2.0
    with pytest.raises(ValueError, match="kernel_params: the model was fitted with {'gamma': 1.0}, and it is"):
        named.partial_fit(x)


@pytest.mark.parametrize("count", [-1, 1025, 10**6, 2**70, 1.5, "two", None, True])
def test_a_number_of_threads_that_cannot_be_is_refused(count):
    before = dkae.get_threads()
    with pytest.raises(ValueError, match="^count: expected"):
        dkae.set_threads(count)
    assert dkae.get_threads() == before


def test_values_that_float32_merges_are_warned_of(blobs):
    x = blobs[0].astype(np.float64)
    times = np.c_[1.7e9 + np.arange(len(x)), x]
    with pytest.warns(UserWarning, match="column 0: computation is in float32, which keeps steps of 128"):
        DKAE(**QUICK, kernel="linear").fit(times)
    with pytest.warns(UserWarning, match="column 0: computation is in float32"):
        PCK(n_restarts=1).fit(times.astype(np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DKAE(**QUICK, kernel="linear").fit(times - times.mean(axis=0))
        DKAE(**QUICK, kernel="linear").fit(np.c_[x, np.full(len(x), 1e9)])


def test_the_warning_of_merged_values_names_what_helps(blobs):
    x = 1e8 + blobs[0].astype(np.float64)
    plain = DKAE(**QUICK, kernel="rbf")
    with pytest.warns(UserWarning, match=r"subtract their mean first \(StandardScaler does\)") as warned:
        plain.fit(x)
    assert warned[0].filename == __file__
    # Values differ by a few, and float32 has steps of 8 there.
    assert len(np.unique(plain.transform(x), axis=0)) < 50
    helped = make_pipeline(StandardScaler(), DKAE(**QUICK, kernel="rbf"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = helped.fit_transform(x)
    assert len(np.unique(codes, axis=0)) == len(x)
    with pytest.warns(UserWarning, match=r"subtract their mean first \(StandardScaler does\)") as warned:
        PCK(n_restarts=1).fit(x)
    assert warned[0].filename == __file__


def test_a_matrix_that_is_no_kernel_is_warned_of(blobs):
    x, _ = blobs
    with pytest.warns(UserWarning, match="K: the kernel matrix is not positive semi-definite"):
        DKAE(**QUICK, kernel="precomputed").fit(x, K=-(x @ x.T))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DKAE(**QUICK, kernel="precomputed").fit(x, K=x @ x.T)


def test_other_threads_run_while_a_kernel_matrix_is_looked_through():
    code = """
import threading, time
import numpy as np
from dkae import DKAE
n = 5000
x, matrix = np.random.default_rng(0).random((n, 5), dtype=np.float32), np.eye(n, dtype=np.float32)
gaps, stop = [0.0], threading.Event()
def tick():
    last = time.monotonic()
    while not stop.is_set():
        time.sleep(0.005)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
thread = threading.Thread(target=tick)
thread.start()
began = time.monotonic()
DKAE((4,), 2, kernel="precomputed", max_steps=1, pretrain_steps=0).fit(x, K=matrix)
seconds = time.monotonic() - began
stop.set()
thread.join()
print(max(gaps) / seconds)
"""
    # With the lock held, the other thread would wait for most of it.
    assert float(run_python(code)) < 0.5


def test_where_there_is_no_code_loss_it_is_not_a_number(blobs, capfd):
    x, _ = blobs
    seen = []
    listening = {**QUICK, "callback": lambda step, losses: seen.append(losses), "verbose": 1}
    model = DKAE(**listening, kernel="linear", validation_fraction=0.2).fit(x)
    below = model.history_["phase"] == 0
    assert np.isnan(model.history_["code"][below]).all() and np.isfinite(model.history_["code"][~below]).all()
    assert np.isnan(model.history_["validation_code"][below]).all()
    assert [np.isnan(losses["code"]) for losses in seen] == [True] * 2 + [False] * 12
    assert all(np.isfinite(losses["total"]) for losses in seen)
    lines = capfd.readouterr().err.splitlines()
    assert ["L_c" in line for line in lines] == [False, True, True]
    plain = DKAE(**listening, lam=0).fit(x)
    assert np.isnan(plain.history_["code"]).all() and np.isnan(seen[-1]["code"])
    assert seen[-1]["total"] == pytest.approx(seen[-1]["reconstruction"])
    assert "L_c" not in capfd.readouterr().err
    assert [ax.get_title() for ax in dkae.plot.history(plain)] == ["reconstruction loss L_r"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "100000"}, 1),
        ({"OMP_NUM_THREADS": "1,4"}, 1),
        ({"OMP_NUM_THREADS": "many", "RAYON_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "100000"}, None),
    ],
)
def test_threads_are_no_more_than_the_environment_says(environment, expected):
    code = f"""
import os
for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.pop(name, None)
os.environ.update({environment!r})
import dkae
first = dkae.get_threads()
dkae.set_threads(3)
assert dkae.get_threads() == 3
dkae.set_threads(0)
assert dkae.get_threads() == first
print(first, len(os.sched_getaffinity(0)))
"""
    first, cores = map(int, run_python(code).split())
    assert first == (cores if expected is None else expected)


def test_messages_name_parameters(blobs):
    x, y = blobs
    with pytest.raises(ValueError, match="n_neighbors"):
        Isomap(n_neighbors=240).fit(x)
    with pytest.raises(ValueError, match="n_components"):
        KernelPCA(n_components=1000).fit(x)
    with pytest.raises(ArithmeticError, match="lower learning_rate$"):
        DKAE(**{**QUICK, "max_steps": 200}, kernel="linear", learning_rate=1e30).fit(x)
    with pytest.raises(ValueError, match="kernel_params: are for a kernel with a name"):
        DKAE(**QUICK, kernel=lambda a, b: a @ b.T, kernel_params={"gamma": 1}).fit(x)
    with pytest.raises(ValueError, match=r"kernel_params\['gamma'\]: is beyond float32, found 1e\+300"):
        DKAE(**QUICK, kernel="rbf", kernel_params={"gamma": 1e300}).fit(x)
    with pytest.raises(ValueError, match=r"kernel_params\['degree'\]: expected at most 64"):
        KernelPCA(kernel="poly", kernel_params={"degree": 2**40}).fit(x)
    with pytest.raises(ValueError, match="random_state: 'a'"):
        KernelPCA(random_state="a").fit(x)
    with pytest.raises(ValueError, match="kernel: the function gave complex numbers"):
        DKAE(**QUICK, kernel=lambda a, b: 1j * (a @ b.T)).fit(x)
    with pytest.raises(ValueError, match="give gamma or sigma in kernel_params"):
        DKAE(**QUICK, kernel="rbf").fit(np.ones((20, 3)))
    with pytest.raises(ArithmeticError, match="lower learning_rate, or"):
        DKAE(**QUICK, kernel="linear", scale="standard").fit(np.ones((20, 3)))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        DKAE(**QUICK, lam=0).fit(x).save("no such folder/my.dkae")


def test_a_callback_may_ask_for_the_model_that_is_not_there_yet(blobs):
    x, _ = blobs
    model = DKAE(**QUICK, kernel="linear", callback=lambda step, losses: model.transform(x) is None)
    with pytest.raises(NotFittedError):
        model.fit(x)
    # A function may give a sparse matrix.
    from scipy import sparse

    want = DKAE(**QUICK, kernel=lambda a, b: a @ b.T).fit_transform(x)
    np.testing.assert_array_equal(DKAE(**QUICK, kernel=lambda a, b: sparse.csr_matrix(a @ b.T)).fit_transform(x), want)


def test_a_progress_bar_needs_no_console(blobs, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    assert DKAE(**QUICK, kernel="rbf", verbose=1).fit(blobs[0]).layers_ == (8, 3)


class Terminal:
    """A terminal of so many columns."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("columns", "encoding"), [(40, "utf-8"), (80, "ascii"), (200, "utf-8")])
def test_the_progress_bar_fits_the_window_and_its_encoding(columns, encoding, blobs, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    terminal.encoding = encoding
    monkeypatch.setattr("sys.stderr", terminal)
    calls = []
    settings = {**QUICK, "max_steps": 400, "callback": lambda *step: calls.append(step)}
    DKAE(**settings, kernel="pck", kernel_params={"n_restarts": 100}, verbose=1).fit(blobs[0])
    terminal.text.encode(encoding)
    lines = terminal.text.replace("\n", "\r").split("\r")
    assert max(map(len, lines)) < columns and "400/400" in terminal.text
    # A count while the kernel is fitted, and ten drawings a second rather than one for each step.
    counts = [line for line in lines if line[:1].isalpha() and "/2900" in line]
    assert lines[1].startswith("fitting the kernel") and counts, lines[:5]
    assert len(calls) == 404 and len(lines) < 200
    # An estimator that is not fitted yet is counted as well.
    given = Terminal()
    monkeypatch.setattr("sys.stderr", given)
    DKAE(**QUICK, kernel=PCK(n_restarts=100), verbose=1).fit(blobs[0])
    assert "/2900" in given.text, given.text
    quiet = Terminal()
    monkeypatch.setattr("sys.stderr", quiet)
    DKAE(**QUICK, kernel="linear", verbose=1).fit(blobs[0])
    assert "kernel" not in quiet.text


@pytest.mark.parametrize("shell", ["ZMQInteractiveShell", "Shell"])
def test_notebooks_are_known_by_their_kernel(shell, monkeypatch):
    import sys
    import types

    from dkae._progress import _in_notebook

    there = type(shell, (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: there))
    assert _in_notebook()
    terminal = type("TerminalInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: terminal))
    assert not _in_notebook()
