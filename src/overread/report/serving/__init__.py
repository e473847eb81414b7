"""The page served to one browser, with every case of its runs behind it.

`serving` imports aiohttp: import it from `overread.report.serving.server` when it is needed.
"""

from overread.report.serving.browsable import Browsable, Found, find

__all__ = ["Browsable", "Found", "find"]
