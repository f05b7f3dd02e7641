"""DEDUP_PREFER: better URLs are fetched first, so they are kept; nothing else changes."""

from collections.abc import Iterator
from typing import Any

import pytest
from crawls import crawl, spider_over
from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from texts import article, page
from web import Answer, served

CRITERIA = ["canonical", "https", "clean-url", "newest-version"]
# The same three articles in every version, and a front page that names the oldest first and last.
VERSIONS = ("v1.0", "latest", "v1.10", "dev", "v1.9")
BEST_FIRST = ["latest", "v1.10", "v1.9", "v1.0", "dev"]


def versions_site(versions: Any = VERSIONS) -> dict[str, Any]:
    paths = [f"/{version}/{number}" for version in versions for number in range(3)]
    site = {path: page(article(int(path[-1])), footer=path) for path in paths}
    return {**site, "/": page(article(99), *paths)}


def follow(self: Any, response: Any) -> Iterator[Any]:
    yield {"url": response.url}
    for link in response.css("a"):
        yield response.follow(link, self.parse)


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def run(site: Any, *starts: str, parse: Any = follow, **options: Any) -> tuple[list[str], Any]:
    """The paths in the order in which they were visited, and the crawl."""
    attributes = {name: options.pop(name) for name in ("start",) if name in options}
    visited: list[str] = []

    def visit(self: Any, response: Any) -> Iterator[Any]:
        visited.append(path_of(response.url))
        return parse(self, response)

    with served(site) as url:
        urls = [url + path for path in starts or ("/",)]
        spider = spider_over(*urls, **attributes, parse=visit, root=url)
        result = crawl(spider, **{"DEDUP_PREFER": CRITERIA, **options})
    return visited, result


@pytest.fixture(scope="module")
def preferring() -> tuple[list[str], Any]:
    """The site of versions, the best copies first."""
    return run(versions_site())


@pytest.fixture(scope="module")
def in_scrapys_order() -> tuple[list[str], Any]:
    return run(versions_site(), DEDUP_PREFER=[])


def kept(result: Any) -> list[str]:
    return [path_of(item["url"]) for item in result.items]


def test_the_best_copy_of_each_page_is_kept(preferring: Any):
    visited, result = preferring
    assert kept(result) == ["/", "/latest/2", "/latest/1", "/latest/0"]
    assert [path.split("/")[1] for path in visited[1::3]] == BEST_FIRST
    assert result.messages() == []
    assert "log_count/ERROR" not in result.stats


def test_without_it_the_order_is_that_of_scrapy(in_scrapys_order: Any):
    visited, result = in_scrapys_order
    links = [f"/{version}/{number}" for version in VERSIONS for number in range(3)]
    assert visited == ["/", *reversed(links)]
    assert kept(result) == ["/", "/v1.9/2", "/v1.9/1", "/v1.9/0"]


def test_the_start_requests_are_ordered_too():
    async def start(self: Any) -> Any:
        for path in ("/", "/v1.0/0", "/dev/0", "/latest/0", "/v1.9/0"):
            yield Request(self.root + path)

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}

    visited, _ = run(versions_site(), start=start, parse=parse, DOWNLOAD_DELAY=0.05)
    # The first requests are sent before the others are there.
    assert [path for path in visited if path not in ("/", "/v1.0/0")] == [
        "/latest/0", "/v1.9/0", "/dev/0",
    ]  # fmt: skip


def test_priorities_of_the_spider_decide_first():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.endswith("/"):
            for path, priority in (
                ("/v1.9/0", 0), ("/latest/0", 0), ("/latest/1", -1), ("/v1.0/1", 5), ("/dev/0", 1)
            ):  # fmt: skip
                yield Request(self.root + path, self.parse, priority=priority)

    visited, _ = run(versions_site(), parse=parse)
    assert visited == ["/", "/v1.0/1", "/dev/0", "/latest/0", "/v1.9/0", "/latest/1"]


def test_the_depth_decides_first_where_it_is_to():
    site = {
        "/": page(article(1), "/v1.0/a", "/v1.1/a", "/b"),
        "/v1.0/a": page(article(2)),
        "/v1.1/a": page(article(3)),
        "/b": page(article(4), "/latest/c"),
        "/latest/c": page(article(5)),
    }
    visited, _ = run(site, DEPTH_PRIORITY=1)
    assert visited == ["/", "/b", "/v1.1/a", "/v1.0/a", "/latest/c"]


def test_a_redirected_request_has_the_place_of_its_new_url():
    site = versions_site(["latest", "v1.0"])
    site["/"] = page(article(99), "/go", "/v1.0/0", "/latest/0")
    site["/go"] = Answer(b"", 302, headers={"Location": "/dev/9"})
    site["/dev/9"] = page(article(9))
    visited, _ = run(site, REDIRECT_PRIORITY_ADJUST=0)
    assert visited == ["/", "/latest/0", "/v1.0/0", "/dev/9"]


