"""A hook of MkDocs: README is the first page of the site, and links lead to pages of the site.

A link such as `../attnjax/attention/mask.py` leads to the file, on the site as in the repository:
a file outside docs that a page links to becomes a page, Markdown rendered, all else as source. A
link to a folder becomes plain text. A link to what is not there stays, and fails a strict build.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:)([^)#\s]+)(#[^)\s]+)?\)")
MARK = re.compile("<!-- .*? -->")
RENDERED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""The files outside docs that are pages as they stand, and where they are on the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the rendered files, and a page for each other file outside docs that a page links to."""
    for path, page in RENDERED.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        # Markdown begins a new paragraph at a line that begins with a mark of results.py
        files.append(File.generated(config, page, content=MARK.sub("", text)))
    for file in list(files.documentation_pages()):
        for _, link, _ in LINK.findall(file.content_string):
            path = _linked(file.src_uri, link)
            if path and (ROOT / path).is_file():
                page = _page_of(path)
                if page not in files.src_uris:
                    files.append(File.generated(config, page, content=_source_page(path)))
    return files


def on_page_markdown(markdown: str, page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to the pages of their files."""
    here = page.file.src_uri
    if here.startswith("source/"):
        return markdown

    def replaced(link: re.Match[str]) -> str:
        text, path, section = link[1], _linked(here, link[2]), link[3] or ""
        if path is None:
            return link[0]
        if (ROOT / path).is_dir():
            return text
        return f"[{text}]({posixpath.relpath(_page_of(path), posixpath.dirname(here))}{section})"

    return LINK.sub(replaced, markdown)


def _linked(page: str, link: str) -> str | None:
    """Return the path, from the root, of what a link of a page leads to; None: it is not there."""
    files = {shown: path for path, shown in RENDERED.items()}
    path = ROOT.joinpath(files.get(page, f"docs/{page}")).parent.joinpath(link).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        return None
    return path.relative_to(ROOT).as_posix()


def _page_of(path: str) -> str:
    """Return where a file of the checkout is on the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return RENDERED.get(path, f"source/{path}.md")


def _source_page(path: str) -> str:
    language = {".py": "python", ".toml": "toml"}.get(Path(path).suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n``````{language}\n{text}``````\n"
