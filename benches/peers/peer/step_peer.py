"""One training step in PyTorch (src/step.rs), or a large square product."""
import time

import network
import numpy as np
import torch


def product(side):
    a, c = torch.randn(side, side), torch.empty(side, side)

    def turn():
        begin = time.perf_counter()
        torch.mm(a, a, out=c)
        return time.perf_counter() - begin, None

    return turn


def prepare(settings):
    if settings.square:
        return product(settings.square)
    x = torch.from_numpy(np.load(settings.x, mmap_mode="r")[: settings.rows].copy())
    prior = torch.from_numpy(np.load(settings.prior))
    batches = torch.from_numpy(np.load(settings.batches).astype(np.int64))
    steps = network.Steps(network.from_file(settings.start), x, prior, settings.__dict__["lambda"], settings.rate, settings.compiled)
    done = 0

    def turn():
        nonlocal done
        begin = time.perf_counter()
        found = [steps.step(batch) for batch in batches[done : done + settings.steps]]
        seconds = time.perf_counter() - begin
        done += settings.steps
        return seconds, [[r.item(), c.item()] for r, c in found]

    return turn
