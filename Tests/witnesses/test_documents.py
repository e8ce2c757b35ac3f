"""The documents: what their links and the sources' comments lead to exists, and each guide is found from README.md."""

import re
import subprocess
from pathlib import PurePosixPath

import pytest

from programs import ROOT


def tracked(*patterns):
    """The files of the repository, those that git ignores left out."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


FILES = set(tracked())
FOLDERS = {str(parent) for name in FILES for parent in PurePosixPath(name).parents}
DOCUMENTS = [name for name in sorted(FILES) if name.endswith(".md")]


def prose_of(document):
    """The text of a document without its blocks of code, and without code in a line."""
    text = re.sub(r"^(```+).*?^\1 *$", "", (ROOT / document).read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors_of(document):
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^(```+).*?^\1 *$", "", (ROOT / document).read_text(), flags=re.S | re.M)
    found = []
    for title in re.findall(r"^#+ +(.*?) *$", text, re.M):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        number = sum(other == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", other) is not None for other in found)
        found.append(f"{anchor}-{number}" if number else anchor)
    return set(found)


def links_of(document):
    """The relative links of a document: path from the root, and anchor."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        joined = PurePosixPath(document).parent / path if path else PurePosixPath(document)
        parts = []
        for part in joined.parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        yield "/".join(parts) or ".", anchor


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_link_leads_somewhere(document):
    for path, anchor in links_of(document):
        assert path in FILES or path in FOLDERS, f"{document} links to {path}, which does not exist"
        if anchor and path.endswith(".md"):
            assert anchor in anchors_of(path), f"{document} links to {path}#{anchor}, which has no such heading"


def test_each_guide_is_found_from_the_readme():
    reached, ahead = set(), ["README.md"]
    while ahead:
        document = ahead.pop()
        if document in reached:
            continue
        reached.add(document)
        ahead += [path for path, _ in links_of(document) if path.endswith(".md")]
    guides = {name for name in DOCUMENTS if name.startswith("docs/")}
    assert guides - reached == set()


def test_each_page_is_in_the_menu_of_the_site():
    menu = set(re.findall(r": ([\w./-]+\.md)$", (ROOT / "config/site/mkdocs.yml").read_text(), re.M))
    assert {name for name in DOCUMENTS if name.startswith("docs/")} | {"README.md"} <= menu
    assert menu <= FILES


def test_what_sources_and_scripts_call_a_document_is_one():
    named = re.compile(r"(?<![\w/.-])(?:docs/[\w./-]+|[A-Z]{4,})\.md\b")
    for name in sorted(FILES):
        if name.endswith((".swift", ".sh", ".py", ".js", ".ts", ".yaml", ".cfg", ".conf", ".service", ".md", "Makefile")):
            for document in named.findall((ROOT / name).read_text()):
                near = str(PurePosixPath(name).parent / document)
                assert document in FILES or near in FILES, f"{name} names {document}, which does not exist"


def test_names_in_the_pages_on_the_inside_exist():
    """What has the form of a type, a member of one, or a file of the sources: each word of it is one of a source."""
    sources = [name for name in FILES if name.endswith((".swift", ".lua"))]
    words = {word for name in sources for word in re.findall(r"\w+", (ROOT / name).read_text())}
    words |= {part for name in FILES for part in PurePosixPath(name).parts}
    for document in ["ARCHITECTURE.md", *(name for name in DOCUMENTS if name.startswith("docs/internals/"))]:
        for code in re.findall(r"`([^`\n]+)`", (ROOT / document).read_text()):
            if code in ("GRDB.swift", "Pysher"):  # of others
                continue
            if re.fullmatch(r"[\w.][\w./]*\.(swift|lua|md|py|sh|yaml|yml)", code):
                assert any(name == code or name.endswith("/" + code) for name in FILES), f"{document}: {code}"
            elif re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)?(\([\w:]*\))?", code):
                missing = {word for word in re.findall(r"\w+", code)} - words
                assert not missing, f"{document}: {code}"
            elif re.fullmatch(r"[A-Z]\w+(/\w+)+", code):
                assert FOLDERS & {code, f"Sources/{code}"}, f"{document}: {code}"


def test_a_heading_has_the_anchor_of_github():
    assert "what-a-restart-loses" in anchors_of("docs/proof/reliability.md")
    assert "error-and-close-codes" in anchors_of("docs/proof/protocol.md")
