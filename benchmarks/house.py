"""The shape of the code: what a call touches, frames to the kernel, kernel arguments, sizes.

    python benchmarks/house.py            # all tables
    python benchmarks/house.py --chains   # with every frame of every chain
    python benchmarks/house.py --touched  # with every function that a fit and a train call touch

Frames and arguments are not read from the source but recorded while tiny jobs run: a profile hook
stops at each call of a compiled kernel and looks at the stack above it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import rosenblatt

PACKAGE = Path(rosenblatt.__file__).parent
MOST_FRAMES, MOST_ARGUMENTS = 3, 12
LONG_FILE, LONG_FUNCTION = 450, 60
LEARNERS = {"Linear", "DeviceLinear"}  # the classes of learners that `learners.make` constructs
DEFAULTS = "training/defaults.py"
# What a warm call touched at 3e02dac, counted as here. The review of it says 60 functions in 32
# files and 130 in 62, by reading: without properties and small helpers, with modules of types.
BEFORE = {"Perceptron().fit": "129 in 24", "rosenblatt.train": "279 in 38"}


# Kernel calls


@dataclass
class Call:
    """A kernel called from an entry point."""

    kernel: str
    chain: list[tuple[str, str]]
    """File and function of each frame of ours, from the entry point to the caller."""

    @property
    def files(self) -> int:
        """In how many files the frames are."""
        return len({file for file, _ in self.chain})


@dataclass
class Recorder:
    """Looks at the stack whenever a kernel is called."""

    entry: str
    calls: dict[str, Call] = field(default_factory=dict)
    arguments: dict[str, int] = field(default_factory=dict)

    def run(self, job: Callable[[], object]) -> None:
        """Run a job under the hook."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            job()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_name != "__call__" or not _is_compiler(frame):
            return
        kernel = _kernel_name(frame.f_locals.get("self"))
        given = frame.f_locals.get(_varargs(frame), ())
        self.arguments[kernel] = max(self.arguments.get(kernel, 0), count_members(given))
        if kernel not in self.calls:
            chain = _chain(frame, self.entry)
            if chain:
                self.calls[kernel] = Call(kernel, chain)

    @property
    def learning(self) -> list[Call]:
        """The kernels that learn, or all of them if none is known to."""
        calls = list(self.calls.values())
        return [c for c in calls if c.kernel.split(".")[-1].startswith("walk")] or calls


def _is_compiler(frame: FrameType) -> bool:
    file = Path(frame.f_code.co_filename)
    return file.name == "jit.py" and PACKAGE in file.parents


def _function_of(kernel: Any) -> Any:
    """The Python function that a kernel was compiled from."""
    for name in ("py_func", "function", "__wrapped__", "_function"):
        function = getattr(kernel, name, None)
        if hasattr(function, "__qualname__"):
            return function
    return None


def _kernel_name(kernel: Any) -> str:
    function = _function_of(kernel)
    if function is not None:
        return f"{function.__module__}.{function.__qualname__}".removeprefix("rosenblatt.")
    return f"?.{getattr(kernel, '__name__', getattr(kernel, 'name', type(kernel).__name__))}"


def _varargs(frame: FrameType) -> str:
    code = frame.f_code
    named = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[named] if code.co_flags & inspect.CO_VARARGS else ""


def _chain(frame: FrameType, entry: str) -> list[tuple[str, str]]:
    """Frames of ours between a call of the entry point and the kernel, both ends of the way in."""
    chain: list[tuple[str, str]] = []
    found: list[tuple[str, str]] = []
    current = frame.f_back
    while current is not None:
        file = Path(current.f_code.co_filename)
        if PACKAGE in file.parents and not _is_compiler(current):
            name = current.f_code.co_qualname if sys.version_info >= (3, 11) else ""
            chain.append((file.relative_to(PACKAGE).as_posix(), name))
            if name.split(".")[-1] == entry.split(".")[-1]:
                found = chain[::-1]
        current = current.f_back
    return found


