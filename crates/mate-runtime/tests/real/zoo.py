"""Programs that do not want to end: `zoo.py ANIMAL MARK`, or `all`.

The mark stays in the command line, and the working directory is the test's own: by either a survivor is found.
What multiplies ends by itself when the file `open` is gone from that directory."""

import ctypes
import os
import signal
import sys
import time

AGE = 900


def sleep():
    time.sleep(AGE)
    os._exit(0)


def is_open():
    return os.path.exists("open")


def daemon():
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    sleep()


def deaf():
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
    sleep()


def ignores_the_end_of_its_input():
    sys.stdin.buffer.read()
    sleep()


def respawns():
    # Whatever is killed is started anew, in a session of its own, by a parent and a grandparent.
    for _ in range(2):
        if os.fork() == 0:
            break
    while is_open():
        child = os.fork()
        if child == 0:
            os.setsid()
            sleep()
        os.waitpid(child, 0)


def hops():
    # Never the same process for long: each starts the next and ends.
    while is_open():
        if os.fork():
            os._exit(0)
        time.sleep(0.002)


def storms():
    # Each starts others as fast as it can, and none of them waits for anybody.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while is_open():
        if os.fork() == 0:
            os.setsid()
        time.sleep(0.5)


def has_nothing():
    os.closerange(0, 256)
    here = os.path.abspath(sys.argv[0])
    os.execve(sys.executable, ["python3", here, "sleep", sys.argv[2]], {})


def handshakes():
    # An MCP server that was asked to initialize and has not answered yet.
    sys.stdin.buffer.readline()
    sleep()


def is_stopped():
    if os.fork():
        sleep()
    os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)
    sleep()


def changes_its_name():
    ctypes.CDLL(None).prctl(15, b"(kworker) 1 (x", 0, 0, 0)
    sleep()


def leaves_its_group():
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            sleep()
        sleep()
    os._exit(0)


ANIMALS = [
    daemon, deaf, ignores_the_end_of_its_input, respawns, hops, has_nothing, handshakes, is_stopped,
    changes_its_name, leaves_its_group, storms,
]

if __name__ == "__main__":
    wanted = sys.argv[1]
    if wanted == "sleep":
        sleep()
    for animal in ANIMALS:
        if wanted == animal.__name__:
            animal()
            os._exit(0)
        if wanted in ("all", "tame") and not (wanted == "tame" and animal is storms) and os.fork() == 0:
            animal()
            os._exit(0)
    sleep()
