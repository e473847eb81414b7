"""The renderer of figures as a program of its own: specifications come in, drawings go out.

To start the renderer takes a third of a second and 100 MB, in which the interpreter does nothing
else: here it starts on another core, and draws there. `drawings.py` starts this module
(`beside.py`). A drawing that fails is answered by an empty one.
"""

from __future__ import annotations

import os

from vl_convert import vegalite_to_svg

from overread.beside import serve


def answer(specification: bytes) -> bytes:
    """The drawing of a specification."""
    try:
        return vegalite_to_svg(specification.decode(), allowed_base_urls=[]).encode()
    except ValueError:
        return b""


if __name__ == "__main__":
    os.nice(10)  # while questions are asked it takes what they leave
    vegalite_to_svg('{"mark": "point"}')  # it starts with the first
    serve(answer)
