"""Files, pickles and the command: the same model everywhere."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import subprocess
import warnings
from importlib.metadata import version

import joblib
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import dkae
from common import ROOT, command, read_safetensors
from dkae import DKAE, KECA, PCK, Isomap, KernelPCA, KernelSVC, LinearSVC


def test_a_loaded_model_is_the_same_model(tmp_path, blobs, small):
    x, y = blobs
    model = DKAE(**small, random_state=3, noise="gauss:0.1", validation_fraction=0.1).fit(x)
    path = tmp_path / "my.dkae"
    model.save(path)
    loaded = DKAE.load(path)
    np.testing.assert_array_equal(loaded.transform(x), model.transform(x))
    np.testing.assert_array_equal(loaded.reconstruct(x), model.reconstruct(x))
    assert loaded.alignment_ == model.alignment_ and loaded.layers_ == model.layers_
    for name, values in model.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], values)
    assert loaded.get_params() == model.get_params()
    again = tmp_path / "again.dkae"
    loaded.save(str(again))
    assert again.read_bytes() == path.read_bytes()
    # It can be trained on; its kernel is not in the file, which score says.
    with pytest.raises(ValueError, match="came from a file.* set kernel_params to {'sigma': width} .radial basis"):
        loaded.score(x)
    # What it advises helps.
    width = float(model.kernel_description_.removeprefix("radial basis functions: width "))
    told = DKAE.load(path).set_params(kernel_params={"sigma": width})
    assert told.score(x) == pytest.approx(model.score(x), rel=1e-5)
    assert told.partial_fit(x, steps=5).kernel_description_ == model.kernel_description_
    loaded.partial_fit(x, steps=5)
    assert loaded.score(x) < 0


@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("pck", {"n_restarts": 2, "floor": "15%", "max_components": 5}),
        ("rbf", {"gamma": 0.05}),
        ("rbf", {"sigma": 3.0}),
        ("poly", {"degree": 2, "gamma": 0.5, "coef0": 2.0}),
        ("cosine", None),
        ("ideal", None),
    ],
)
def test_files_tell_the_kernel(kernel, params, tmp_path, blobs, small):
    x, y = blobs
    model = DKAE(**{**small, "kernel": kernel, "kernel_params": params}).fit(x, y)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    assert loaded.kernel == kernel and loaded.kernel_description_ == model.kernel_description_
    assert all(loaded.kernel_params[name] == value for name, value in (params or {}).items())
    refitted = loaded.fit(x, y)
    np.testing.assert_array_equal(refitted.transform(x), model.transform(x))
    if kernel in ("rbf", "poly", "cosine"):
        again = DKAE.load(tmp_path / "my.dkae")
        assert again.score(x) == model.score(x)
        np.testing.assert_array_equal(again.prior_kernel(x), model.prior_kernel(x))
        # What is known is not changed in passing.
        again.set_params(kernel="rbf", kernel_params={"gamma": 7.0})
        with pytest.raises(ValueError, match="the model was fitted with"):
            again.score(x)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_a_width_that_is_known_is_that_of_the_rows_that_the_network_sees(scale, tmp_path, blobs, small):
    # Far from the origin, so that rows that are not prepared would have distances of few digits.
    x = blobs[0] + np.float32(1000)
    model = DKAE(**{**small, "kernel_params": {"gamma": 0.05}, "scale": scale}).fit(x)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    rows = x[:50].astype(np.float64)
    if scale == "standard":
        rows = (rows - x.mean(axis=0, dtype=np.float64)) / x.std(axis=0, dtype=np.float64)
    for one in (model, loaded):
        np.testing.assert_allclose(one.prior_kernel(x[:50]), rbf_kernel(rows, gamma=0.05), atol=2e-5)
    # Without a code loss the model has no kernel, but its width is as well known.
    plain = DKAE(**{**small, "kernel_params": {"gamma": 0.05}, "scale": scale, "lam": 0}).fit(x)
    np.testing.assert_allclose(plain.prior_kernel(x[:50]), rbf_kernel(rows, gamma=0.05), atol=2e-5)


def test_patience_is_not_kept_for_rows_that_are_not_set_aside_here(tmp_path, blobs):
    x, _ = blobs
    quick = {"hidden": (8,), "n_codes": 3, "max_steps": 5, "pretrain_steps": 2, "kernel": "linear"}
    model = DKAE(**quick, patience=3, validation_fraction=0.3).fit(x)
    path, groups = tmp_path / "my.dkae", {"split-by": ["a", "b", "c"]}
    path.write_bytes(change(model.model_.to_bytes(), lambda about: about["settings"].update(groups)))
    loaded = DKAE.load(path)
    assert loaded.patience is None and loaded.validation_fraction == 0
    loaded.partial_fit(x, steps=2)


def test_a_file_tells_the_pck_that_was_brought_along(tmp_path, blobs, small):
    x, _ = blobs
    pck = PCK(n_restarts=3, max_components=6, floor=0.02, random_state=11).fit(x[:100])
    model = DKAE(**{**small, "kernel": pck, "kernel_params": None, "scale": "standard"}).fit(x)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    assert isinstance(loaded.kernel, PCK) and loaded.kernel.get_params() == pck.get_params()
    assert loaded.kernel_params is None and loaded.kernel_description_ == model.kernel_description_
    # It is not fitted, and never on the rows that are scored.
    for work in (loaded.score, loaded.prior_kernel):
        with pytest.raises(ValueError, match="came from a file"):
            work(x)
    # The one that was brought along may be brought again.
    assert loaded.set_params(kernel=pck).score(x) == model.score(x)
    # A refit is that of a clone: on the rows as they are, not scaled.
    again = DKAE.load(tmp_path / "my.dkae").fit(x)
    np.testing.assert_array_equal(again.prior_kernel(x[:9]), copy.deepcopy(pck).fit(x).kernel(x[:9]))
    # A pickle keeps it.
    assert pickle.loads(pickle.dumps(model)).score(x) == model.score(x)


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": "rbf", "kernel_params": {"gamma": 0.3}},
        {"kernel": "rbf", "kernel_params": {"sigma": 1.7}},
        # 40 rows have mixtures of up to 20 components.
        {"kernel": "pck", "kernel_params": None},
        {"kernel": "pck", "kernel_params": {"n_restarts": 2, "max_components": 25, "random_state": 5}},
        {"kernel": "poly", "kernel_params": {"gamma": 0.1}},
        {"kernel": "linear", "hidden": None, "n_codes": None},
        {"kernel": "linear", "hidden": (7, 6), "n_codes": 3, "image_shape": (1, 5, 1)},
        {"kernel": "linear", "learning_rate": 0.003, "weight_decay": 0.07, "lam": 0.3, "validation_fraction": 0.3},
        {"kernel": "linear", "patience": 3, "validation_fraction": 0.2, "batch_size": 11, "max_steps": 12},
        {"kernel": "linear", "pretrain_steps": 0, "random_state": 99},
        {"kernel": "linear", "pretrain_steps": None, "init": "glorot"},
        {"kernel": "linear", "pretrain_steps": None, "activation": "relu"},
        {"kernel": "linear", "activation": "tanh", "code_activation": "sigmoid", "output_activation": "linear"},
        {"kernel": "linear", "tied": False, "noise": "mask:0.15", "scale": "unit-all"},
    ],
    ids=str,
)
def test_every_parameter_comes_back_as_it_was_given(given, tmp_path, blobs):
    x = blobs[0][:40]
    model = DKAE(**{"hidden": (8,), "n_codes": 3, "max_steps": 5, "pretrain_steps": 2, **given}).fit(x)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    assert loaded.get_params() == model.get_params()
    loaded.fit(x).save(tmp_path / "again.dkae")
    assert (tmp_path / "again.dkae").read_bytes() == (tmp_path / "my.dkae").read_bytes()


def test_what_rows_made_of_a_kernel_is_beside_what_was_asked_for(tmp_path, blobs):
    x = blobs[0][:40]
    quick = {"hidden": (8,), "n_codes": 3, "max_steps": 5, "pretrain_steps": 2}
    model = DKAE(**quick, kernel=PCK(n_restarts=2)).fit(x)
    model.save(tmp_path / "my.dkae")
    assert "G 20" in model.kernel_description_
    assert DKAE.load(tmp_path / "my.dkae").kernel.max_components == 30
    # Numbers of NumPy are numbers; a random state is told by the seed that came of it.
    chance = {"n_restarts": np.int64(2), "floor": np.float32(0.5), "random_state": np.random.RandomState(3)}
    model = DKAE(**quick, kernel="pck", kernel_params=chance).fit(x)
    model.save(tmp_path / "my.dkae")
    told = DKAE.load(tmp_path / "my.dkae")
    assert told.kernel_params["n_restarts"] == 2 and told.kernel_params["floor"] == 0.5
    np.testing.assert_array_equal(told.fit(x).transform(x), model.transform(x))


def test_a_kernel_with_a_name_may_have_a_seed_of_its_own(blobs, small):
    x, _ = blobs

    def prior(**params):
        settings = {**small, "kernel": "pck", "kernel_params": {"n_restarts": 2, **params}, "random_state": 3}
        return DKAE(**settings).fit(x).prior_kernel(x[:9])

    np.testing.assert_array_equal(prior(), prior(random_state=3))
    assert np.abs(prior() - prior(random_state=4)).max() > 0


def test_steps_of_all_calls_are_counted_alike_in_a_file(tmp_path, blobs, small):
    x, _ = blobs
    model = DKAE(**{**small, "pretrain_steps": 2, "max_steps": 600}).fit(x)
    # The first record of a call, at step 1 or 3, may be beyond the last of the call before, and would seem to go on.
    for more in (2, 600, 1):
        model.partial_fit(x, steps=more)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    np.testing.assert_array_equal(loaded.history_["step"], model.history_["step"])
    for one in (model, loaded):
        one.partial_fit(x, steps=2)
    np.testing.assert_array_equal(loaded.history_["step"], model.history_["step"])


def test_files_tell_what_was_asked_for_rather_than_what_few_rows_made_of_it(tmp_path, blobs, small):
    x, _ = blobs
    model = DKAE(**{**small, "batch_size": 5000}).fit(x).partial_fit(x, steps=3)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    assert (loaded.batch_size, loaded.max_steps, loaded.pretrain_steps) == (5000, 60, 20)


@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize(
    ("kernel", "told"),
    [("ideal", "ideal"), ("precomputed", "precomputed"), (lambda a, b: a @ b.T, "precomputed"), ("poly", "poly")],
)
def test_files_tell_the_kind_of_kernel_with_and_without_its_loss(kernel, told, lam, tmp_path, blobs, small):
    x, y = blobs
    matrix = x @ x.T if kernel == "precomputed" else None
    model = DKAE(**{**small, "kernel": kernel, "kernel_params": None, "lam": lam}).fit(x, y, K=matrix)
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    assert loaded.kernel == told and loaded.lam == lam
    if lam == 0:
        assert loaded.score(x) == model.score(x)
    elif told == "precomputed":
        with pytest.raises(ValueError, match="needs the kernel matrix"):
            loaded.score(x)
        with pytest.raises(ValueError, match="needs the kernel matrix"):
            loaded.partial_fit(x)


def change(data: bytes, change) -> bytes:
    """A model's file with another description."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    description = json.loads(header["__metadata__"]["dkae"])
    change(description["about"])
    header["__metadata__"]["dkae"] = json.dumps(description)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


