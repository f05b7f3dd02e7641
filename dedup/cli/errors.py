"""The error that ends a command."""


class CommandError(Exception):
    """Ends the command with one line and exit code 2."""
