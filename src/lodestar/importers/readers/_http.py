"""Answers over HTTP that no server can make endless: each is bounded in time and in size, whatever it sends.

Comes in: a session of `requests` and a question. Goes out: the status and the whole body, or `Endless`.
"""

import dataclasses
import queue
import threading
from typing import Any

SECONDS_OF_SILENCE = 60.0
SECONDS_IN_ALL = 600.0
"""From the question to the last byte of the answer, with all tries."""
MOST_BYTES = 1 << 29
"""Of one answer, unpacked."""


class Endless(Exception):
    """The server sends more, or for longer, than we take."""


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


def ask(session: Any, method: str, url: str, **what: Any) -> Answer:
    """The answer, awaited from outside: a server that sends a byte a second runs into no timeout of a socket."""
    answers: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(_whole(session.request(method, url, timeout=SECONDS_OF_SILENCE, stream=True, **what)))
        except BaseException as error:  # noqa: BLE001  raised again below, where somebody waits
            answers.put(error)

    threading.Thread(target=work, name="ask", daemon=True).start()
    try:
        found = answers.get(timeout=SECONDS_IN_ALL)
    except queue.Empty:
        raise Endless(f"no whole answer within {SECONDS_IN_ALL:g} s") from None
    if isinstance(found, BaseException):
        raise found
    return found


def _whole(answer: Any) -> Answer:
    body = bytearray()
    with answer:
        for part in answer.iter_content(1 << 16):
            body += part
            if len(body) > MOST_BYTES:
                raise Endless(f"an answer of more than {MOST_BYTES:,} bytes")
    return Answer(answer.status_code, bytes(body))
