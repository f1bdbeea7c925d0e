"""``python -m pytrace``."""

from pytrace.cli.main import main

main(prog_name="pytrace")
