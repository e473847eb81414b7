"""The process behind `real_model`: llama.cpp's server on a free loopback port."""

from __future__ import annotations

import argparse
import os
import signal
import threading

import xllamacpp


def serve() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--projector")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--api-key")
    args = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.model_alias = {"smollm2"}
    if args.projector:
        params.mmproj.path = args.projector
    if args.api_key:
        params.api_keys = [args.api_key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = args.parallel
    params.n_ctx = args.context * args.parallel
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.verbosity = 2
    # Exit as soon as told to: tearing the server down may wait for requests under way.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=end_with_standard_input, daemon=True).start()
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}/v1", flush=True)
    threading.Event().wait()


def end_with_standard_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    serve()
