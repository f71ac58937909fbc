"""Signals, threads, forks and partitioned data."""

from __future__ import annotations

import multiprocessing
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

import dkae
from common import ROOT, run_python
from dkae import DKAE, KECA, Isomap, KernelPCA, KernelSVC, LinearSVC


def test_ctrl_c_stops_training_promptly_and_leaves_a_usable_interpreter():
    code = """
import os, signal, threading, time
import numpy as np
from dkae import DKAE, PCK
x = np.random.default_rng(0).random((3000, 100), dtype=np.float32)
endless = DKAE((500, 500), 200, kernel="linear", max_steps=10**9, pretrain_steps=0)
for verbose in (0, 1):
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(1.0, interrupt).start()
    try:
        endless.set_params(verbose=verbose).fit(x)
    except KeyboardInterrupt:
        print(f"stopped {time.monotonic() - sent[0]:.3f}")
    assert not hasattr(endless, "model_")
small = DKAE((8,), 2, kernel="linear", max_steps=5, pretrain_steps=2).fit(x)
print("usable", small.transform(x).shape)
"""
    lines = run_python(code).splitlines()
    assert len(lines) == 3 and lines[2] == "usable (3000, 2)"
    # A step of this network takes some 20 ms, and signals are looked for ten times a second.
    assert all(line.startswith("stopped") and float(line.split()[1]) < 1 for line in lines[:2]), lines


def test_ctrl_c_stops_a_kernel_that_is_being_fitted_or_applied():
    code = """
import os, signal, threading, time
import numpy as np
from dkae import DKAE, PCK, KernelSVC
x = np.random.default_rng(0).random((2000, 100), dtype=np.float32)
y = np.arange(2000) % 3
many = {"n_restarts": 2200}                     # 63 800 mixtures: minutes
more = np.random.default_rng(1).random((150_000, 100), dtype=np.float32)
fitted = PCK().fit(x)
works = [
    lambda: PCK(**many).fit(x),
    lambda: DKAE((8,), 2, kernel="pck", kernel_params=many, max_steps=1).fit(x),
    lambda: DKAE((8,), 2, kernel=PCK(**many), max_steps=1).fit(x),
    lambda: KernelSVC(kernel="pck", kernel_params=many).fit(x, y),
    lambda: fitted.transform(more),
    lambda: fitted.kernel(more, x[:10]),
    lambda: DKAE((8,), 2, kernel=fitted, max_steps=1, pretrain_steps=0).fit(more),
]
for work in works:
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(0.7, interrupt).start()
    try:
        work()
        print("ended")
    except KeyboardInterrupt:
        print(f"{time.monotonic() - sent[0]:.3f}")
assert fitted.transform(x).shape[0] == 2000
"""
    lines = run_python(code).splitlines()
    assert len(lines) == 7
    # Signals are looked for ten times a second, and a mixture or a block of rows takes less than that.
    assert "ended" not in lines and all(float(line) < 1 for line in lines), lines


def test_ctrl_c_stops_what_is_done_with_a_model():
    code = """
import os, signal, threading, time
import numpy as np
from dkae import DKAE, Isomap, KernelPCA, KernelSVC
rng = np.random.default_rng(0)
x = rng.random((20_000, 50), dtype=np.float32)
y = rng.integers(0, 3, 20_000)
model = DKAE((500, 500), 500, kernel="linear", max_steps=2, pretrain_steps=1).fit(x[:500])
long = np.tile(x, (50, 1))
machine = KernelSVC().fit(x[:2000], y[:2000])
components = KernelPCA().fit(x[:4000])
isomap = Isomap(n_neighbors=10, n_landmarks=100).fit(x[:4000])
codes = np.tile(model.transform(x), (10, 1))
def function(a, b):
    time.sleep(0.05)
    return a @ b.T
slow = DKAE((8,), 2, kernel=function, max_steps=1, pretrain_steps=0).fit(x[:50])
works = [
    lambda: model.score(np.repeat(x, 3, 0)),
    lambda: model.transform(long),
    lambda: model.reconstruct(long),
    lambda: model.inverse_transform(codes),
    lambda: model.prior_kernel(x),
    lambda: slow.prior_kernel(x),
    lambda: machine.predict(long),
    lambda: components.transform(long),
    lambda: isomap.transform(long),
]
for work in works:
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.4, interrupt)
    timer.start()
    try:
        work()
        timer.cancel()
        print("ended")
    except KeyboardInterrupt:
        print(f"{time.monotonic() - sent[0]:.3f}" if sent else "early")
assert model.transform(x[:5]).shape == (5, 500)
"""
    lines = run_python(code).splitlines()
    assert len(lines) == 9
    assert all(line not in ("ended", "early") and float(line) < 1 for line in lines), lines


