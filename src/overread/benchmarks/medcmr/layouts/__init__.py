"""Sets that a laboratory has already, each read as it lies there; one module for each."""
