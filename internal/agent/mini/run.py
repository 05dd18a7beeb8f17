"""Starts mini-swe-agent for a trial: the task comes on standard input, and
every message of the conversation goes to standard output as a JSON line the
moment it is there, in the form of the program's own trajectory file. What the
program prints for people goes to standard error.

    python3 run.py PACKAGES ARGUMENT...
"""

import gc
import json
import os
import sys

sys.path.append(sys.argv[1])

events = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
os.dup2(2, 1)


def tell(kind, **what):
    json.dump({"type": kind, **what}, events, default=str)
    events.write("\n")
    events.flush()


def main(arguments):
    task = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    gc.disable()  # what is imported stays: looking for garbage in it takes a fifth of the start
    import minisweagent
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.run.mini import app

    import minisweagent.models.litellm_model

    gc.freeze()
    gc.enable()
    tell("start", version=minisweagent.__version__)
    add = DefaultAgent.add_messages

    def added(self, *messages):
        for message in messages:
            tell("message", message=message)
        return add(self, *messages)

    DefaultAgent.add_messages = added
    app(arguments + ["-t", task], prog_name="mini", standalone_mode=False)


try:
    main(sys.argv[2:])
    status = 0
except BaseException as e:  # its last message has told; a drawn traceback takes seconds
    print(f"{type(e).__name__}: {e}", file=sys.stderr)
    status = 1
sys.stderr.flush()
events.flush()
os._exit(status)
