"""`python without_cuda.py SCRIPT|MODULE WORDS …`: run it where torch is the build without CUDA.

Beside such a torch, torchvision as the index has it misses its operators and cannot be imported.
Neither tool uses them for what is measured here: they are declared, and nothing stands behind them.
"""

import runpy
import sys

import torch

try:
    import torchvision  # noqa: F401
except RuntimeError:
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")

if __name__ == "__main__":
    del sys.argv[0]
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