PARTS = [{"weight": 0.5, "kernel": {"rbf": {"width": {"value": 1.0}, "seed": 7}}}, {"weight": 1.0, "kernel": "linear"}]


@pytest.mark.parametrize(
    ("spec", "description", "kernel"),
    [
        ({"sum": {"parts": PARTS}}, "sum: 0.5 x (radial basis functions) + 1 x (linear)", "0.5*rbf+1*linear"),
        ("pck", "a given matrix of 240 rows", "precomputed"),
        # As earlier versions wrote it of a PCK that was brought along.
        ("linear", "probabilistic cluster kernel: Q 2, G 30", "probabilistic cluster kernel: Q 2, G 30"),
    ],
)
def test_a_kernel_that_cannot_be_made_again_is_not_replaced(spec, description, kernel, tmp_path, blobs, small):
    x, _ = blobs
    path = tmp_path / "my.dkae"
    model = DKAE(**{**small, "kernel": "linear", "kernel_params": None}).fit(x)

    def tell(about):
        about["settings"]["kernel"], about["kernel"] = spec, description

    path.write_bytes(change(model.model_.to_bytes(), tell))
    loaded = DKAE.load(path)
    assert loaded.kernel == kernel and loaded.kernel_description_ == description
    np.testing.assert_array_equal(loaded.transform(x), model.transform(x))
    words = "needs the kernel matrix" if kernel == "precomputed" else "which cannot be made here; set another one"
    for work in (loaded.score, loaded.prior_kernel, loaded.partial_fit, loaded.fit):
        with pytest.raises(ValueError, match=words):
            work(x)


