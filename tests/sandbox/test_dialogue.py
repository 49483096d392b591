"""A program that isn't ours answers from a jail, as long as it keeps to its limits, and is gone when it is ended."""

import gc
import os
import sys
import time
from pathlib import Path

import pytest

from arena.sandbox import SandboxUnavailable, probe
from arena.sandbox.dialogue import OUTPUT, Dialogue
from arena.sandbox.mounts import interpreter
from arena.sandbox.verdict import MIB

ESCAPES = """
import os, socket, subprocess
for line in iter(input, ""):
    found = []
    for name, attempt in {
        "read /etc/passwd": lambda: open("/etc/passwd").read(),
        "list /proc": lambda: os.listdir("/proc"),
        "read what lies beside it": lambda: open(os.path.dirname(__file__) + "/secret").read(),
        "write /tmp": lambda: open("/tmp/escape", "w"),
        "write /": lambda: open("/escape", "w"),
        "write itself": lambda: open(__file__, "a"),
        "write a library": lambda: open(os.__file__, "a"),
        "make /dev/shm": lambda: os.makedirs("/dev/shm"),
        "open a socket": lambda: socket.socket().close(),
        "connect": lambda: socket.create_connection(("127.0.0.1", 22), timeout=1),
        "fork": lambda: os.fork() or os._exit(0),
        "start a shell": lambda: subprocess.run(["/bin/sh", "-c", "true"]),
        "signal others": lambda: os.kill(2, 0),
        "become root": lambda: os.setuid(0),
        "mount": lambda: os.unshare(0x20000) if hasattr(os, "unshare") else open("/nowhere"),
    }.items():
        try:
            attempt()
            found.append(name)
        except OSError:
            pass
    print(found, os.getuid(), flush=True)
"""
ECHO = "for line in iter(input, ''): print(line, flush=True)"


@pytest.fixture(autouse=True)
def bwrap(request):
    if "monkeypatch" not in request.fixturenames and (why := probe.trouble("bwrap")):
        pytest.skip(why)


def talk(source, tmp_path, **settings):
    """A Python program in a jail."""
    script = tmp_path / "script.py"
    script.write_text(source)
    (tmp_path / "secret").write_text("secret")
    command = [str(interpreter()), "-S", "-B", str(script)]
    return Dialogue(command, [sys.base_prefix, script], {"LD_LIBRARY_PATH": f"{sys.base_prefix}/lib"}, **settings)


def line(said):
    return said.endswith(b"\n")


def ask(dialogue, text="x\n", whole=line, seconds=20.0):
    return dialogue.ask(text, whole, time.monotonic() + seconds).decode()


def inside(dialogue):
    """The first process of a running jail, as /proc shows it from outside."""
    fields = Path(f"/proc/self/fdinfo/{dialogue._running.first}").read_text().split()
    return Path("/proc") / fields[fields.index("Pid:") + 1]


def gone(processes):
    """Whether within two seconds none is left."""
    end = time.monotonic() + 2
    while (left := any(process.exists() for process in processes)) and time.monotonic() < end:
        time.sleep(0.01)
    return not left


def test_nothing_gets_out_of_it(tmp_path):
    dialogue = talk(ESCAPES, tmp_path, merged=True)
    before = (tmp_path / "script.py").read_bytes()
    assert ask(dialogue) == "[] 65534\n"
    dialogue.stop()
    assert (tmp_path / "script.py").read_bytes() == before
    assert not Path("/tmp/escape").exists()


def test_without_the_filter_the_walls_stand_too(tmp_path):
    """Whoever may start processes starts them in there."""
    dialogue = talk(ESCAPES, tmp_path, filtered=False)
    told = ask(dialogue)
    dialogue.stop()
    for allowed in ("'open a socket', ", "'fork'", "[", "]", ", ", "65534", "\n", "'signal others'"):
        told = told.replace(allowed, "")
    assert not told.strip()


