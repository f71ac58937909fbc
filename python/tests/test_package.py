"""Types, plots and the notebook."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
import subprocess
import sys
import types
import warnings
import zlib
from importlib.metadata import requires
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import dkae
from common import ROOT, run_python
from dkae import DKAE

PACKAGE = Path(dkae.__file__).parent


def test_type_hints_hold_and_are_delivered():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(ROOT / "python" / "dkae")],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_is_that_of_the_module():
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "dkae._core", "--ignore-disjoint-bases",
         "--mypy-config-file", str(ROOT / "pyproject.toml")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_of_the_types_are_checked(tmp_path):
    program = tmp_path / "user.py"
    program.write_text(
        "import numpy as np\n"
        "from dkae import DKAE, PCK, LinearSVC\n"
        "class Mine(DKAE):\n"
        "    def more(self) -> int:\n"
        "        return 1\n"
        "codes = DKAE(n_codes=3, kernel=PCK()).fit(np.eye(3)).transform(np.eye(3))\n"
        "reveal_type(codes)\n"
        "reveal_type(DKAE().fit_transform(np.eye(3)))\n"
        "reveal_type(Mine().fit(np.eye(3)).more())\n"
        "reveal_type(LinearSVC().fit(np.eye(3), [0, 1, 1]).predict(np.eye(3)))\n"
        "DKAE(n_codes='three')\n"
        "DKAE().save(3)\n"
    )
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", program], capture_output=True, text=True)
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    assert all("_32Bit" in line or "float32" in line for line in revealed[:2]), done.stdout
    assert '"int"' in revealed[2] or "builtins.int" in revealed[2], done.stdout
    assert "ndarray" in revealed[3], done.stdout
    assert done.stdout.count("error:") == 2 and "n_codes" in done.stdout and '"save"' in done.stdout, done.stdout


def test_the_package_is_small_and_needs_no_torch():
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    # A wheel has them deflated.
    assert 1e6 < sum(len(zlib.compress(path.read_bytes())) for path in files) < 5e6
    needed = [requirement for requirement in requires("dkae") or [] if "extra" not in requirement]
    assert sorted(
        re.split(r"\W", requirement.replace("scikit-learn", "scikit_learn"))[0] for requirement in needed
    ) == [
        "numpy",
        "scikit_learn",
        "scipy",
    ]


def test_importing_is_light():
    loaded = run_python("import sys, dkae; print(*(m for m in ('torch', 'matplotlib', 'dask') if m in sys.modules))")
    assert loaded.strip() == ""


def test_every_public_name_is_documented_and_every_estimator_has_an_example():
    documented = []

    def check(name, thing):
        assert thing.__doc__ and thing.__doc__.strip(), name
        documented.append(name)

    for name in sorted({*dkae.__all__} - {"__version__"}):
        thing = getattr(dkae, name)
        check(name, thing)
        if isinstance(thing, type):
            assert ">>>" in thing.__doc__, name
            # Methods that are written here; a docstring that scikit-learn's has in its place would not count.
            for base in (base for base in thing.__mro__ if base.__module__.startswith("dkae")):
                for method, value in vars(base).items():
                    if not method.startswith("_"):
                        check(f"{name}.{method}", getattr(value, "__func__", value))
    for name in dkae.plot.__all__:
        check(f"plot.{name}", getattr(dkae.plot, name))
    assert {"DKAE.partial_fit", "DKAE.load", "KECA.fit", "LinearSVC.fit", "load_digits", "plot.kernel"} <= {*documented}


@pytest.fixture(scope="module")
def model(digits):
    x, _ = digits
    settings = {"max_steps": 500, "pretrain_steps": 20, "validation_fraction": 0.2, "image_shape": (28, 28)}
    return DKAE((32,), 8, kernel="rbf", kernel_params={"median_fraction": 1.0}, **settings).fit(x)


def test_plots_are_one_call(model, digits):
    x, y = digits
    ax = dkae.plot.embedding(model.transform(x), y, title="codes")
    assert len(ax.collections) == 10 and ax.get_title() == "codes"
    assert sum(len(c.get_offsets()) for c in ax.collections) == 600
    axes = dkae.plot.reconstructions(model, x, n=6)
    assert axes.shape == (2, 6)
    np.testing.assert_array_equal(axes[0, 2].images[0].get_array(), x[2].reshape(28, 28))
    np.testing.assert_array_equal(axes[1, 2].images[0].get_array(), model.reconstruct(x[2:3]).reshape(28, 28))
    axes = dkae.plot.kernel(model, x, y, max_rows=50)
    assert [ax.get_title() for ax in axes] == ["prior", "kernel of codes"]
    assert axes[0].images[0].get_array().shape == (50, 50)
    axes = dkae.plot.history(model)
    assert [ax.get_title() for ax in axes] == ["reconstruction loss L_r", "code loss L_c"]
    assert [line.get_label() for line in axes[0].lines] == ["training", "validation"]
    plt.close("all")
    # Into given axes, without classes, of numbers.
    _, ax = plt.subplots()
    assert dkae.plot.embedding(model.transform(x)[:, :2], ax=ax) is ax
    dkae.plot.embedding(model.transform(x)[:, :2], np.linspace(0, 1, 600), ax=ax)
    with pytest.raises(ValueError, match="two columns"):
        dkae.plot.embedding(x[:, :1])
    with pytest.raises(ValueError, match="image_shape"):
        dkae.plot.reconstructions(x[:, :5], x[:, :5])
    plt.close("all")


def test_plots_take_what_users_have(model, digits):
    x, y = digits
    z = model.transform(x)

    def classes(labels):
        return [text.get_text() for text in dkae.plot.embedding(z, labels).get_legend().get_texts()]

    # Rows without a class are there, in grey, and in no legend.
    missing = np.where(y < 5, np.nan, y)
    ax = dkae.plot.embedding(z, missing)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["5.0", "6.0", "7.0", "8.0", "9.0"]
    assert sum(len(c.get_offsets()) for c in ax.collections) == 600
    assert classes([None if v < 5 else "a" for v in y]) == ["a"]
    assert classes([int(v) if v < 2 else "b" for v in y]) == ["0", "1", "b"]
    # Many classes with names are classes all the same.
    many = np.array([f"c{i % 25:02}" for i in range(600)])
    assert classes(many) == [f"c{i:02}" for i in range(25)]
    assert len({tuple(c.get_facecolor()[0]) for c in plt.gcf().axes[0].collections}) == 25
    assert classes(y[:, None]) == [str(i) for i in range(10)]
    for few in (z[:0], z[:1], z[:2, :2]):
        assert sum(len(c.get_offsets()) for c in dkae.plot.embedding(few).collections) == len(few)
    with pytest.raises(ValueError, match="y: expected 600 labels"):
        dkae.plot.embedding(z, y[:10])
    plt.close("all")
    # Frames keep the names of their columns, whatever they are made of.
    names = [f"p{i}" for i in range(784)]
    settings = {"max_steps": 5, "pretrain_steps": 2, "image_shape": (28, 28)}
    frame = pd.DataFrame(x, columns=names)
    named = DKAE((8,), 4, kernel="linear", **settings).set_output(transform="pandas").fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (frame, pl.DataFrame(x, schema=names)):
            assert dkae.plot.reconstructions(named, rows, n=3).shape == (2, 3)
            assert len(dkae.plot.kernel(named, rows, y, max_rows=20)) == 2
            plt.close("all")
        assert dkae.plot.reconstructions(model, sparse.csr_matrix(x), n=3).shape == (2, 3)
        assert len(dkae.plot.kernel(model, sparse.csr_matrix(x), missing, max_rows=20)) == 2
        assert dkae.plot.reconstructions(model, x[:2].tolist()).shape == (2, 2)
    plt.close("all")
    with pytest.raises(ValueError, match="n: expected at least 1"):
        dkae.plot.reconstructions(model, x, n=0)
    with pytest.raises(NotFittedError):
        dkae.plot.history(DKAE())


def test_kernels_are_drawn_with_a_scale_and_negative_values(model, digits):
    x, y = digits
    axes = dkae.plot.kernel(model, x, y, max_rows=40)
    assert all(ax.images[0].colorbar is not None for ax in axes)
    assert axes[0].images[0].norm.vmin == 0
    centred = DKAE((8,), 4, kernel="cosine", max_steps=5, pretrain_steps=2, scale="standard").fit(x)
    axes = dkae.plot.kernel(centred, x, y, max_rows=40)
    norm = axes[0].images[0].norm
    assert norm.vmin == -norm.vmax < 0
    assert [ax.images[0].get_cmap().name for ax in axes] == ["RdBu_r", "RdBu_r"]
    # A few negative values of codes do not make the two incomparable.
    for angle, colours in ((1.6, "viridis"), (2.5, "RdBu_r")):
        codes = np.array([[1, 0], [np.cos(angle), np.sin(angle)]])
        known = types.SimpleNamespace(transform=lambda rows, z=codes: z, prior_kernel=lambda rows, y: np.eye(2))
        axes = dkae.plot.kernel(known, codes)
        assert axes[1].images[0].get_array().min() == pytest.approx(np.cos(angle)) and np.cos(angle) < 0
        assert [ax.images[0].get_cmap().name for ax in axes] == [colours, colours]
    assert len(dkae.plot.kernel(model, x, y, max_rows=40, axes=plt.figure().add_subplot())) == 1
    plt.close("all")


def test_a_prior_that_cannot_be_drawn_is_told(model, digits, tmp_path):
    x, y = digits
    model.save(tmp_path / "my.dkae")
    loaded = DKAE.load(tmp_path / "my.dkae")
    with pytest.warns(UserWarning, match="the prior is not shown: the kernel 'rbf' .* came from a file") as told:
        axes = dkae.plot.kernel(loaded, x, y, max_rows=40)
    assert [ax.get_title() for ax in axes] == ["kernel of codes"] and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.set_params(kernel_params={"sigma": 2000.0})
        assert [ax.get_title() for ax in dkae.plot.kernel(loaded, x, max_rows=40)] == ["prior", "kernel of codes"]
    plt.close("all")


def test_without_matplotlib_plots_say_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
sys.modules["matplotlib.pyplot"] = None
import dkae, numpy as np
try:
    dkae.plot.embedding(np.eye(3))
except ImportError as error:
    print(error)
"""
    assert "pip install dkae[plot]" in run_python(code)


