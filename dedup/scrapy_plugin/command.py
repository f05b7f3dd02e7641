"""``scrapy dedup …``: the ``dedup`` command in Scrapy's own list."""

import argparse
import os
import sys

from scrapy.commands import ScrapyCommand

from dedup.cli import COMMANDS, main


class Command(ScrapyCommand):
    """Hands its arguments to the ``dedup`` command, and the secret of the project."""

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
        secret = self.settings.get("DEDUP_SECRET") if self.settings else None
        if secret is not None:
            try:
                # The environment is not shown to others, as arguments are.
                os.environ["DEDUP_SECRET"] = secret
            except (TypeError, ValueError):
                print(
                    "scrapy dedup: DEDUP_SECRET must be a string without null characters",
                    file=sys.stderr,
                )
                self.exitcode = 2
                return
        self.exitcode = main([*args, *opts.arguments], program="scrapy dedup")