@pytest.mark.slow
@pytest.mark.parametrize("queue", ["PickleLifo", "MarshalFifo"])
def test_a_job_goes_on_in_the_same_order(tmp_path: Any, queue: str):
    options = {
        "JOBDIR": str(tmp_path / "job"),
        "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.{queue}DiskQueue",
    }
    all_visited: list[str] = []
    with served(versions_site()) as url:
        for _ in range(20):
            visited: list[str] = []

            def visit(self: Any, response: Any, visited: list[str] = visited) -> Iterator[Any]:
                visited.append(path_of(response.url))
                return follow(self, response)

            spider = spider_over(f"{url}/", parse=visit)
            result = crawl(spider, DEDUP_PREFER=CRITERIA, CLOSESPIDER_PAGECOUNT=4, **options)
            all_visited += visited
            if result.stats["finish_reason"] == "finished":
                break
    linked = [path for path in all_visited if path != "/"]  # where each run starts anew
    assert len(linked) == 15
    assert [path.split("/")[1] for path in linked[::3]] == BEST_FIRST
    assert "log_count/ERROR" not in result.stats


@pytest.mark.slow
def test_a_site_cannot_have_any_number_of_queues(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    paths = [f"/{major}.{minor}/" for major in range(10, 30) for minor in range(15)]
    most = 0
    push = ScrapyPriorityQueue.push

    def counting_push(self: Any, request: Any) -> None:
        nonlocal most
        push(self, request)
        most = max(most, len(self.queues) + len(self._start_queues))

    monkeypatch.setattr(ScrapyPriorityQueue, "push", counting_push)
    site = {path: page(article(n, 30), footer=path) for n, path in enumerate(paths)}
    site["/"] = page(article(9999), *paths)
    visited, _ = run(site, JOBDIR=str(tmp_path / "job"), DEDUP_ENABLED=True)
    assert sorted(visited) == sorted(["/", *paths])
    # One more for those of each priority that find no other.
    assert 200 < most <= 257


def test_a_criterion_of_ones_own_decides():
    def fewer_zeros(copy: Any) -> int:
        return copy.url.count("0")

    site = {f"/{name}": page(article(1), footer=name) for name in ("0000", "00", "0x")}
    site["/"] = page(article(99), *site)
    visited, result = run(site, DEDUP_PREFER=[fewer_zeros])
    assert visited == ["/", "/0x", "/00", "/0000"]
    assert kept(result) == ["/", "/0x"]


def test_a_criterion_that_fails_is_told_of_and_loses_no_page():
    def failing(copy: Any) -> int:
        raise RuntimeError("no idea")

    visited, result = run(versions_site(), DEDUP_PREFER=[failing])
    assert len(visited) == 16
    # Of each request, and of each duplicate.
    assert result.dedup_stats["errors"] == 16 + len(result.dropped)
    [message] = result.messages()
    assert "the preference of <" in message


def test_a_queue_of_the_project_stays_and_the_log_says_so(in_scrapys_order: Any):
    queue = "scrapy.pqueues.ScrapyPriorityQueue"
    visited, result = run(versions_site(), SCHEDULER_PRIORITY_QUEUE=queue)
    assert result.messages() == [
        "SCHEDULER_PRIORITY_QUEUE lacks dedup.scrapy_plugin.PreferenceQueue"
    ]
    assert visited == in_scrapys_order[0]


def test_the_queue_can_be_set_by_hand():
    addon = "dedup.scrapy_plugin."
    visited, result = run(
        versions_site(),
        ADDONS={},
        EXTENSIONS={f"{addon}Extension": 500},
        SPIDER_MIDDLEWARES={
            f"{addon}SpiderMiddleware": 10,
            f"{addon}InnerSpiderMiddleware": 1000,
        },
        ITEM_PIPELINES={f"{addon}ItemPipeline": 0},
        DOWNLOADER_MIDDLEWARES={f"{addon}DownloaderMiddleware": 10},
        SCHEDULER_PRIORITY_QUEUE=f"{addon}PreferenceQueue",
    )
    assert visited[1:4] == ["/latest/2", "/latest/1", "/latest/0"]
    assert result.messages() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"DEDUP_ENABLED": False}, {"DEDUP_ENABLED": False, "DEDUP_FIELDS": {"text": "text"}}],
)
def test_a_layer_that_is_off_orders_nothing(options: Any, in_scrapys_order: Any):
    visited, _ = run(versions_site(), **options)
    assert visited == in_scrapys_order[0]
