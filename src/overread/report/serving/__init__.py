"""The page served to one browser, with every case of its runs behind it.

`server` imports aiohttp: import it when it is needed.
"""
