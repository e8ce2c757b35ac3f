"""Reads a Dockerfile as far as this project's has need of it; what it does not know is an error."""

import json
import re
from dataclasses import dataclass, field

KNOWN = {"RUN", "WORKDIR", "COPY", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


@dataclass
class Stage:
    image: str
    name: str | None
    # Pairs of an instruction, and what follows it.
    instructions: list = field(default_factory=list)

    def last(self, instruction):
        [*_, text] = [text for name, text in self.instructions if name == instruction]
        return text


def stages(text):
    """The stages of a Dockerfile: comments left out, continued lines joined."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|$)", line)]
    joined = re.sub(r"\\\n", "", "\n".join(lines))
    found = []
    for line in joined.splitlines():
        name, rest = line.split(maxsplit=1)
        if name == "FROM":
            image, *alias = re.fullmatch(r"(\S+)(?: AS (\S+))?", rest).groups()
            found.append(Stage(image, *alias))
        elif name in KNOWN:
            found[-1].instructions.append((name, rest))
        else:
            raise ValueError(f"the instruction {name} is not known here")
    return found


def words(text):
    """The words of ENTRYPOINT, CMD and HEALTHCHECK in their form without a shell."""
    return json.loads(text[text.index("[") :])


def included(text):
    """The paths that a .dockerignore of nothing but exceptions sends."""
    first, *rest = [line for line in text.splitlines() if line and not line.startswith("#")]
    if first != "*" or not all(line.startswith("!") for line in rest):
        raise ValueError("only a list of what is sent is known here")
    return [line[1:] for line in rest]