ENDLESS = {"tol": 1e-14, "max_iter": 10**9}


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [
        (KernelPCA(50, cache_mb=0, kernel_params={"gamma": 1.0}, **ENDLESS), 3),
        (KECA(5, cache_mb=0, kernel_params={"gamma": 1.0}, **ENDLESS), 3),
        (Isomap(n_neighbors=10, n_landmarks=20_000), 3),
        (LinearSVC(C=1e6, **ENDLESS), 100),  # Newton's method needs few steps, and each has work for every class
        (LinearSVC(C=1e6, loss="hinge", **ENDLESS), 3),
        (KernelSVC(C=1e6, kernel="rbf", **ENDLESS), 3),
        (KernelSVC(C=1e6, kernel="linear", **ENDLESS), 3),
    ],
    ids=str,
)
def test_ctrl_c_stops_the_fit_of_every_other_method(estimator, classes):
    code = f"""
import os, signal, threading, time
import numpy as np
from dkae import KECA, Isomap, KernelPCA, KernelSVC, LinearSVC
rng = np.random.default_rng(0)
x, y = rng.random((20000, 500), dtype=np.float32), rng.integers(0, {classes}, 20000)
estimator = {estimator!r}
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(0.7, interrupt)
timer.start()
try:
    estimator.fit(x, y)
    timer.cancel()
    print("ended")
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
    assert not hasattr(estimator, "model_") and not hasattr(estimator, "coef_")
print(KernelPCA().fit_transform(x[:50]).shape)
"""
    waited, usable = run_python(code).splitlines()
    assert waited != "ended" and float(waited) < 2 and usable == "(50, 2)"


def test_other_threads_run_while_a_model_is_trained(blobs, small):
    x, _ = blobs
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    DKAE(**{**small, "hidden": (200, 200), "max_steps": 400}).fit(x)
    seconds = time.monotonic() - began
    counted_in_fit = counted[0]
    stop.set()
    thread.join()
    # With the lock held, the other thread would not count at all.
    assert counted_in_fit > 50 * seconds


def test_models_are_trained_side_by_side_in_threads(blobs, small):
    x, _ = blobs
    want = DKAE(**small).fit_transform(x)
    found = Parallel(n_jobs=3, prefer="threads")(delayed(DKAE(**small).fit_transform)(x) for _ in range(6))
    for codes in found:
        np.testing.assert_array_equal(codes, want)


def test_the_number_of_threads_changes_no_bit(blobs, small):
    x, _ = blobs
    before = dkae.get_threads()
    try:
        codes = []
        for count in (1, 3):
            dkae.set_threads(count)
            assert dkae.get_threads() == count
            codes.append(DKAE(**small).fit_transform(x))
    finally:
        dkae.set_threads(0)
    np.testing.assert_array_equal(*codes)
    assert dkae.get_threads() == before


def _work(model, x, results):
    results.put((model.transform(x), clone(model).fit(x).transform(x), KernelPCA().fit_transform(x)))


def test_a_forked_child_computes_after_its_parent_did(blobs, small):
    x, _ = blobs
    model = DKAE(**small).fit(x)
    want = model.transform(x), model.transform(x), KernelPCA().fit_transform(x)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        results = context.Queue()
        child = context.Process(target=_work, args=(model, x, results))
        child.start()
        # A child that hangs fails here.
        for got, expected in zip(results.get(timeout=60), want, strict=True):
            np.testing.assert_array_equal(got, expected)
        child.join(timeout=60)
        assert child.exitcode == 0
    with context.Pool(2) as pool:
        parts = pool.map_async(model.transform, np.array_split(x, 4)).get(timeout=60)
    np.testing.assert_array_equal(np.concatenate(parts), want[0])


def test_joblib_processes_compute(blobs, small):
    x, _ = blobs
    model = DKAE(**small).fit(x)
    for backend in ("loky", "multiprocessing"):
        parts = Parallel(n_jobs=2, backend=backend, timeout=120)(
            delayed(model.transform)(part) for part in np.array_split(x, 4)
        )
        np.testing.assert_array_equal(np.concatenate(parts), model.transform(x))


def test_dask_encodes_a_partitioned_data_set_with_a_loaded_model(tmp_path, digits, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python" / "examples")
    import dask_encode as example

    x, _ = digits
    model = DKAE((16,), 3, lam=0, max_steps=5, pretrain_steps=2, image_shape=(28, 28)).fit(x)
    model.save(tmp_path / "digits.dkae")
    codes = example.encode_frame(x, tmp_path / "digits.dkae", partitions=4)
    assert codes.npartitions == 4 and list(codes.columns) == ["dkae0", "dkae1", "dkae2"]
    for scheduler in ("threads", "processes"):
        np.testing.assert_array_equal(codes.compute(scheduler=scheduler).to_numpy(), model.transform(x))
    blocks = example.encode_array(x, tmp_path / "digits.dkae", rows=150)
    assert blocks.numblocks == (4, 1)
    np.testing.assert_array_equal(blocks.compute(), model.transform(x))
