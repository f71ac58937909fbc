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
    def encode(chunk):
        return chunked(network.encode, x, len(layers[-1][0]), chunk)

    @torch.inference_mode()
    def decode(codes, chunk):
        return chunked(network.decode, codes, x.shape[1], chunk)

    def best(function):
        return min(CHUNKS, key=lambda chunk: min(function(chunk)[1] for _ in range(2)))

    # The sizes of chunks that are best here, after one run to wake everything up.
    codes, _ = encode(CHUNKS[2])
    decode(codes, CHUNKS[2])
    codes_chunk, rows_chunk = best(encode), best(lambda chunk: decode(codes, chunk))

    def turn():
        codes, encoding = encode(codes_chunk)
        rows, decoding = decode(codes, rows_chunk)
        np.save(f"{settings.out}-codes.npy", codes[: settings.compared].numpy())
        np.save(f"{settings.out}-rows.npy", rows[: settings.compared].numpy())
        times = dict(codes=encoding, rows=decoding, codes_chunk=codes_chunk, rows_chunk=rows_chunk)
        return encoding + decoding, times

    return turn
