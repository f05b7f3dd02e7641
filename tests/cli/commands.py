"""The command, run as people and programs run it."""

from dedup.cli import main


def run(capsys, *arguments):
    """The exit code of the command, its output and what it says on stderr."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def read_terminal(control):
    """All that is written to a terminal until nobody has it open; *control* is closed."""
    shown = b""
    with open(control, "rb", buffering=0) as output:
        while True:
            try:
                shown += output.read(65536)
            except OSError:  # that is how a terminal ends
                return shown
