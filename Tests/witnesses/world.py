"""A program's world: its calendar and its lookups of names, which a test may change while it runs."""

import mmap
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

FOUND, FAILING, SILENT = range(3)


class World:
    """Start a program `through` it."""

    def __init__(self, folder):
        compiler = shutil.which("clang") or shutil.which("cc")
        assert compiler, "a C compiler is needed: the Swift toolchain has clang"
        library = folder / "world.so"
        source = Path(__file__).with_name("world.c")
        command = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", library]
        subprocess.run([*command, "-ldl"], check=True)
        state = folder / "world"
        state.write_bytes(bytes(16))
        file = os.open(state, os.O_RDWR)
        self._state = mmap.mmap(file, 16)
        os.close(file)
        self.through = ("env", f"LD_PRELOAD={library}", f"WITNESS_WORLD={state}")

    def set_calendar(self, seconds):
        """Sets the calendar so far ahead of the machine's."""
        struct.pack_into("q", self._state, 0, seconds)

    def set_names(self, fate):
        struct.pack_into("q", self._state, 8, fate)

    @property
    def time(self):
        """Seconds since 1970 by that calendar."""
        return int(time.time()) + struct.unpack_from("q", self._state, 0)[0]
