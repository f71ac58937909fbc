"""The tied autoencoder in PyTorch, as fast as plain PyTorch makes it."""
import math
import os

import torch
import torch.nn.functional as F

# Before any thread starts, so that all of them inherit it. Without it saturated units slow a step down by up to 2 x.
torch.set_flush_denormal(True)
# As many as this process may use, hyperthreads too, as on our side.
torch.set_num_threads(len(os.sched_getaffinity(0)))


def from_file(path):
    """Layers (weight out x in, bias, bias of the decoder) of a model file."""
    from safetensors.torch import load_file

    tensors = load_file(path)
    count = sum(name.startswith("encoder.") and name.endswith(".weight") for name in tensors)
    return [[tensors[f"encoder.{l}.weight"], tensors[f"encoder.{l}.bias"], tensors[f"decoder.{l}.bias"]] for l in range(count)]


def glorot(widths):
    """New layers between these widths."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        limit = math.sqrt(6 / (inputs + outputs))
        layers.append([torch.empty(outputs, inputs).uniform_(-limit, limit), torch.zeros(outputs), torch.zeros(inputs)])
    return layers


def encode(layers, x, first=0, last=None, out=None):
    """Rows at level `first` to level `last`: relu, but for the code, which is linear and goes to `out` if there is one."""
    last = len(layers) if last is None else last
    for l in range(first, last):
        if out is not None and l + 1 == len(layers):
            return torch.addmm(layers[l][1], x, layers[l][0].t(), out=out)
        x = F.linear(x, layers[l][0], layers[l][1])
        if l + 1 < len(layers):
            x = F.relu(x)
    return x


def decode(layers, z, last=None, first=0, out=None):
    """Level `last` back to level `first`: relu, but for the rows, which are sigmoids and go to `out` if there is one."""
    last = len(layers) if last is None else last
    for l in reversed(range(first, last)):
        if out is not None and l == 0:
            return torch.addmm(layers[l][2], z, layers[l][0], out=out).sigmoid_()
        z = F.linear(z, layers[l][0].t(), layers[l][2])
        z = torch.sigmoid(z) if l == 0 else F.relu(z)
    return z


def code_loss(z, p):
    c = z @ z.t()
    return torch.linalg.norm(c / torch.linalg.norm(c) - p / torch.linalg.norm(p))


def losses(layers, x, p, lam, first=0, last=None):
    """Both losses of a batch at level `first`, and their sum; without `p` the code loss takes no part."""
    z = encode(layers, x, first, last)
    reconstruction = F.mse_loss(decode(layers, z, last, first), x)
    if p is None:
        return reconstruction, reconstruction, None
    code = code_loss(z, p)
    return (1 - lam) * reconstruction + lam * code, reconstruction, code


class Steps:
    """Training steps on the layers from `first` to `last` of a stack."""

    def __init__(self, layers, x, prior, lam, rate, compiled, first=0, last=None):
        last = len(layers) if last is None else last
        self.layers, self.x, self.prior, self.lam, self.first, self.last = layers, x, prior, lam, first, last
        parameters = [t.requires_grad_() for layer in layers[first:last] for t in layer]
        self.adam = torch.optim.Adam(parameters, lr=rate, eps=1e-8, fused=True)
        self.losses = torch.compile(losses) if compiled else losses

    def step(self, batch):
        """One step; the losses of the batch before it."""
        x = self.x[batch]
        if self.first > 0:
            with torch.no_grad():
                x = encode(self.layers, x, 0, self.first)
        p = None if self.prior is None else self.prior[batch[:, None], batch]
        total, reconstruction, code = self.losses(self.layers, x, p, self.lam, self.first, self.last)
        self.adam.zero_grad(set_to_none=True)
        total.backward()
        self.adam.step()
        return reconstruction.detach(), None if code is None else code.detach()

    def rate(self, rate):
        for group in self.adam.param_groups:
            group["lr"] = rate

    def release(self):
        """Ends the training of these layers."""
        for layer in self.layers[self.first : self.last]:
            for t in layer:
                t.requires_grad_(False)
                t.grad = None
