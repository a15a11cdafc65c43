"""A hook of MkDocs: files of the checkout that a page links to become pages of the site.

A link such as `../attnjax/attention/score.py` leads to the file, on the site as in the repository.
A link to a folder becomes plain text. A link to what is not there stays, and fails a strict build.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#]+)\)")


def _outside(page: str, link: str) -> Path | None:
    """The path, from the root, of what a link leads to; None: it is a page, or it is not there."""
    path = (DOCS / page).parent.joinpath(link).resolve()
    if not path.exists() or path.is_relative_to(DOCS) or not path.is_relative_to(ROOT):
        return None
    return path.relative_to(ROOT)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside `docs` that a page links to."""
    for page in list(files.documentation_pages()):
        for _, link in LINK.findall(page.content_string):
            path = _outside(page.src_uri, link)
            if path and (ROOT / path).is_file():
                name = f"source/{path.as_posix()}.md"
                if name not in files.src_uris:
                    files.append(File.generated(config, name, content=_source_page(path)))
    return files


def _source_page(path: Path) -> str:
    language = {".py": "python", ".toml": "toml", ".md": "markdown"}.get(path.suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n``````{language}\n{text}``````\n"


def on_page_markdown(markdown: str, page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to the pages of their files."""
    up = "../" * page.file.src_uri.count("/")

    def replaced(link: re.Match[str]) -> str:
        path = _outside(page.file.src_uri, link[2])
        if path is None or page.file.src_uri.startswith("source/"):
            return link[0]
        if (ROOT / path).is_dir():
            return link[1]
        return f"[{link[1]}]({up}source/{path.as_posix()}.md)"

    return LINK.sub(replaced, markdown)
