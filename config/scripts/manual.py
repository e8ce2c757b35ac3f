#!/usr/bin/env python3
"""Writes a manual page for the program and for each of its commands, from what the program says of itself.

    fanfare --experimental-dump-help | manual.py FOLDER VERSION DATE

Writes FOLDER/fanfare.1, FOLDER/fanfare-serve.1 and so on, in the macros of man(7).
"""

import json
import re
import sys
from pathlib import Path

# The library's own, which every program has.
COMMANDS_WITHOUT_PAGE = {"help"}


def escaped(text):
    """Text as roff prints it: a line that begins with a dot or an apostrophe would be a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def spelled(name):
    return f"-{name['name']}" if name["kind"] == "short" else f"--{name['name']}"


def term(argument):
    """The line that introduces an argument: its names, the one-letter one first, and its value."""
    if argument["kind"] == "positional":
        return italic(argument["valueName"])
    names = sorted(argument["names"], key=lambda name: name["kind"] != "short")
    text = ", ".join(bold(spelled(name)) for name in names)
    return f"{text} {italic(argument['valueName'])}" if argument["kind"] == "option" else text


def usage(argument):
    """An argument in the synopsis."""
    text = italic(argument["valueName"])
    if argument["kind"] != "positional":
        name = bold(spelled(argument["preferredName"]))
        text = name if argument["kind"] == "flag" else f"{name} {text}"
    text += " ..." if argument["isRepeating"] else ""
    return f"[{text}]" if argument["isOptional"] else text


def described(text):
    """The discussion of a command: lines that are indented are examples, and stay as they are."""
    lines = []
    for paragraph in text.strip("\n").split("\n\n"):
        if lines:
            lines.append(".PP")
        is_example = False
        for line in paragraph.split("\n"):
            if line.startswith("  ") != is_example:
                is_example = not is_example
                lines.append(".RS 4\n.EX" if is_example else ".EE\n.RE")
            lines.append(escaped(line[2:] if is_example else line))
        if is_example:
            lines.append(".EE\n.RE")
    return lines


def explanation(argument):
    text = argument.get("abstract", "")
    if values := argument.get("allValues"):
        text += f" One of: {', '.join(values)}."
    if default := argument.get("defaultValue"):
        text += f" Default: {default}."
    return escaped(text.strip())


def page(command, names, version, date):
    """The text of one manual page; `names` are those of the program and of the commands down to this one."""
    title, line = "-".join(names), " ".join(names)
    arguments = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    subcommands = shown_subcommands(command)
    lines = [
        f'.TH "{escaped(title.upper())}" 1 "{date}" "Fanfare {escaped(version)}" "Fanfare"',
        ".SH NAME",
        f"{escaped(title)} \\- {escaped(command['abstract'].rstrip('.'))}",
        ".SH SYNOPSIS",
    ]
    if subcommands:
        operands = [italic("command"), "[...]"]
    else:
        operands = [usage(argument) for argument in arguments]
    # Each option stays whole where a line is broken, and no line is stretched to the margin.
    lines += [".nh\n.ad l", bold(line), *(operand.replace(" ", "\\ ") for operand in operands)]
    lines.append(".ad b\n.hy")
    if discussion := command.get("discussion"):
        lines += [".SH DESCRIPTION", *described(discussion)]
    if subcommands:
        lines.append(".SH COMMANDS")
        for subcommand in subcommands:
            name = escaped("-".join([*names, subcommand["commandName"]]))
            is_default = subcommand["commandName"] == command.get("defaultSubcommand")
            note = " The default." if is_default else ""
            lines += [".TP", f".BR {name} (1)", escaped(subcommand["abstract"]) + note]
    for heading, is_positional in (("ARGUMENTS", True), ("OPTIONS", False)):
        some = [argument for argument in arguments if (argument["kind"] == "positional") == is_positional]
        if some:
            lines.append(f".SH {heading}")
        for argument in some:
            lines += [".TP", term(argument), explanation(argument)]
    if len(names) > 1:
        lines += [".SH SEE ALSO", f".BR {escaped('-'.join(names[:-1]))} (1)"]
    return "\n".join(lines) + "\n"


def shown_subcommands(command):
    return [
        subcommand
        for subcommand in command.get("subcommands", [])
        if subcommand["shouldDisplay"] and subcommand["commandName"] not in COMMANDS_WITHOUT_PAGE
    ]


def pages(command, version, date, above=()):
    """The names of the files and their texts, of a command and of those below it."""
    names = [*above, command["commandName"]]
    yield f"{'-'.join(names)}.1", page(command, names, version, date)
    for subcommand in shown_subcommands(command):
        yield from pages(subcommand, version, date, names)


def main(folder, version, date):
    described = json.load(sys.stdin)
    if described["serializationVersion"] != 0:
        sys.exit(f"manual.py: the format {described['serializationVersion']} of the help is not known")
    for name, text in pages(described["command"], version, date):
        Path(folder, name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: PROGRAM --experimental-dump-help | manual.py FOLDER VERSION DATE")
    main(*sys.argv[1:])