@pytest.mark.parametrize(
    "odd",
    [
        lambda about: about.update(settings=[1]),
        lambda about: about.update(settings="x"),
        lambda about: about["settings"].update(train="x"),
        lambda about: about["settings"].update(kernel=[1, 2]),
        lambda about: about["settings"].update(kernel={}),
        lambda about: about["settings"].update(kernel=None),
        lambda about: about["settings"].update(kernel="laplace"),
        lambda about: about["settings"].update(kernel={"pck": {"restarts": 3}}),
        lambda about: about["settings"].update(split=[1]),
        lambda about: about["settings"]["train"].update({"lambda": "x"}),
        lambda about: about["settings"]["train"].update(noise={}),
        lambda about: about.update(caller={"given": {}, "calls": []}),
        lambda about: about.update(caller=[1]),
        lambda about: about["caller"].update(calls=["x"]),
    ],
)
def test_settings_that_are_not_understood_are_refused_with_the_files_name(odd, tmp_path, blobs, small):
    path = tmp_path / "my.dkae"
    path.write_bytes(change(DKAE(**small).fit(blobs[0]).model_.to_bytes(), odd))
    with pytest.raises(ValueError, match=r"my\.dkae: the settings in this model's file are not understood"):
        DKAE.load(path)


def test_what_is_no_model_file_is_refused(tmp_path, blobs, small):
    path = tmp_path / "my.dkae"
    with pytest.raises(FileNotFoundError) as error:
        DKAE.load(path)
    assert error.value.filename == str(path)
    path.write_bytes(b"hello")
    with pytest.raises(ValueError, match="not a dkae file"):
        DKAE.load(path)
    with pytest.raises(OSError, match="no/such"):
        DKAE(**small).fit(blobs[0]).save(tmp_path / "no" / "such" / "folder.dkae")


