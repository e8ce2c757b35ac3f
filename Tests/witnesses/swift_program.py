"""Swift programs of a page, compiled against the modules that the tests were built with."""

import functools
import json
import re
import subprocess

from programs import BUILD, ROOT, Program


def programs_in(page):
    """The Swift programs that a Markdown page shows, in order."""
    return re.findall(r"^```swift\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


def compile_program(source, folder, name, others=None):
    """Compiles a complete program, with `others` by the names of their files; the path of what came out of it."""
    main = folder / name / "main.swift"
    main.parent.mkdir()
    main.write_text(source)
    others = others or {}
    for file, text in others.items():
        (main.parent / file).write_text(text)
    imports = [module for text in (source, *others.values()) for module in imports_of(text)]
    targets = [target for module in dict.fromkeys(imports) for target in closure_of(module)]
    objects = [path for target in dict.fromkeys(targets) for path in objects_of(target)]
    maps = [flag for path in module_maps() for flag in ("-Xcc", f"-fmodule-map-file={path}")]
    program = main.parent / name
    compiled = subprocess.run(
        [
            *("swiftc", "-swift-version", "6", "-warnings-as-errors", "-I", BUILD / "Modules", *maps),
            *(main, *(main.parent / file for file in others), *objects, *libraries(), "-o", program),
        ],
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, f"{source}\n{compiled.stderr}"
    return program


def start(path):
    """Runs a compiled program, whose lines are to be heard at once, as on a terminal."""
    return Program(path.name, folder=path.parent, through=("stdbuf", "-oL"))


def imports_of(source):
    """The modules that a program imports."""
    return re.findall(r"^import (\w+)", source, re.M)


@functools.cache
def description():
    """What Package.swift says, as the package manager reads it."""
    printed = subprocess.run(
        ["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {target["name"]: target for target in json.loads(printed.stdout)["targets"]}


@functools.cache
def closure_of(module):
    """A target and all that it depends on, other packages' products by the names of their modules."""
    if module not in description():
        return (module,) if (BUILD / f"{module}.build").exists() else ()
    names = [module]
    for dependency in description()[module]["dependencies"]:
        for value in dependency.values():
            names += closure_of(value[0])
    return tuple(dict.fromkeys(names))


def objects_of(target):
    """What a Swift target's sources were compiled to; those that are no longer there left objects behind."""
    outputs = BUILD / f"{target}.build" / "output-file-map.json"
    files = json.loads(outputs.read_text()) if outputs.exists() else {}
    return [outputs["object"] for outputs in files.values() if "object" in outputs]


def module_maps():
    """The module maps of C libraries: the package's own, and GRDB's of SQLite."""
    build = BUILD.resolve().parent
    # Beside the folder of the build's configuration and, where there is one, of its platform.
    checkouts = [folder / "checkouts/GRDB.swift/Sources/GRDBSQLite" for folder in (build, build.parent)]
    folders = [*ROOT.glob("Sources/*"), *checkouts]
    return [path for folder in folders if (path := folder / "module.modulemap").exists()]


def libraries():
    """The system's libraries that the package's own modules need."""
    return ["-lssl", "-lcrypto", "-lz", "-lsqlite3"]
