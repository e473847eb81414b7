"""The parts of the loopback chat server that `bench/server.py` starts."""
