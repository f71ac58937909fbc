"""Oracles and helpers for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def read_safetensors(data: bytes) -> tuple[dict[str, np.ndarray], dict]:
    """Arrays and description of a model's file, read by hand."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    description = json.loads(header.pop("__metadata__")["dkae"])
    body = data[8 + length :]
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(body[begin:end], dtype="<f4").reshape(entry["shape"])
    return arrays, description


def encode_by_hand(data: bytes, x: np.ndarray) -> np.ndarray:
    """Codes by the formula, in float64, from the file alone."""
    arrays, description = read_safetensors(data)
    layers = len(description["architecture"]["layers"])
    h = (x - arrays["scale.offset"].astype(np.float64)) * arrays["scale.factor"]
    for layer in range(layers):
        z = h @ arrays[f"encoder.{layer}.weight"].T.astype(np.float64) + arrays[f"encoder.{layer}.bias"]
        h = z if layer == layers - 1 else z.clip(min=0)
    return h


def decode_by_hand(data: bytes, codes: np.ndarray) -> np.ndarray:
    """Rows by the formula, in float64, from the file alone; for a linear output."""
    arrays, description = read_safetensors(data)
    assert description["architecture"]["output"] == "linear" and description["architecture"]["tied"]
    h = codes.astype(np.float64)
    for layer in reversed(range(len(description["architecture"]["layers"]))):
        z = h @ arrays[f"encoder.{layer}.weight"].astype(np.float64) + arrays[f"decoder.{layer}.bias"]
        h = z.clip(min=0) if layer else z
    return h / arrays["scale.factor"] + arrays["scale.offset"]


def code_loss(c: np.ndarray, p: np.ndarray) -> float:
    """L_c by its definition."""
    return float(np.linalg.norm(c / np.linalg.norm(c) - p / np.linalg.norm(p)))


def command() -> str:
    """The command `dkae`, where it has been built."""
    given = os.environ.get("DKAE_COMMAND")
    found = Path(given) if given else ROOT / "target" / "release" / "dkae"
    if not found.exists():
        assert given is None, f"DKAE_COMMAND names {given}, which is not there"
        pytest.skip("the command is not built: cargo build --release, or set DKAE_COMMAND")
    return str(found)


def run_python(code: str, timeout: float = 120) -> str:
    """The output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout
