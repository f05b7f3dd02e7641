"""Sphinx builds the documentation site from the Markdown of this folder, without a network.

``python -m sphinx -W docs site`` writes it into the folder ``site``.
"""

import os
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dedup import __version__
from dedup.cli import COMMANDS, main

project = "scrapy-dedup"
author = "The scrapy-dedup authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]  # GitHub shows a directive in colons as a paragraph
myst_heading_anchors = 4  # the anchors that GitHub makes

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"scrapy-dedup {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False


class CommandsHelp(SphinxDirective):
    """``{commands-help}``: what ``dedup COMMAND --help`` prints, for every command."""

    def run(self) -> list[nodes.Node]:
        parts = []
        for name in COMMANDS:
            with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
                main([name, "--help"])
            parts += [f"## dedup {name}", f"````text\n{printed.getvalue()}````"]
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)


class ApiReference(SphinxDirective):
    """``{api-reference}``: the docstrings of all public names, which api.txt lists."""

    def run(self) -> list[nodes.Node]:
        names = (Path(__file__).parent / "api.txt").read_text("utf-8")
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n{names}```")


def setup(app: Sphinx) -> dict[str, bool]:
    os.environ["COLUMNS"] = "88"
    app.add_directive("commands-help", CommandsHelp)
    app.add_directive("api-reference", ApiReference)
    return {"parallel_read_safe": True}
