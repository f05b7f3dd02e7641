"""Workers of scrapy-redis on one queue: real processes, over a real Redis server."""

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from projects import Project
from redis import Redis
from redis_server import RedisServer, redis_server
from test_fleet import CONTENTS, ONCE, copies, ended, stat, wait_until
from test_recipes import block_with
from web import Answer, served

pytest.importorskip("scrapy_redis", reason="needs scrapy-redis: .[test-all]")
pytestmark = pytest.mark.slow

WORKER = """
from scrapy_redis.spiders import RedisSpider


class Worker(RedisSpider):
    name = "worker"

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""
QUEUE = "worker:start_urls"


def settings_of_the_recipe(server: RedisServer) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    exec(block_with("scrapy_redis.scheduler"), settings)
    del settings["__builtins__"]
    local = server.url.removesuffix("/0")
    shown = "redis://localhost:6379"
    return {
        name: value.replace(shown, local) if isinstance(value, str) else value
        for name, value in settings.items()
    }


class Workers:
    """Two workers with a queue of a site, each with a feed of its own."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.project = Project(
            folder / "workers",
            {},
            CONCURRENT_REQUESTS=2,
            DOWNLOAD_DELAY=0.25,  # one that is idle asks for requests every five seconds
            DEDUP_WORKERS=0,
            DEDUP_MAX_DISTANCE=8,
            **settings,
        )
        spider = self.project.folder / "project" / "spiders" / "worker.py"
        spider.write_text(WORKER)

    def start(self, number: int) -> "subprocess.Popen[str]":
        """Start one, and return when it waits for requests."""
        log = self.project.folder / f"{number}.log"
        log.touch()
        options = ("-o", f"{number}.jsonl", "--logfile", str(log))
        process = self.project.start("crawl", "worker", *options)
        wait_until(lambda: "Spider opened" in log.read_text() or process.poll() is not None)
        return process

    def stop(self, *processes: "subprocess.Popen[str]") -> list[str]:
        """Stop them as Ctrl-C does; return their logs."""
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            ended(process)
        return [path.read_text() for path in sorted(self.project.folder.glob("*.log"))]

    def contents(self) -> Counter[str]:
        """How often each content is in the feeds; the page of links has none."""
        lines = "".join(path.read_text() for path in self.project.folder.glob("*.jsonl"))
        urls = [json.loads(line)["url"] for line in lines.splitlines()]
        return Counter(url.split("/")[3] for url in urls if not url.endswith("/"))


def test_workers_of_one_queue_store_each_content_once_also_where_one_is_stopped_and_goes_on(
    tmp_path: Path,
):
    links = "".join(f'<p><a href="{path}">{path}</a>' for path in copies())
    pages = {"/": f"<html><title>All</title><body>{links}", **copies()}
    asked: list[str] = []

    def answer(path: str, _: Any) -> Answer:
        asked.append(path)
        return Answer(pages[path].encode())

    with redis_server() as server, served(answer) as site, Redis(port=server.port) as client:
        workers = Workers(tmp_path, **settings_of_the_recipe(server))
        first = workers.start(0)
        client.lpush(QUEUE, json.dumps({"url": f"{site}/"}))
        wait_until(lambda: len(asked) > CONTENTS)
        workers.stop(first)
        assert len(asked) < len(pages), "it was stopped too late"
        both = [workers.start(number) for number in (1, 2)]
        wait_until(lambda: {*asked} >= pages.keys())
        logs = workers.stop(*both)
    assert workers.contents() == ONCE, "\n".join(logs)
    assert sorted(asked) == sorted(pages)
    for log in logs:
        assert "log_count/ERROR" not in log, log
        assert stat(log, "dedup/pages"), "the others have done it all"
    assert sum(stat(log, "dedup/pages") for log in logs) >= 3 * CONTENTS
