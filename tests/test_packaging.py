"""What is built and installed, in environments of its own and outside of this folder.

They need an index of packages, as any first installation does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from texts import article, page
from web import served

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
[FIRST_COMMAND] = re.findall(r"^python3 .*scrapy crawl.*$", (ROOT / "README.md").read_text(), re.M)
SOURCES = [
    "CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "crawler", "dedup", "docs",
    "pyproject.toml", "scrapy.cfg", "tests",
]  # fmt: skip
DATA = {
    "dedup/stores/requests.sql",
    "dedup/stores/schema.sql",
    "dedup/stores/redis_log.lua",
    "dedup/stores/postgres_log.sql",
    "dedup/py.typed",
    *(str(path.relative_to(ROOT)) for path in ROOT.glob("dedup/report/templates/*")),
}
SPIDER = """
import scrapy

class TownSpider(scrapy.Spider):
    name = "town"

    def parse(self, response):
        yield {"url": response.url}
"""
SETTINGS = """
ADDONS = {"dedup.scrapy_plugin.Addon": 500}
DEDUP_INDEX = "pages.sqlite"
DEDUP_REPORT = "reports"
DOWNLOAD_DELAY = 0
"""


def run(command: str, folder: Path, *, timeout: float = 600) -> str:
    """Return what a shell prints; ``python3`` is not that of the tests, which may have no pip."""
    environment = {
        **os.environ,
        "PATH": f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_COMPILE": "1",  # takes longer than to install
    }
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def install(environment: str, requirements: str) -> str:
    """Return the command that makes *environment* with *requirements* in it."""
    return (
        f"python3 -m venv --without-pip {environment} && "
        f"python3 -m pip --python {environment}/bin/python install -q {requirements}"
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this folder, in which may be built."""
    folder = tmp_path_factory.mktemp("checkout")
    try:
        run("python3 -m pip download -q --no-deps 'setuptools>=77' -d setuptools", folder)
    except AssertionError as error:
        pytest.skip(f"no package can be installed here: {error}")
    ignored = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    build = 'from setuptools.build_meta import build_sdist; build_sdist("built")'
    run(f"{install('build-env', 'setuptools')} && build-env/bin/python -c '{build}'", checkout)
    [path] = checkout.glob("built/*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    run(f"python3 -m pip wheel -q --no-deps {sdist}", sdist.parent)
    [path] = sdist.parent.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def editable(checkout: Path) -> Iterator[Path]:
    """The environment that the first command of the README makes."""
    run(FIRST_COMMAND, checkout)
    yield checkout / ".venv"
    shutil.rmtree(checkout / ".venv")


@pytest.fixture(scope="module")
def commands(editable: Path, wheel: Path) -> Path:
    """The commands of that environment, with the wheel in place of the folder."""
    pip = f"python3 -m pip --python {editable}/bin/python install -q --no-deps --force-reinstall"
    run(f"{pip} {wheel}", wheel.parent)
    return editable / "bin"


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_wheel_holds_the_layer_alone(wheel: Path):
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"dedup", "scrapy_dedup-0.1.0.dist-info"}
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("dedup/**/*.py")}
    assert {name for name in names if name.startswith("dedup/")} == modules | DATA


def test_the_sdist_holds_what_makes_the_wheel(sdist: Path):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {""}
    assert {name.partition("/")[0] for name in names} == {
        "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "dedup", "pyproject.toml",
        "scrapy_dedup.egg-info", "setup.cfg",
    }  # fmt: skip
    assert names >= DATA


@pytest.mark.usefixtures("editable")
def test_the_first_command_of_the_readme_crawls_the_site(checkout: Path):
    assert len(json_lines(checkout / "pages.jsonl")) == 57
    assert len(list((checkout / "reports").glob("*Z.html"))) == 1


def test_a_users_project_may_have_the_name_of_ours(commands: Path, tmp_path: Path):
    run(f"{commands}/scrapy startproject crawler", tmp_path)
    project = tmp_path / "crawler"
    (project / "crawler" / "spiders" / "town.py").write_text(SPIDER)
    with (project / "crawler" / "settings.py").open("a") as settings:
        settings.write(SETTINGS)
    assert run(f"{commands}/scrapy list", project) == "town\n"
    pages = {"/one": page(article(1)), "/two": page(article(2)), "/copy": page(article(1))}
    with served(pages) as url:
        starts = ",".join(url + path for path in pages)
        (project / "crawler" / "spiders" / "town.py").write_text(
            f"{SPIDER}\n    start_urls = {starts!r}.split(',')\n    custom_settings = "
            "{'CONCURRENT_REQUESTS': 1, 'ROBOTSTXT_OBEY': False}\n"
        )
        run(f"{commands}/scrapy crawl town -O pages.jsonl", project)
    stored = [item["url"] for item in json_lines(project / "pages.jsonl")]
    assert stored == [f"{url}/one", f"{url}/two"]
    [report] = (project / "reports").glob("*Z.html")
    assert f"{url}/copy" in report.read_text()
    assert "usage: dedup" in run(f"{commands}/dedup --help", project)
    assert "2 that count" in run(f"{commands}/dedup report pages.sqlite", project)
    assert "2 that count" in run(f"{commands}/scrapy dedup report pages.sqlite", project)
    run(f"{commands}/dedup report pages.sqlite -o again.html", project)
    assert f"{url}/copy" in (project / "again.html").read_text()


NEED_AN_EXTRA = {"redis_log", "postgres_log"}


def test_every_module_is_imported_with_what_is_installed(commands: Path, tmp_path: Path):
    """But for those that need an extra, which is said where they are used."""
    names = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in ROOT.glob("dedup/**/*.py")
        if path.stem not in {"__init__", "__main__", *NEED_AN_EXTRA} and "spark" not in path.parts
    )
    (tmp_path / "names.txt").write_text("\n".join(names))
    load = (
        "from importlib import import_module; [import_module(n.strip()) for n in open('names.txt')]"
    )
    run(f'{commands}/python -c "{load}"', tmp_path)
