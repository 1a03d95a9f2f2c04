"""The role `record`: a measured number, read from the records.

`` {record}`search/models/rnnsearch/bleu:.1f` `` prints what
`lookback.lab.records.quote` returns for that path. A path that leads nowhere
is a warning at its line, so it fails the build.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)


class Record(SphinxRole):
    """Replace the path by the number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        from lookback.lab import records

        try:
            text = records.quote(self.text)
        except Exception as error:  # any reader's error, at the text's line
            logger.warning(
                "record %s: %s", self.text, error, location=self.get_location()
            )
            text = self.text
        return [nodes.inline(text, text, classes=["record"])], []


def setup(app: Sphinx) -> dict:
    app.add_role("record", Record())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
