"""Encoding and decoding in PyTorch (src/encode.rs)."""
import time

import network
import numpy as np
import torch

CHUNKS = [250, 500, 1000, 2000, 5000, 60000]


def prepare(settings):
    x = torch.from_numpy(np.load(settings.x, mmap_mode="r")[: settings.rows].copy())
    layers = network.from_file(settings.model)

    def chunked(function, rows, width, chunk):
        begin = time.perf_counter()
        # The last layer writes to its place: nothing is put together afterwards.
        out = torch.empty(len(rows), width)
        for part, place in zip(rows.split(chunk), out.split(chunk)):
            function(layers, part, out=place)
        return out, time.perf_counter() - begin

    @torch.inference_mode()
    def both(chunk):
        codes, encode = chunked(network.encode, x, len(layers[-1][0]), chunk)
        rows, decode = chunked(network.decode, codes, x.shape[1], chunk)
        return codes, rows, encode, decode

    def total(chunk):
        return sum(both(chunk)[2:])

    # The size of chunks that is best here, after one run to wake everything up.
    both(CHUNKS[2])
    best = min(CHUNKS, key=lambda chunk: min(total(chunk) for _ in range(2)))

    def turn():
        codes, rows, encode, decode = both(best)
        np.save(f"{settings.out}-codes.npy", codes[: settings.compared].numpy())
        np.save(f"{settings.out}-rows.npy", rows[: settings.compared].numpy())
        return encode + decode, dict(codes=encode, rows=decode, chunk=best)

    return turn
