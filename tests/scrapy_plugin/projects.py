"""Projects on disk, as `scrapy startproject` makes them, and Scrapy's commands in processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from texts import article, page
from web import Answer

ROOT = Path(__file__).parents[2]
SECONDS = 60
_SECONDS_HELD = 600
SPIDER = '''
import scrapy


class {name}(scrapy.Spider):
    name = "{name}"
    start_urls = {urls!r}

    def parse(self, response):
        """
        @url {contract}
        @returns items 1 1
        """
        yield {{"url": response.url, "text": None}}
'''


STORAGE = """
class Storage:
    def process_item(self, item):
        return item
"""


class Project:
    """A project with some spiders; its settings can be given to each command with ``-s``."""

    def __init__(self, folder: Path, spiders: dict[str, list[str]], **settings: Any) -> None:
        """Make it; *spiders*: the URLs that each of them crawls, by its name."""
        self.folder = folder
        package = folder / "project"
        (package / "spiders").mkdir(parents=True)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
        (package / "__init__.py").touch()
        (package / "spiders" / "__init__.py").touch()
        settings = {
            "SPIDER_MODULES": ["project.spiders"],
            "NEWSPIDER_MODULE": "project.spiders",
            "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOAD_TIMEOUT": _SECONDS_HELD,
            "LOG_LEVEL": "INFO",
            "ITEM_PIPELINES": {"project.pipelines.Storage": 300},
            **settings,
        }
        lines = [f"{name} = {value!r}\n" for name, value in settings.items()]
        (package / "settings.py").write_text("".join(lines))
        (package / "pipelines.py").write_text(STORAGE)
        for name, urls in spiders.items():
            text = SPIDER.format(name=name, urls=urls, contract=urls[0])
            (package / "spiders" / f"{name}.py").write_text(text)

    def start(self, *command: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a command of Scrapy; both of its outputs are one."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder.parent),
            "BROWSER": "true",
            "EDITOR": "true",
        }
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        command = (sys.executable, "-m", "scrapy", *command)
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, **options)

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command of Scrapy; return its exit code and what it wrote."""
        with self.start(*command) as process:
            output, _ = process.communicate(timeout=SECONDS)
        return process.returncode, output

    def files(self) -> set[str]:
        return {
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }


class HeldPages(dict[str, Any]):
    """Pages of a server that answers a request for ``/held`` when it is let go."""

    def __init__(self) -> None:
        super().__init__({f"/{number}": page(article(number + 1)) for number in range(6)})
        self["/held"] = Answer(b"")  # nothing to remember
        self.asked = Event()
        self.go = Event()

    def get(self, path: str, default: Any = None) -> Any:
        if path == "/held":
            self.asked.set()
            self.go.wait(_SECONDS_HELD)
        return super().get(path, default)


@contextmanager
def crawl_under_way(
    project: Project, pages: HeldPages, *command: str
) -> Iterator["subprocess.Popen[str]"]:
    """Yield a crawl that waits for ``/held``, and let it go afterwards."""
    with project.start(*command) as process:
        try:
            assert pages.asked.wait(SECONDS)
            yield process
        finally:
            pages.go.set()
            process.communicate(timeout=SECONDS)