NOTEBOOK = ROOT / "python" / "examples" / "digits.ipynb"


def lines_of_the_bar(cells):
    """The progress bar: one output, in its last state, with a line for each phase."""
    shown = [o.data["text/plain"] for c in cells for o in c.get("outputs", []) if o.output_type == "display_data"]
    return next(text for text in shown if "fine-tuning" in text).splitlines()


def test_the_notebook_was_executed_and_is_small():
    assert NOTEBOOK.stat().st_size < 1_000_000
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    # Neither errors nor warnings.
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 5


def test_what_the_notebook_stores_is_what_the_code_shows_today(digits, capfd):
    x, _ = digits
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    fitted = next(cell for cell in cells if "verbose=1" in cell.source)
    (arguments,) = re.findall(r"DKAE\((.*)\)", fitted.source)
    # A bar of the same layers; that of a log and that of a notebook have the same words.
    model = eval(f"DKAE({arguments})", {"DKAE": DKAE, "STEPS": 2})
    model.set_params(kernel_params={"n_restarts": 1, "max_components": 3}).fit(x)

    def words(lines):
        return [re.findall("[A-Za-z_-]+", line) for line in lines]

    stored = lines_of_the_bar(cells)
    assert words(stored) == words(capfd.readouterr().err.splitlines())
    assert ["L_c" in line for line in stored] == [True]
    # The estimator that was read from the file is the one that was written.
    saved = next(cell for cell in cells if "print(again)" in cell.source)
    printed = "".join(output.text for output in saved.outputs if output.output_type == "stream")
    same = eval(f"DKAE({arguments})", {"DKAE": DKAE, "STEPS": 2000}).set_params(verbose=0)
    assert "STEPS = 2000" in cells[0].source
    assert printed.split("\n", 1)[1].strip() == repr(same)


def test_the_notebook_runs(tmp_path):
    if importlib.util.find_spec("nbconvert") is None:
        pytest.skip("nbconvert is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # The same cells with a budget that takes seconds.
    for cell in notebook.cells:
        for full, short in (("STEPS = 2000", "STEPS = 30"), ("ROWS = 4000", "ROWS = 400"), ("[4000:]", "[4800:]")):
            cell.source = cell.source.replace(full, short)
    nbformat.write(notebook, tmp_path / "short.ipynb")
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "short.ipynb"],
        capture_output=True, text=True, cwd=tmp_path, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    cells = nbformat.read(tmp_path / "short.ipynb", as_version=4).cells
    bar = lines_of_the_bar(cells)
    assert len(bar) == 1 and "30/30" in bar[-1]


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules([str(PACKAGE)], "dkae.")] + ["dkae"])
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
