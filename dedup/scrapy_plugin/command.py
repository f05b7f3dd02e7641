"""``scrapy dedup …``: the ``dedup`` command in Scrapy's own list."""

import argparse

from scrapy.commands import ScrapyCommand

from dedup.cli import COMMANDS, main


class Command(ScrapyCommand):
    """Hands its arguments to the ``dedup`` command."""

    requires_crawler_process = False

    def syntax(self) -> str:
        return "COMMAND ..."

    def short_desc(self) -> str:
        return "Look at duplicates: " + ", ".join(COMMANDS)

    def long_desc(self) -> str:
        return f"{self.short_desc()}. scrapy dedup COMMAND --help explains each of them."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        # None of Scrapy's own options: everything that follows belongs to the command.
        parser.set_defaults(profile=None)
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None: ...

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = main([*args, *opts.arguments], program="scrapy dedup")
