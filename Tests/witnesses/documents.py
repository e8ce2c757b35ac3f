"""The programs and files that the documents show, as they are printed."""

import re

from programs import ROOT


def blocks_in(document, language):
    """The blocks of a language in a document, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.S | re.M)


def block_with(text, document, language):
    """The first of these blocks that has `text` in it."""
    for block in blocks_in(document, language):
        if text in block:
            return block
    raise AssertionError(f"{document} has no {language} block with {text!r} in it")
