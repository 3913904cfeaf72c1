"""What the measuring scripts share: options, running treewright, reusing models, and Markdown tables.

Python's standard library only. Progress goes to stderr, results to stdout (and into the folder given by --out).
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def stop(message):
    sys.exit(f"error: {message}")


def numbers(text):
    """`2,4,8` as a list of integers, for argparse."""
    return [int(word) for word in text.split(",") if word]


def names(text):
    """`a,b` as a list of strings, for argparse."""
    return [word for word in text.split(",") if word]


def option_parser(doc, out, jobs_help):
    """A parser with the options that every measuring script has; `doc` is the script's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of treebanks")
    parser.add_argument("--binary", type=Path, metavar="FILE", help="a treewright binary [default: cargo build --release]")
    parser.add_argument("--jobs", "-j", type=int, default=1, metavar="N", help=f"{jobs_help} [default: 1]")
    parser.add_argument("--out", type=Path, default=Path(out), metavar="FOLDER", help=f"where models and parses go [default: {out}]")
    parser.add_argument("--again", action="store_true", help="train anew what is already there")
    return parser


class Treewright:
    """The binary under test, the folder for its output, and what has been asked for."""

    def __init__(self, args):
        self.args = args
        self.given = args.binary is not None
        if self.given:
            self.binary = args.binary.resolve()
        else:
            say("cargo build --release")
            built = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=REPOSITORY)
            if built.returncode != 0:
                stop("cargo build failed")
            target = os.environ.get("CARGO_TARGET_DIR", "target")
            self.binary = REPOSITORY / target / "release" / "treewright"
        if not self.binary.is_file():
            stop(f"{self.binary}: no such binary")
        args.out.mkdir(parents=True, exist_ok=True)
        self.out = args.out
        self.locks = defaultdict(threading.Lock)
        self.reused = set()

    def call(self, *words):
        """Runs treewright and returns what it wrote to stdout; its messages are shown if it fails."""
        done = subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            stop(f"treewright {' '.join(map(str, words))}\n{done.stderr.strip()}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.call(*words, "--json"))

    def train(self, name, *words, inputs=()):
        """Trains OUT/NAME.model unless it is there already, trained by the same command on the same files.

        `inputs` are the files that the model depends on. Returns the path, and processor seconds and megabytes.
        """
        # Two tasks may want the same model: the second waits for the first.
        with self.locks[name]:
            return self._train(name, words, inputs)

    def _train(self, name, words, inputs):
        model = self.out / f"{name}.model"
        note = self.out / f"{name}.trained.json"
        asked = {"command": [str(word) for word in words], "inputs": [[str(path), digest(path)] for path in inputs]}
        if model.is_file() and note.is_file() and not self.args.again:
            known = json.loads(note.read_text())
            if known["asked"] == asked:
                say(f"{name}: using the model of {known['date']} (commit {known['commit']})")
                self.reused.add(known["commit"])
                return model, known
            say(f"{name}: the model there was trained otherwise, training it anew")
        say(f"{name}: training")
        known = measured([self.binary, "train", "--quiet", "--jobs", "1", "-o", model, *words])
        known.update(asked=asked, date=datetime.date.today().isoformat(), commit=commit(self))
        note.write_text(json.dumps(known, indent=1) + "\n")
        say(f"{name}: trained in {known['cpu']:.0f} s of processor time, {known['megabytes']:.0f} MB")
        return model, known

    def parse(self, model, source, target, *words, jobs=1):
        """Parses `source` into `target` and returns the figures of --json-stats."""
        with tempfile.NamedTemporaryFile(suffix=".json") as stats:
            self.call("parse", "--quiet", "-m", model, source, "-o", target, "--jobs", jobs, "--json-stats", stats.name, *words)
            return json.loads(Path(stats.name).read_text())

    def in_turn(self, tasks):
        """Runs functions, --jobs at a time, and returns their results in order."""
        with ThreadPoolExecutor(max_workers=max(1, self.args.jobs)) as pool:
            futures = [pool.submit(task) for task in tasks]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise


def measured(command, stdout=None):
    """Runs a command; returns seconds of processor and of the clock, and megabytes at the peak. Stops if it fails.

    Memory is the kernel's figure, which is never below what this Python process itself has used (about 15 MB).
    """
    with tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=stdout or subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if process.returncode != 0:
            errors.seek(0)
            stop(f"{' '.join(str(word) for word in command)}\n{errors.read().decode(errors='replace').strip()}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": seconds, "megabytes": usage.ru_maxrss / 1024}


_digests = {}
_digests_lock = threading.Lock()


def digest(path):
    """The first half of a file's SHA-256. Each file is read once, in blocks: see the remark on memory at `measured`."""
    path = Path(path)
    with _digests_lock:
        if path not in _digests:
            if not path.is_file():
                stop(f"{path}: no such file")
            state = hashlib.sha256()
            with path.open("rb") as file:
                while block := file.read(1 << 16):
                    state.update(block)
            _digests[path] = state.hexdigest()[:32]
        return _digests[path]


def commit(treewright):
    """The commit measured, with a word if the binary was given or the tree has changes."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True)
    name = done.stdout.strip() or "unknown"
    if treewright.given:
        return f"{name}, binary {digest(treewright.binary)[:8]}"
    changed = subprocess.run(["git", "status", "--porcelain", "crates", "Cargo.toml", "Cargo.lock"], cwd=REPOSITORY, capture_output=True, text=True)
    return name + (" with changes" if changed.stdout.strip() else "")


def raw_text(treebank):
    """The text of a CoNLL-U file as the CoNLL 2018 shared task gave it: paragraphs with blank lines between them.
    Nothing if the file neither has texts nor says where no space stands."""
    whole = treebank.read_text(encoding="utf-8")
    if "# text = " not in whole and "SpaceAfter=No" not in whole:
        return None
    text = ""
    for block in whole.split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        if not rows:
            continue
        if text and re.search(r"^# new(doc|par)", block, re.M):
            text = text.rstrip(" ") + "\n\n"
        found = re.search(r"^# text = (.*)$", block, re.M)
        surface, covered = "", 0
        for row in rows:
            first, _, last = row[0].partition("-")
            if "." in first or int(first) <= covered:
                continue
            covered = int(last or first)
            surface += row[1] + ("" if "SpaceAfter=No" in row[9] else " ")
        text += found.group(1) + (" " if surface.endswith(" ") else "") if found else surface
    return text.rstrip(" ") + "\n"


def command_line(args, placeholders):
    """The command as it may be quoted: folders and files by a word in capitals, without --binary and --again."""
    shown = [f"scripts/{Path(sys.argv[0]).name}"]
    words = sys.argv[1:]
    replaced = {str(path): word for path, word in placeholders.items() if path}
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        option, _, value = word.partition("=")
        if option == "--again":
            continue
        if option in ("--binary", "--out"):
            skip = not value
            continue
        if value and option.startswith("--"):
            shown.append(shlex.quote(f"{option}={replaced.get(value, value)}"))
        else:
            shown.append(shlex.quote(replaced.get(word, word)))
    return " ".join(shown)


def header(treewright, title, placeholders):
    """The lines above a table: what, when, which commit, which command."""
    today = datetime.date.today().isoformat()
    return f"## {title}, {today}\n\nCommit {commit(treewright)}, `{command_line(treewright.args, placeholders)}`.\n"


def table(columns, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def two(value):
    """A percentage with two digits, or a dash where there is none."""
    return "-" if value is None else f"{value:.2f}"


def report(treewright, name, text):
    """Prints the report and keeps it as OUT/NAME.md."""
    others = sorted(treewright.reused - {commit(treewright)})
    if others:
        text += f"\nSome of the models were trained earlier, at commit {' and at '.join(others)}.\n"
    path = treewright.out / f"{name}.md"
    path.write_text(text)
    print(text, end="")
    say(f"wrote {path}")
