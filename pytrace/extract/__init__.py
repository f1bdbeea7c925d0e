"""Per-file extraction: bytes in, facts out, one module per kind of source."""
