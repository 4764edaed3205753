"""Programs that end oddly, or start something else: ``endings.py NAME SEED``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import faulthandler
import io
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from random import Random
from typing import Any

import torch
from truth import Truth, say, seeded, train

HERE = os.path.dirname(os.path.abspath(__file__))


def os_exit(some: Random) -> None:
    """Ends without exit handlers."""
    truth = Truth()
    say(train(truth, some.randint(12, 20)))
    truth.save()
    os._exit(7)


def _crash(some: Random, number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    truth = Truth()
    for _ in range(some.randint(30, 50)):
        train(truth, 1)
        time.sleep(0.03)
    say("crashes")
    truth.save()
    if number == signal.SIGSEGV:
        ctypes.string_at(0)
    os.kill(os.getpid(), number)
    time.sleep(30)


def segfault(some: Random) -> None:
    """Reads the memory at 0."""
    _crash(some, signal.SIGSEGV)


def segfault_with_handler(some: Random) -> None:
    """The same, with the traceback of faulthandler."""
    faulthandler.enable()
    _crash(some, signal.SIGSEGV)


def killed(some: Random) -> None:
    """SIGKILL."""
    _crash(some, signal.SIGKILL)


def terminated(some: Random) -> None:
    """SIGTERM, which nobody handles."""
    _crash(some, signal.SIGTERM)


def interrupted(some: Random) -> None:
    """SIGINT: a traceback of KeyboardInterrupt."""
    _crash(some, signal.SIGINT)


def aborted(some: Random) -> None:
    """abort()."""
    _crash(some, signal.SIGABRT)


def own_handler(some: Random) -> None:
    """Handles SIGTERM itself and ends with its own code."""

    def handle(*_: Any) -> None:
        say("terminated")
        sys.exit(9)

    signal.signal(signal.SIGTERM, handle)
    _crash(some, signal.SIGTERM)


def ignored(some: Random) -> None:
    """Ignores SIGTERM and SIGHUP and goes on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    truth = Truth()
    train(truth, 6)
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGHUP)
    say(train(truth, some.randint(6, 12)))


def alarms(some: Random) -> None:
    """A timer interrupts it every millisecond."""
    ticks = []
    signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    loss = train(Truth(), some.randint(30, 40))
    signal.setitimer(signal.ITIMER_REAL, 0)
    say(loss, len(ticks) > 0)


def message(some: Random) -> None:
    """sys.exit with a text."""
    train(Truth(), some.randint(12, 20))
    sys.exit("no more data")


def raises(some: Random) -> None:
    """An exception within a chain of exceptions, with its own hook."""
    sys.excepthook = lambda kind, error, _: print("hook:", kind.__name__, error, file=sys.stderr)
    train(Truth(), some.randint(12, 20))
    try:
        raise KeyError("batch")
    except KeyError as error:
        raise RuntimeError("no batch") from error


def exit_in_thread(some: Random) -> None:
    """Trains in a thread, which exits; another one raises."""

    def work() -> None:
        train(Truth(), some.randint(12, 20))
        sys.exit(5)

    def fail() -> None:
        raise ValueError("in a thread")

    threading.excepthook = lambda each: print("thread:", each.exc_value, file=sys.stderr)
    for each in (work, fail):
        thread = threading.Thread(target=each)
        thread.start()
        thread.join()
    say("main ends")


def threads(some: Random) -> None:
    """Four threads train models of their own, one after the other."""
    truth, steps = Truth(), some.randint(12, 16)
    train(truth, steps)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: torch.ones(64, 64) @ torch.ones(64, 64), range(400)))
    say("done")


def coroutines(some: Random) -> None:
    """Trains between the waits of other tasks."""
    truth = Truth()

    async def training() -> float:
        loss = 0.0
        for _ in range(some.randint(12, 16)):
            loss = train(truth, 1)
            await asyncio.sleep(0)
        return loss

    async def main() -> None:
        async def heart() -> None:
            while True:
                await asyncio.sleep(0.001)

        task = asyncio.ensure_future(heart())
        say(await training())
        task.cancel()

    asyncio.run(main())


def executes(some: Random) -> None:
    """Becomes another program that trains."""
    truth = Truth()
    train(truth, some.randint(3, 12))
    truth.save()
    os.execv(sys.executable, [sys.executable, os.path.join(HERE, "loops.py"), "plain", "5"])


def redirected(some: Random) -> None:
    """Its outputs go elsewhere: first in Python, then the descriptors, then they are closed."""
    truth, text = Truth(), io.StringIO()
    say("begins")
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        say(train(truth, some.randint(6, 9)))
    say(text.getvalue())
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        say(train(truth, some.randint(6, 9)))
    truth.save()
    os.close(1)
    os.close(2)


def closes_all(some: Random) -> None:
    """Closes every descriptor it did not open, as daemons do."""
    truth = Truth()
    train(truth, 4)
    say("closes")
    os.closerange(3, 256)
    say(train(truth, some.randint(12, 16)))


def daemon(some: Random) -> None:
    """Trains as a daemon; what was started ends at once."""
    truth_folder = os.environ.get("TRUTH")
    say("starts")
    if os.fork():
        time.sleep(0.2)
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 64)
    os.open(os.devnull, os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    truth = Truth()
    train(truth, some.randint(12, 16))
    if truth_folder:
        truth.save()


def elsewhere(some: Random) -> None:
    """Its working folder is deleted while it trains there."""
    truth, folder = Truth(), tempfile.mkdtemp()
    train(truth, 2)
    os.chdir(folder)
    os.rmdir(folder)
    say(train(truth, some.randint(12, 16)))


def cleared(some: Random) -> None:
    """Deletes its environment, and starts a process without one."""
    folder = os.environ.get("TRUTH", "")
    os.environ.clear()
    os.environ["TRUTH"] = folder
    loss = train(Truth(), some.randint(12, 16))
    done = subprocess.run(
        [sys.executable, "-c", "print(1 + 1)"], env={}, capture_output=True, text=True, check=True
    )
    say(loss, done.stdout)


def _child(seed: int) -> None:
    seeded(seed)
    truth = Truth()
    train(truth, 12 + seed)
    truth.save()


def spawned(some: Random) -> None:
    """Two spawned processes train."""
    context = multiprocessing.get_context("spawn")
    first = some.randint(0, 4)
    children = [context.Process(target=_child, args=(first + each,)) for each in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    say([child.exitcode for child in children])


def forked(some: Random) -> None:
    """A forked process trains, while this one has trained."""
    context = multiprocessing.get_context("fork")
    train(Truth(), 12)
    child = context.Process(target=_child, args=(some.randint(0, 4),))
    child.start()
    child.join()
    say(child.exitcode)


def pool(some: Random) -> None:
    """A pool whose processes use torch but do not train; this one does."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as processes:
        sums = list(processes.map(torch.sum, [torch.ones(some.randint(2, 9)) for _ in range(4)]))
    train(Truth(), some.randint(12, 16))
    say(sums)


def notebook(some: Random) -> None:
    """A notebook that nbclient executes."""
    import nbclient
    import nbformat

    cells = (
        f"import sys; sys.path.insert(0, {HERE!r})\nfrom truth import *\nsome = seeded(3)",
        "truth = Truth()\nloss = train(truth, 7)",
        f"say(loss, train(truth, {some.randint(7, 12)}))\ntruth.save()",
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    for cell in book.cells:
        print(*(output.get("text") for output in cell.outputs))


PROGRAMS = {name: each for name, each in list(globals().items()) if callable(each)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](seeded(int(sys.argv[2])))