def count_members(value: Any) -> int:
    """Arrays and numbers in the arguments of a kernel, those inside tuples counted one by one.

    A record of numbers alone, such as the limits of a walk, counts as one.

    >>> count_members((1, (2, np.zeros(3)), [4])), count_members((1, (2, 3)))
    (4, 2)
    """
    if not isinstance(value, tuple | list):
        return 1
    return sum(1 if _is_record(member) else count_members(member) for member in value)


def _is_record(value: Any) -> bool:
    is_tuple = isinstance(value, tuple)
    return is_tuple and all(isinstance(member, int | float | np.number) for member in value)


# What is run


def jobs(folder: Path) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Title, qualified name of the entry point, and a tiny job, each run twice."""
    from scipy.sparse import csr_matrix

    from rosenblatt import KernelPerceptron, Perceptron, learn_online

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    two, three = (X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.4, 0.4])
    sparse = csr_matrix(np.where(abs(X) > 0.7, X, 0))
    settings = [
        ("two classes, dense", X, two, {}),
        ("two classes, sparse", sparse, two, {}),
        ("averaged", X, two, {"keep": "average"}),
        ("three classes", X, three, {"keep": "average"}),
        ("joint", sparse, three, {"multiclass": "joint"}),
        ("pairs of classes", X, three, {"multiclass": "ovo"}),
        ("batch", X, two, {"update": "batch"}),
        ("pocket", X, two, {"keep": "best"}),
    ]
    for title, rows, y, options in settings:
        yield f"Perceptron.fit, {title}", "Perceptron.fit", _fit(Perceptron, options, rows, y)
    for title, rows, y, options in settings[:5]:
        learn = _partial_fit(Perceptron, options, rows, y)
        yield f"Perceptron.partial_fit, {title}", "Perceptron.partial_fit", learn
    for title, rows, y, options in settings[:4]:
        learn = _online(learn_online, Perceptron, options, rows, y)
        yield f"learn_online, {title}", "learn_online", learn
    for title, rows, y, options in (
        ("two classes", X, two, {}),
        ("three classes, vote", X, three, {"keep": "vote"}),
        ("joint", X, three, {"multiclass": "joint"}),
    ):
        learn = _fit(KernelPerceptron, {"kernel": "rbf", **options}, rows, y)
        yield f"KernelPerceptron.fit, {title}", "KernelPerceptron.fit", learn
    for title, lines in (
        ("two classes", ["pos\tgood and fun", "neg\tbad and dull"]),
        ("three classes", ["pos\tgood and fun", "neg\tbad and dull", "so\tneither here nor there"]),
    ):
        file = folder / f"{title.replace(' ', '_')}.tsv"
        file.write_text("label\ttext\n" + ("\n".join(lines) + "\n") * 30)
        yield train_job(title, file)


def train_job(title: str, file: Path) -> tuple[str, str, Callable[[], object]]:
    """Training from a file."""
    return f"rosenblatt.train, {title}", "train", lambda: rosenblatt.train(file, label="label")


def _fit(kind: Any, options: dict[str, Any], X: Any, y: Any) -> Callable[[], object]:
    return lambda: kind(**options, max_iter=3, random_state=0).fit(X, y)


def _partial_fit(kind: Any, options: dict[str, Any], X: Any, y: Any) -> Callable[[], object]:
    return lambda: kind(**options).partial_fit(X, y)


def _online(learn: Any, kind: Any, options: dict[str, Any], X: Any, y: Any) -> Any:
    return lambda: learn(kind(**options), X, y)


def record(folder: Path) -> tuple[list[tuple[str, Recorder]], dict[str, int]]:
    """Run every job, and take the largest count of arguments of each kernel."""
    recorders, arguments = [], dict[str, int]()
    for title, entry, job in jobs(folder):
        job()  # compiles, imports, fills caches: none of it belongs to the chain
        recorder = Recorder(entry)
        recorder.run(job)
        recorders.append((title, recorder))
        for kernel, count in recorder.arguments.items():
            arguments[kernel] = max(arguments.get(kernel, 0), count)
    return recorders, arguments


@dataclass
class Declared:
    """A kernel as it is written."""

    parameters: int
    why_many: str
    """The sentence of its docstring or of the comment above it that speaks of its arguments."""


def declared() -> dict[str, Declared]:
    """Every kernel of the package; a parameter that is a tuple counts as one."""
    found = {}
    for module in _modules():
        for value in vars(module).values():
            home, function = getattr(type(value), "__module__", ""), _function_of(value)
            if function is None or not home.startswith("rosenblatt.") or home[-4:] != ".jit":
                continue
            words = f"{inspect.getcomments(function) or ''} {inspect.getdoc(function) or ''}"
            said = re.search(r"[^.#]*\b(arguments|parameters)\b[^.]*\.", words)
            found[_kernel_name(value)] = Declared(
                len(inspect.signature(function).parameters),
                " ".join(said.group().split()) if said else "",
            )
    return found


def _modules() -> Iterator[Any]:
    for part in ("kernels", "learners", "training", "theory"):
        if not (PACKAGE / part).is_dir():
            continue
        package = importlib.import_module(f"rosenblatt.{part}")
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                yield importlib.import_module(info.name)
            except ImportError:
                continue


# What a call touches, and what is decided where


def touched(job: Callable[[], object]) -> dict[str, set[str]]:
    """The functions of ours, by file, that run while a warm job runs, without comprehensions."""
    functions: dict[str, set[str]] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in file.parents and frame.f_code.co_name[0] != "<":
            place = file.relative_to(PACKAGE).as_posix()
            functions.setdefault(place, set()).add(frame.f_code.co_qualname)

    job()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return functions


def calls_to_touch(folder: Path) -> Iterator[tuple[str, Callable[[], object], str]]:
    """Title, job and goal: a default fit of dense rows, and training on a small table."""
    from rosenblatt import Perceptron

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int)
    yield "Perceptron().fit", lambda: Perceptron(random_state=0).fit(X, y), "35 in 18"
    table = folder / "table.csv"
    lines = [f"{a:.4f},{b:.4f},{int(a > b)}" for a, b in X[:, :2]]
    table.write_text("\n".join(["a,b,label", *lines]) + "\n")
    yield "rosenblatt.train", lambda: rosenblatt.train(table, label="label"), "80 in 40"


def decisions() -> dict[str, list[str]]:
    """Where learners are constructed, and where an option of learning is compared with "auto".

    Not where a function of defaults.py is then asked.
    """
    places: dict[str, list[str]] = {"build a learner": [], 'decide what "auto" is': []}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        asked = {
            node.test
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "training.defaults" in ast.unparse(node.body)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(map(_builds_a_learner, ast.walk(node))):
                places["build a learner"].append(f"{place}: {node.name}")
            if (
                isinstance(node, ast.Compare)
                and node not in asked
                and place.split("/")[0] not in ("training", "viz")
            ):
                values = [part for one in (node.left, *node.comparators) for part in ast.walk(one)]
                if any(isinstance(v, ast.Constant) and v.value == "auto" for v in values):
                    places['decide what "auto" is'].append(f"{place}:{node.lineno}")
    places['decide what "auto" is'].insert(0, DEFAULTS)
    return places


def _builds_a_learner(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in LEARNERS


# Sizes


def sizes() -> tuple[dict[str, tuple[int, int]], list[tuple[int, str]], list[tuple[int, str]]]:
    """Files and lines per package, long files, long functions (docstrings included)."""
    packages: dict[str, tuple[int, int]] = {}
    files, functions = [], []
    for path in sorted(PACKAGE.rglob("*.py")):
        text, place = path.read_text("utf-8"), path.relative_to(PACKAGE)
        lines = text.count("\n")
        name = place.parts[0] if len(place.parts) > 1 else "(top)"
        count, total = packages.get(name, (0, 0))
        packages[name] = count + 1, total + lines
        if lines > LONG_FILE:
            files.append((lines, place.as_posix()))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONG_FUNCTION:
                    functions.append((length, f"{place.as_posix()}: {node.name}"))
    return packages, sorted(files, reverse=True), sorted(functions, reverse=True)


# Printing


def print_frames(recorders: list[tuple[str, Recorder]], chains: bool) -> None:
    """The longest way from each entry point to a kernel that learns."""
    print(f"From the entry point to the kernel (goal: {MOST_FRAMES} frames, {MOST_FRAMES} files)\n")
    print(f"{'entry':<42} {'frames':>6} {'files':>6}  kernel")
    for title, recorder in recorders:
        if not recorder.learning:
            print(f"{title:<42} {'-':>6} {'-':>6}  no kernel was called in this thread")
            continue
        call = max(recorder.learning, key=lambda c: (len(c.chain), c.files))
        over = " *" if len(call.chain) > MOST_FRAMES or call.files > MOST_FRAMES else ""
        print(f"{title:<42} {len(call.chain):>6} {call.files:>6}  {call.kernel}{over}")
        for file, function in call.chain if chains else ():
            print(f"    {file}: {function}")


def print_arguments(called: dict[str, int], kernels: dict[str, Declared]) -> None:
    """Kernels with many arguments, and why, where the source says so."""
    print(
        f"\nKernels with more than {MOST_ARGUMENTS} arrays and numbers, tuples by their members\n"
    )
    counts = {name: (kernel.parameters, " (declared)") for name, kernel in kernels.items()}
    counts |= {name: (count, "") for name, count in called.items()}
    many = [(count, name, how) for name, (count, how) in counts.items() if count > MOST_ARGUMENTS]
    for count, name, how in sorted(many, reverse=True):
        why = kernels[name].why_many if name in kernels else ""
        print(f"{count:>6}  {name}{how}{': ' + why if why else ''}")
    print(f"{len(many):>6}  of {len(counts)} kernels, {len(called)} of them called")


def _long(functions: dict[str, set[str]]) -> int:
    """How many of the functions have more than one statement: properties rarely do."""
    count = 0
    for place, names in functions.items():
        tree = ast.parse((PACKAGE / place).read_text("utf-8"))
        several = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                statements = len(node.body) - (ast.get_docstring(node) is not None)
                several |= {node.name} if statements > 1 else set()
        count += sum(name.split(".")[-1] in several for name in names)
    return count


def print_touched(folder: Path, names: bool) -> None:
    """What a fit and a train call touch, their parameters, and where decisions are made."""
    from rosenblatt import Perceptron
    from rosenblatt.jobs.options import TrainOptions

    print("Functions and files that a warm call touches\n")
    for title, job, goal in calls_to_touch(folder):
        functions = touched(job)
        count = sum(map(len, functions.values()))
        print(
            f"{title:<20} {count:>4} functions in {len(functions):>3} files, {_long(functions):>3} "
            f"of them of more than one statement (at 3e02dac {BEFORE[title]}; goal, as the review "
            f"counts: {goal})"
        )
        for file, called in sorted(functions.items()) if names else ():
            print(f"    {file}: {', '.join(sorted(called))}")
    print(f"\n{len(inspect.signature(Perceptron).parameters):>6}  parameters of Perceptron")
    print(f"{len(inspect.signature(TrainOptions).parameters):>6}  options of train")
    for what, places in decisions().items():
        print(f"{len(places):>6}  places {what}: {', '.join(places)}")
    print()


def print_sizes() -> None:
    """Lines per package, long files, long functions."""
    packages, files, functions = sizes()
    print("\nLines per package\n")
    for name, (count, lines) in sorted(packages.items(), key=lambda item: -item[1][1]):
        print(f"{lines:>7,}  {name:<12} {count:>4} files")
    total = sum(lines for _, lines in packages.values())
    print(f"{total:>7,}  {'total':<12} {sum(count for count, _ in packages.values()):>4} files")
    for title, found in (
        (f"Files over {LONG_FILE} lines", files),
        (f"Functions over {LONG_FUNCTION} lines, docstrings included", functions),
    ):
        print(f"\n{title}: {len(found)}\n")
        for lines, name in found:
            print(f"{lines:>6}  {name}")


def main() -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        print_touched(Path(folder), "--touched" in sys.argv)
        recorders, called = record(Path(folder))
    print_frames(recorders, "--chains" in sys.argv)
    print_arguments(called, declared())
    print_sizes()


if __name__ == "__main__":
    main()