def newer(data: bytes) -> bytes:
    """The same file as a later version would mark it."""
    assert data.count(rb"\"format\":1") == 1
    return data.replace(rb"\"format\":1", rb"\"format\":9")


def test_a_newer_format_is_refused_in_files_and_pickles(tmp_path, blobs, small):
    model = DKAE(**small).fit(blobs[0])
    path = tmp_path / "my.dkae"
    model.save(path)
    path.write_bytes(newer(path.read_bytes()))
    with pytest.raises(ValueError, match="install a newer version"):
        DKAE.load(path)
    with pytest.raises(ValueError, match="install a newer version"):
        pickle.loads(newer(pickle.dumps(model)))


def test_a_pickle_of_another_version_warns_and_works(monkeypatch, blobs, small):
    x, _ = blobs
    model = DKAE(**small).fit(x)
    with monkeypatch.context() as patch:
        patch.setattr("dkae._base.__version__", "0.0.1")
        old = pickle.dumps(model)
    with pytest.warns(UserWarning, match=r"pickled by dkae 0\.0\.1"):
        loaded = pickle.loads(old)
    np.testing.assert_array_equal(loaded.transform(x), model.transform(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize(
    "estimator",
    [
        DKAE((8,), 3, kernel="pck", kernel_params={"n_restarts": 2}, max_steps=5, pretrain_steps=2),
        DKAE((8,), 3, kernel="rbf", max_steps=5, pretrain_steps=2),
        PCK(n_restarts=2),
        KernelPCA(),
        KernelPCA(kernel=PCK(n_restarts=2)),
        KECA(),
        Isomap(n_landmarks=50, n_neighbors=12),
        LinearSVC(),
        KernelSVC(),
        KernelSVC(kernel="pck", kernel_params={"n_restarts": 2}),
    ],
    ids=str,
)
def test_pickles_copies_and_joblib_files_give_the_same_results(estimator, blobs):
    x, y = blobs
    estimator.fit(x, y)
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)

    def results(model):
        if hasattr(model, "decision_function"):
            return model.decision_function(x)
        z = model.transform(x)
        return z.toarray() if hasattr(z, "toarray") else z

    want = results(estimator)
    for other in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator), joblib.load(file)):
        np.testing.assert_array_equal(results(other), want)
        if isinstance(estimator, DKAE):
            assert other.score(x) == estimator.score(x)
            np.testing.assert_array_equal(other.prior_kernel(x[:20]), estimator.prior_kernel(x[:20]))
        if isinstance(estimator, PCK):
            np.testing.assert_array_equal(other.kernel(x), estimator.kernel(x))


