"""An executor of local processes that survives their deaths.

Each process is a Python started anew, which reads pickled tasks from its standard input and writes
pickled results to its standard output. So scripts need no ``if __name__ == "__main__"``; a process
that is killed fails the task that it was running, and no other; and one whose parent is killed
reads the end of its input, and ends. (A pool of ``multiprocessing`` imports the script again, and
breaks as a whole when one process dies.)
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, local
from typing import Any

_SERVE = "from rosenblatt.cluster.processes import serve; serve()"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class ProcessDied(BrokenExecutor):
    """A process died while it ran a task; another one can run it again."""


class LocalProcesses(ThreadPoolExecutor):
    """Runs functions of modules in processes, each of which a thread waits for.

    A process is started with the first task of its thread, and again after its death.

    >>> import os
    >>> with LocalProcesses(1) as processes:
    ...     len({processes.submit(os.getpid).result() for _ in range(3)} - {os.getpid()})
    1
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._of_thread = local()
        self._running: list[subprocess.Popen[bytes]] = []
        self._lock, self._is_closed = Lock(), False

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that are running."""
        return [process.pid for process in self._running if process.poll() is None]

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a function in a process; its arguments and its result are pickled."""
        return super().submit(self._call, (function, arguments, named))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `wait` once their tasks are done, else now."""
        super().shutdown(wait, cancel_futures=cancel_futures or not wait)
        with self._lock:
            self._is_closed = True
            for process in self._running:
                process.kill()
        super().shutdown()  # no thread waits for a process any more
        for process in self._running:
            _end(process)

    def _call(self, task: tuple[Any, ...]) -> Any:
        """Let the process of this thread run a task."""
        process: Any = getattr(self._of_thread, "process", None)
        if process is None or process.poll() is not None:
            process = self._of_thread.process = self._replaced(process)
        try:
            process.stdin.write(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))
            process.stdin.flush()
            has_failed, result = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            process.kill()
            process.wait()
            raise ProcessDied("a worker process died") from error
        if has_failed:
            raise result
        return result

    def _replaced(self, dead: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """A process that imports from where this one does, and gets no signals from a terminal."""
        variables = os.environ | _ONE_THREAD
        variables["PYTHONPATH"] = os.pathsep.join(folder for folder in sys.path if folder)
        with self._lock:
            if self._is_closed:
                raise ProcessDied("the processes were ended")
            if dead is not None:
                _end(dead)
                self._running.remove(dead)
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=variables,
                start_new_session=True,
            )
            self._running.append(process)
            return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and close the files to it."""
    process.kill()
    with suppress(OSError), process:
        pass  # what was to be written to it cannot be


def serve() -> None:
    """Run tasks until the input ends: what a process of :class:`LocalProcesses` does."""
    tasks = sys.stdin.buffer
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what tasks print does not mix with the results
    while True:
        try:
            function, arguments, named = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer = pickle.dumps((False, function(*arguments, **named)), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            answer = _pickled_error(error)
        try:
            results.write(answer)
            results.flush()
        except BrokenPipeError:  # the process that wanted it was killed
            os._exit(0)


def _pickled_error(error: Exception) -> bytes:
    """An error as an answer; one that cannot be pickled is told in words."""
    try:
        answer = pickle.dumps((True, error))
        pickle.loads(answer)
    except Exception:
        return pickle.dumps((True, RuntimeError(f"{type(error).__name__}: {error}")))
    return answer
