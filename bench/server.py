"""A loopback chat server to measure against: fast, slow, hostile, or a control behind HTTP.

    python bench/server.py --mode instant
    python bench/server.py --mode hostile --seed 3 --trouble 429,hang,truncated --max-troubles 2
    python bench/server.py --control looks
    python bench/server.py --control MODULE:ATTRIBUTE --videos --thin 4

It answers POST /v1/chat/completions and GET /v1/models as OpenAI-compatible servers do, and prints
`listening http://127.0.0.1:PORT/v1` when ready. It is written on the bare transport because a
benchmark's server must be faster than the client it measures: requests are read into one reused
buffer per connection and, in instant mode, the body is never looked at.

GET /stats tells what arrived (`frames` counts pictures and the frames of videos), GET /bodies how
often each body was asked and answered.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

import uvloop

from chat_server.connection import Connection
from chat_server.house import House
from chat_server.readers import SIGHTS
from chat_server.troubles import TROUBLES


async def serve(args: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, done.set)
    house = House(args)
    server = await loop.create_server(lambda: Connection(house), "127.0.0.1", args.port)
    house.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    watch = loop.create_task(outlive_nobody(done)) if args.with_parent else None
    print(f"listening {house.origin}/v1", flush=True)
    await done.wait()
    if watch:
        watch.cancel()
    server.close()


async def outlive_nobody(done: asyncio.Event) -> None:
    """End with the parent: when it closes our standard input, or is gone."""
    parent = os.getppid()
    os.set_blocking(0, False)
    while os.getppid() == parent:
        try:
            if os.read(0, 4096) == b"":
                break
        except BlockingIOError:
            pass
        await asyncio.sleep(0.1)
    done.set()


def kinds(text: str) -> tuple[str, ...]:
    chosen = tuple(each.strip() for each in text.split(",") if each.strip())
    unknown = [each for each in chosen if each not in TROUBLES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(TROUBLES)}")
    return chosen


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--mode", choices=("instant", "slow", "hostile", "digits"), default="instant")
    add("--delay", type=float, help="seconds before every answer (slow: 0.05; otherwise 0)")
    add("--port", type=int, default=0, help="0 takes a free one")
    add("--control", metavar="NAME", help="answer as this grounding control, or MODULE:ATTRIBUTE")
    add("--sight", choices=SIGHTS, default="blind", help="how the digits mode fails to read")
    add("--videos", action="store_true", help="a control understands video_url; else it is a 400")
    add("--thin", type=int, default=0, metavar="N", help="a control gets N frames; says nothing")
    add("--seed", type=int, default=0)
    add("--trouble", type=kinds, default=TROUBLES, metavar="KIND,...", help=", ".join(TROUBLES))
    add("--min-troubles", type=int, default=0, help="fewest troubles before a body is answered")
    add("--max-troubles", type=int, default=2, help="most troubles before a body is answered")
    add("--permanent-share", type=float, default=0.03, help="bodies refused for ever (400, 307)")
    add("--retry-after", type=int, default=1, help="what a 429 asks for, in seconds")
    add("--reply", choices=("yes", "digest"), default="yes", help="or the body's own SHA-256")
    add("--tally", action="store_true", help="tell bodies apart in instant mode too")
    add("--keep", type=int, default=0, metavar="N", help="show the last N bodies at /kept")
    add("--log", metavar="FILE", help="append the SHA-256 of every answered body, a line each")
    add("--with-parent", action="store_true", help="end when standard input closes")
    args = parser.parse_args(argv)
    if args.delay is None:
        args.delay = 0.05 if args.mode == "slow" else 0.0
    if args.control and args.mode == "digits":
        parser.error("--control and --mode digits exclude each other")
    if (args.videos or args.thin) and not args.control:
        parser.error("--videos and --thin need a --control, which is shown the frames")
    if args.thin < 0:
        parser.error("--thin is a number of frames, 1 or more")
    return args


def main() -> int:
    uvloop.run(serve(parse()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