@pytest.mark.parametrize(
    "estimator",
    [
        PCK(n_restarts=2),
        DKAE((8,), 3, kernel_params={"n_restarts": 2}, max_steps=5, pretrain_steps=2),
        KernelPCA(kernel=PCK(n_restarts=2)),
        KernelSVC(kernel="pck", kernel_params={"n_restarts": 2}),
    ],
    ids=str,
)
def test_a_kernel_is_fitted_again_only_when_it_is_used(estimator, blobs, monkeypatch):
    x, y = blobs
    assert not hasattr(estimator, "kernel_")
    want = estimator.fit(x, y).kernel_.between(x, x)

    fits, fit = [], dkae._core.Kernel

    def counted(*arguments):
        fits.append(arguments)
        return fit(*arguments)

    monkeypatch.setattr("dkae._core.Kernel", counted)
    # Also of a pickle's pickle, and once.
    loaded = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(estimator))))
    assert fits == []
    np.testing.assert_array_equal(loaded.kernel_.between(x, x), want)
    loaded.predict(x) if hasattr(loaded, "predict") else loaded.transform(x)
    assert len(fits) == 1


def test_a_pickle_keeps_only_what_a_kernel_was_fitted_on(digits):
    x, _ = digits
    pck = PCK(max_components=30).fit(x / 255)
    # 870 mixtures of 784 features take many times the 200 rows that they come from.
    assert len(pickle.dumps(pck)) < 200 * 784 * 4 + 2000


def test_the_command_reads_our_file_and_we_read_its(tmp_path, digits, small):
    program = command()
    x, y = digits
    rows = tmp_path / "rows.npy"
    np.save(rows, x)
    settings = {**small, "image_shape": (28, 28)}
    model = DKAE(**settings).fit(x)
    model.save(tmp_path / "ours.dkae")

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("encode", "ours.dkae", rows, "-o", "codes.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), model.transform(x))
    assert "784-16-4" in run("inspect", "ours.dkae")

    run(
        "fit", rows, "-o", "theirs.dkae", "--layers", "16,4", "--steps", 60, "--pretrain", 20,
        "--kernel", "rbf", "--rbf-width", "100%", "--seed", 7,
    )  # fmt: skip
    loaded = DKAE.load(tmp_path / "theirs.dkae")
    run("encode", "theirs.dkae", rows, "-o", "codes.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), loaded.transform(x))
    assert loaded.kernel_params == {"median_fraction": 1.0} and loaded.hidden == (16,)


def test_the_same_settings_give_the_same_weights_in_the_command_and_here(tmp_path, blobs, small):
    program = command()
    x, _ = blobs
    np.save(tmp_path / "rows.npy", x)
    done = subprocess.run(
        [
            program, "fit", "rows.npy", "-o", "theirs.dkae", "--layers", "16,4", "--steps", "60", "--pretrain", "20",
            "--kernel", "rbf", "--rbf-width", "100%", "--seed", "7", "--split", "0.75,0.25,0", "--scale", "standard",
        ],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    theirs = read_safetensors((tmp_path / "theirs.dkae").read_bytes())[0]
    model = DKAE(**small, scale="standard", validation_fraction=0.25).fit(x)
    ours = read_safetensors(model.model_.to_bytes())[0]
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)


def test_versions_agree():
    # By hand: Python 3.10 has no reader of TOML.
    section = (ROOT / "Cargo.toml").read_text().split("[workspace.package]\n")[1].split("\n[")[0]
    (workspace,) = re.findall(r'^version = "(.+)"$', section, re.MULTILINE)
    assert dkae.__version__ == workspace == version("dkae")
    shown = subprocess.run([command(), "--version"], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["dkae", workspace]
