"""Jobs as forks of a process that has imported all they need, where Snakemake runs on this machine.

A job's own process hands its work over, waits for it and ends as it ended; what it imports itself
is little. The first job of a run starts the server, for linear models or for networks; it ends with
the run, as it carries its mark (see lifetime.py). A job that is killed closes its connection, and
its work is ended; the work ends with the server. A server whose code has been edited since does
nothing more. Without the mark, on a cluster say, and for experiments with several threads, whose
libraries must be loaded for them, a job does its own work. Requests are pickled: they come through
a socket in a folder that only this user may enter.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pauc_core.suite.child import die_with_parent
from pauc_core.suite.lifetime import MAIN

PLACE = Path(".snakemake/served")
START_SECONDS = 60.0
DONE, FAILED, OUTDATED = b"0", b"1", b"2"
# What takes long to import, by the kind of server. Nothing of torch's may run before a fork.
IMPORTS = {
    "linear": ("pauc_core.suite.job_work", "sklearn.linear_model"),
    "network": ("pauc_core.suite.job_work", "pauc_core.models.module"),
}


class Packed:
    """An object that is only unpacked where it is used: its modules may take long to import.

    ``kind`` is the server that work with it may be handed to, None where to none.
    """

    def __init__(self, value: Any, kind: str | None) -> None:
        self.content = pickle.dumps(value)
        self.kind = kind

    def unpack(self) -> Any:
        return pickle.loads(self.content)


def do(work: str, *, spec: Packed, **arguments: Any) -> None:
    """Do ``work`` of job_work.py with these arguments; leave with code 1 where it fails."""
    server = _connect(spec.kind) if spec.kind and os.environ.get(MAIN) else None
    if server is None:
        _do_here(work, spec=spec, **arguments)
        return
    with server:
        request = pickle.dumps((work, {"spec": spec, **arguments}))
        socket.send_fds(server, [len(request).to_bytes(8, "big")], [1, 2])
        server.sendall(request)
        code = server.recv(1)
    if code == OUTDATED:
        _do_here(work, spec=spec, **arguments)
        return
    if not code:
        print("The process that did this job's work was ended.", file=sys.stderr)
    if code != DONE:
        sys.exit(1)


def _do_here(work: str, **arguments: Any) -> None:
    getattr(importlib.import_module("pauc_core.suite.job_work"), work)(**arguments)


def _connect(kind: str) -> socket.socket | None:
    """A connection to the run's server of a kind, which is started where there is none yet."""
    try:
        PLACE.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (PLACE / f"{kind}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _reach(kind) or _start(kind)
    except OSError:
        return None


def _reach(kind: str) -> socket.socket | None:
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(str(_address(kind)))
    except OSError:
        server.close()
        return None
    return server


def _start(kind: str) -> socket.socket | None:
    command = [sys.executable, "-m", "pauc_core.suite.served", kind]
    nothing = subprocess.DEVNULL  # whoever reads this job's words must not wait for the server's
    process = subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        if (server := _reach(kind)) is not None:
            return server
        time.sleep(0.02)
    process.kill()
    return None


def _address(kind: str) -> Path:
    """Of this run: the server of another one must not be taken for it."""
    return PLACE / f"{kind}-{os.environ[MAIN]}"


def serve(kind: str) -> None:
    """Take work and do each in a fork, until the run ends."""
    for module in IMPORTS[kind]:
        importlib.import_module(module)
    importlib.import_module("pauc_core.suite.job_work").compile_objective()
    code = _code()
    for old in PLACE.glob(f"{kind}-*"):
        old.unlink()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(_address(kind)))
    listening.listen(64)
    watched = selectors.DefaultSelector()
    watched.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in watched.select():
            if key.fileobj is listening:
                client, _ = listening.accept()
                request, words = _receive(client)
                # Otherwise the digest that is recorded would be of other code.
                pid = _fork(request, words) if _code() == code else None
                for handle in words:
                    os.close(handle)
                if pid is None:
                    _answer(client, OUTDATED)
                    continue
                ended = os.pidfd_open(pid)
                for sign in (client, ended):
                    watched.register(sign, selectors.EVENT_READ, (pid, client, ended))
            elif key.fd in watched.get_map():
                pid, client, ended = key.data
                if key.fileobj is client:  # it says nothing more: it is gone
                    os.kill(pid, signal.SIGKILL)
                status = os.waitpid(pid, 0)[1]
                for sign in (client, ended):
                    watched.unregister(sign)
                _answer(client, DONE if status == 0 else FAILED)
                os.close(ended)


def _code() -> dict[str, int]:
    """When the files were written that this process has imported of the project."""
    files = [m.__file__ for name, m in list(sys.modules.items()) if name.startswith("pauc_core")]
    return {file: os.stat(file).st_mtime_ns for file in files if file}


def _answer(client: socket.socket, word: bytes) -> None:
    with client, contextlib.suppress(OSError):  # whoever asked may have been killed
        client.sendall(word)


def _receive(client: socket.socket) -> tuple[bytes, list[int]]:
    """What is asked for, and where the client's words go."""
    head, words, *_ = socket.recv_fds(client, 8, 2)
    with client.makefile("rb") as stream:
        return stream.read(int.from_bytes(head, "big")), words


def _fork(request: bytes, words: list[int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    die_with_parent()
    code = 1
    try:
        for place, handle in enumerate(words, 1):
            os.dup2(handle, place)
        work, arguments = pickle.loads(request)
        _do_here(work, **arguments)
        code = 0
    except SystemExit as left:
        code = int(left.code not in (0, None))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
