"""For the test scripts: TAP output, and running sballoc."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Random programs that a unit test takes; `make check` takes fewer.
RANDOM = int(os.environ.get("SBALLOC_RANDOM", "100"))


def share(count):
    """How many of `count` random programs a test takes, at least one."""
    return max(1, count * RANDOM // 100)


def bound_works():
    """True if scripts/bound finds its solver."""
    return subprocess.run([ROOT / "scripts" / "bound", "--help"], capture_output=True).returncode == 0


class Tap:
    """Counts tests and prints a line for each. `finish()` prints the plan and gives the status."""

    def __init__(self):
        self.count = self.failed = 0

    def test(self, good, name, *details):
        """One test. The details are printed if it failed."""
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        if not good:
            for detail in details:
                for line in str(detail).splitlines():
                    print("#   " + line)
        sys.stdout.flush()
        return good

    def equal(self, found, wanted, name):
        return self.test(found == wanted, name, f"found:  {found!r}", f"wanted: {wanted!r}")

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # skip {why}")

    def finish(self):
        print(f"1..{self.count}")
        return self.failed > 0


class Sballoc:
    """The program of a build, run in a directory. Without sanitisers it is some ten times faster."""

    def __init__(self, build, directory, sanitised=True):
        build = ROOT / build
        self.program = ((build / "sanitised" if sanitised else build) / "sballoc").resolve()
        self.directory = pathlib.Path(directory)
        # What the sanitisers find must not look like an exit status of sballoc.
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8",
                            "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=98"}
        for name in ("NO_COLOR", "TERM"):
            self.environment.pop(name, None)

    def run(self, *arguments, text=None, **options):
        """Runs it with `text` as standard input; returns status, standard output and error."""
        data = text.encode() if isinstance(text, str) else text
        options.setdefault("stdout", subprocess.PIPE)
        source = {"stdin": subprocess.DEVNULL} if data is None else {"input": data}
        environment = {**self.environment, **options.pop("environment", {})}
        result = subprocess.run([self.program, *map(str, arguments)], cwd=self.directory,
                                env=environment, stderr=subprocess.PIPE, timeout=120, **source,
                                **options)
        output = (result.stdout or b"").decode("utf-8", "replace")
        return result.returncode, output, result.stderr.decode("utf-8", "replace")

    def write(self, name, text):
        (self.directory / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def read(self, name):
        return (self.directory / name).read_text()
