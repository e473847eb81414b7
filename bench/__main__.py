"""`make bench`: every speed claim of the project, measured in one run and printed as JSON.

Ratios, not times: both sides of each comparison run here and now, and what commands take is told
in beats of a loop (`calibration.py`). Exits 1 when one does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from bench import (
    category,
    clips,
    commands,
    coverage,
    heartbeat,
    measuring,
    medcmr,
    million,
    multireader,
    on_ray,
    peers,
    probe,
    rendering,
    report,
    scale,
    throughput,
)

BENCHES = {
    "throughput": throughput.against_bare_aiohttp,
    "rendering": rendering.against_codecs,
    "slow server": throughput.against_a_slow_server,
    "clips": clips.against_the_decoder,
    "heartbeat": heartbeat.paper_size,
    "medcmr": medcmr.from_the_archive,
    "million": million.flat_memory,
    "ray": on_ray.against_local,
    "million on ray": on_ray.flat_memory,
    "scale": scale.on_paper,
    "measuring": measuring.full_size,
    "report": report.of_all_sizes,
    "commands": commands.against_the_loop,
    "coverage": coverage.of_every_measure,
    "category": category.of_every_setting,
    "multireader": multireader.of_every_design,
    "probe": probe.of_a_head,
    "peers": peers.against_peers,
}
# Minutes each: simulated studies, and a million trials by one more way.
ASKED_FOR = ("coverage", "category", "multireader", "million on ray", "scale")


def usual() -> list[str]:
    """All speed claims; the other tools' where they are installed (make bench-peers)."""
    leave = {*ASKED_FOR, *([] if peers.installed() else ["peers"])}
    leave |= {"ray"} if not on_ray.installed() else set()
    return [name for name in BENCHES if name not in leave]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="*", help=", ".join(BENCHES))
    chosen = parser.parse_args().only or usual()
    # Without compiled modules every command would take a second longer, ours and others'.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    results = {}
    for name in chosen:
        if name not in BENCHES:
            parser.error(f"{name!r} is none of {', '.join(BENCHES)}")
        print(f"{name} …", file=sys.stderr, flush=True)
        results[name] = BENCHES[name]()
    print(json.dumps(results, indent=2))
    return 0 if all(result["ok"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