def test_one_folder_can_be_written_if_it_is_named_and_nothing_beside_it(tmp_path):
    shown = tmp_path / "shown"
    shown.mkdir()
    source = f"input(); open('{shown}/new', 'w').write('yes'); print('done', flush=True); input()"
    dialogue = talk(source, tmp_path, written=shown)
    assert ask(dialogue) == "done\n"
    assert (shown / "new").read_text() == "yes"
    dialogue.stop()
    dialogue = talk(source.replace("shown/new", "other"), tmp_path, written=shown)
    with pytest.raises(EOFError):
        ask(dialogue)
    assert not (tmp_path / "other").exists()


def test_it_is_warm_and_can_be_begun_again(tmp_path):
    dialogue = talk(ECHO, tmp_path)
    assert not dialogue.running
    assert [ask(dialogue, f"{i}\n") for i in range(3)] == ["0\n", "1\n", "2\n"]
    first = inside(dialogue)
    dialogue.stop()
    assert not dialogue.running
    assert gone([first])
    assert ask(dialogue, "again\n") == "again\n"
    dialogue.stop()


def test_long_texts_go_both_ways_at_once(tmp_path):
    """Neither waits for the other, though no pipe holds as much."""
    dialogue = talk(ECHO, tmp_path)
    text = "x" * 99 + "\n"
    assert ask(dialogue, text * 9000, lambda said: said.count(b"\n") == 9000) == text * 9000
    dialogue.stop()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("input(); raise SystemExit", EOFError),
        ("import os; input(); os.abort()", EOFError),
        ("input(); x = bytearray(1 << 40)", EOFError),
        ("input(); print('x' * (1 << 22), flush=True); input()", OverflowError),
        ("input()\nwhile True: pass", TimeoutError),
        ("import time; time.sleep(60)", TimeoutError),
        ("import time\nwhile True: print(end='x', flush=True); time.sleep(0.01)", TimeoutError),
        ("raise SystemExit", EOFError),
    ],
)
def test_whatever_goes_wrong_is_told_and_ends_the_process(tmp_path, source, error):
    dialogue, begun = talk(source, tmp_path, mem=512 * MIB), time.monotonic()
    with pytest.raises(error):
        ask(dialogue, seconds=3.0)
    assert not dialogue.running
    assert time.monotonic() - begun < 10


def test_a_flood_is_cut_off_at_the_limit(tmp_path):
    dialogue = talk("input()\nwhile True: print('x' * 1000, flush=True)", tmp_path)
    with pytest.raises(OverflowError, match=str(OUTPUT)):
        ask(dialogue, whole=lambda said: False)


def test_what_is_said_unasked_is_seen(tmp_path):
    dialogue = talk(f"{ECHO.replace('print(line', 'print(line + chr(10) + line')}", tmp_path)
    assert not dialogue.unasked
    ask(dialogue, whole=lambda said: said == b"x\nx\n")
    assert not dialogue.unasked
    dialogue.stop()
    dialogue = talk(
        "input(); print(1, flush=True); import time; time.sleep(0.3); print(2, flush=True); input()", tmp_path
    )
    ask(dialogue, whole=lambda said: b"1" in said)
    time.sleep(1.0)
    assert dialogue.unasked
    dialogue.stop()


@pytest.mark.slow
def test_nothing_is_left_of_many(tmp_path):
    """No process, no zombie, no descriptor, also where it is forgotten instead of stopped."""
    open_before = len(os.listdir("/proc/self/fd"))
    jails = []
    for i in range(20):
        dialogue = talk("input(); print(1, flush=True)\nwhile True: pass", tmp_path)
        ask(dialogue)
        jails.append(inside(dialogue))
        if i % 2:
            dialogue.stop()
        del dialogue
    gc.collect()
    assert gone(jails)
    assert len(os.listdir("/proc/self/fd")) == open_before


def test_no_program_and_no_jail_are_both_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "trouble", lambda tier: "")
    for command, shown in ((["/nowhere/program"], []), (["/bin/sh"], ["/nowhere/library"])):
        with pytest.raises(SandboxUnavailable, match="isn't there to be run or shown"):
            Dialogue(command, shown)
    monkeypatch.setattr(probe, "trouble", lambda tier: "bwrap: no user namespaces")
    with pytest.raises(SandboxUnavailable, match="without a jail that holds: bwrap: no user namespaces"):
        Dialogue(["/bin/sh"])
