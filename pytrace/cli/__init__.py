"""The command line: one file a command; it parses options, asks ``trace``, and hands the answer to ``render``."""
