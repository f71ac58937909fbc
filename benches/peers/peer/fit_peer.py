"""The whole fit by scikit-learn and PyTorch (src/fit.rs)."""
import math
import time

import network
import numpy as np
import torch
from mixtures import Mixtures
from peer import peak_mb
from scipy.linalg.blas import ssyrk

# Mixtures whose posteriors are multiplied into P at a time: some thousand columns.
GROUP = 120

# Rows of P that are mirrored at a time.
BLOCK = 500


def factor(step, steps):
    """The share of the peak rate at a step: warm-up, then a cosine."""
    warm_up = min(100, steps // 10)
    if step < warm_up:
        return (step + 1) / (warm_up + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))


def kernel_matrix(mixtures, x):
    """P of rows as a whole; the posteriors are not kept."""
    p = np.zeros((len(x), len(x)), np.float32, order="F")
    rows = x.astype(np.float64)
    for first in range(0, len(mixtures.mixtures), GROUP):
        f = mixtures.posteriors(rows, slice(first, first + GROUP)).astype(np.float32, copy=False)
        # One half of a symmetric product is half the work. Turned, since BLAS wants columns contiguous.
        p = ssyrk(1 / len(mixtures.mixtures), f.T, beta=1, c=p, trans=1, overwrite_c=1)
    for first in range(0, len(x), BLOCK):
        block = slice(first, first + BLOCK)
        p[block, :first] = p[:first, block].T
        p[block, block] = np.triu(p[block, block]) + np.triu(p[block, block], 1).T
    return torch.from_numpy(p)


def prepare(settings):
    rows = np.load(settings.x, mmap_mode="r")
    train = rows[: settings.train].copy()
    validation = rows[settings.train : settings.train + settings.validation].copy()
    lam = settings.__dict__["lambda"]
    torch.manual_seed(0)

    def turn():
        begin, paused = time.perf_counter(), 0.0
        mixtures = Mixtures(settings.kernel, settings.starts, train, shared_out=True).fit()
        prior = kernel_matrix(mixtures, train)
        x = torch.from_numpy(train)
        layers = network.glorot([x.shape[1], *settings.layers])

        def run(steps, count, look=lambda step: None):
            for step in range(count):
                steps.rate(settings.rate * factor(step, count))
                steps.step(torch.randint(len(x), (settings.batch,)))
                look(step + 1)
            steps.release()

        for l in range(len(layers)):
            # Layers below the code have no inner products to align.
            aligned = prior if l + 1 == len(layers) else None
            run(network.Steps(layers, x, aligned, lam, settings.rate, False, l, l + 1), settings.pretrain)

        held_out, reached, found, peak = torch.from_numpy(validation), None, None, 0.0
        held_prior = None

        def look(step):
            """The losses on the validation rows; the clock stands still meanwhile."""
            nonlocal paused, reached, found, peak, held_prior
            if step % settings.look_every and step != settings.steps:
                return
            pause = time.perf_counter()
            peak = peak if held_prior is not None else peak_mb()
            with torch.inference_mode():
                held_prior = kernel_matrix(mixtures, validation) if held_prior is None else held_prior
                codes = network.encode(layers, held_out)
                error = torch.nn.functional.mse_loss(network.decode(layers, codes), held_out).item()
                found = error, network.code_loss(codes, held_prior).item()
            if reached is None and found[0] <= settings.target[0] and found[1] <= settings.target[1]:
                reached = pause - begin - paused
            paused += time.perf_counter() - pause

        run(network.Steps(layers, x, prior, lam, settings.rate, False), settings.steps, look)
        seconds = time.perf_counter() - begin - paused
        return seconds, dict(reconstruction=found[0], code=found[1], reached=reached, fit_peak_mb=peak)

    return turn
