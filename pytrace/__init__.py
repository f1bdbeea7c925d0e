"""pytrace: a cross-layer index of a PyTorch source checkout."""

__version__ = "0.1.0"
