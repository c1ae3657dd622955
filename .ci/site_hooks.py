"""Hook of the site's build (mkdocs.yml): links out of docs/ lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<=\]\()(?P<path>(?:\.\./)+[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Make the links of a page to files outside of docs/ absolute."""
    repository = config["repo_url"]
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def absolute(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match["path"]))
        return match[0] if target.startswith("docs/") else f"{repository}/blob/main/{target}{match['anchor'] or ''}"

    return LINK.sub(absolute, markdown)
