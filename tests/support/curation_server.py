"""A chat server in a thread that does every job of curation: writes, distracts, reasons, answers.

It knows nothing: what it says is made of the material it is given, and of a digest. Every so many
requests are refused, answered in prose, or turned away for good, by their content alone, so that
the same question always meets the same fate.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from overread.judging.rubric import sections_of

NOUNS = (
    "a healed fracture", "fibrous tissue", "a vascular malformation", "early oedema", "a foreign body",
    "chronic inflammation", "a benign cyst", "an artefact of motion", "calcified plaque", "normal variant",
    "granulation tissue", "a small haemorrhage", "degenerative change", "lymphoid tissue", "fat necrosis",
)  # fmt: skip


class Server(ThreadingHTTPServer):
    """Counts every request by its body; `pause` is how long a reply takes."""

    daemon_threads = True
    pause = 0.0
    trouble = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[str] = Counter()
        self.jobs: Counter[str] = Counter()
        self.fates: Counter[str] = Counter()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may have been killed."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def curation_server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *given: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": []})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        name = blake2b(data, digest_size=12).hexdigest()
        self.server.asked[name] += 1
        time.sleep(self.server.pause)
        body = json.loads(data)
        job, text = said(body)
        self.server.jobs[job] += 1
        fate = (
            int(name, 16) % 40 if self.server.trouble and job in ("ask", "distract", "steps") else 9
        )
        if fate == 0:
            self.server.fates["turned away"] += 1
            self._send(400, {"error": {"message": "this prompt is not for me"}})
            return
        message = {"role": "assistant", "content": text}
        if fate == 1:
            self.server.fates["refused"] += 1
            message = {"role": "assistant", "content": None, "refusal": "I will not."}
        elif fate in (2, 3):
            self.server.fates["prose"] += 1
            message["content"] = "Certainly! Here is what you asked for: nothing that is JSON."
        self._send(200, {
            "id": name, "object": "chat.completion", "model": f"{body['model']}-0718",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10},
        })  # fmt: skip

    def _send(self, status: int, found: dict[str, Any]) -> None:
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def said(body: dict[str, Any]) -> tuple[str, str]:
    """What is asked for, and what is said to it."""
    turns = [_text(message["content"]) for message in body["messages"]]
    first = turns[0]
    draw = int(blake2b((body["model"] + first).encode(), digest_size=6).hexdigest(), 16)
    material = sections_of(first)
    if "You write a question for an examination" in first:
        return "ask", _question(first, turns[-1], material, draw)
    if "You write wrong answers" in first:
        places = [(draw + 3 * number) % len(NOUNS) for number in range(4)]
        return "distract", json.dumps({"distractors": [NOUNS[place] for place in places]})
    if "the reasoning of a clinician" in first or "the reasoning of an experienced" in first:
        return "steps", _steps(first, material)
    if "You check the reasoning" in first:
        flags = [{"step": "feature", "why": "it may be said of any"}] if draw % 7 == 0 else []
        return "check", json.dumps({"flags": flags})
    letters = re.findall(r"^([A-J])[).] ", first, re.MULTILINE)
    if letters:
        return "choice", letters[draw % len(letters)]
    return "open", NOUNS[draw % len(NOUNS)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _question(first: str, last: str, material: dict[str, str], draw: int) -> str:
    """One of the questions, its gaps and its answer taken from the caption word for word."""
    words = re.findall(r"[^\W\d_]{3,}", material.get("caption", ""))
    listed = dict(
        re.findall(r"^(\w+): (.+)$", first.partition("Questions by number:")[2], re.MULTILINE)
    )
    if not words or not listed:
        return json.dumps({"question": None})
    number = sorted(listed)[draw % len(listed)]
    half = max(1, len(words) // 2)
    gaps = re.findall(r"{(\w+)}", listed[number])
    fill = {gap: words[at % half] for at, gap in enumerate(gaps)}
    rest = words[half:] or words
    wanted = 2 if " 2 to " in last else 1
    answers = [rest[(draw + at) % len(rest)] for at in range(wanted)]
    return json.dumps({"question": number, "fill": fill, "answers": answers})


def _steps(first: str, material: dict[str, str]) -> str:
    kinds = re.findall(r'"(modality|feature|conclusion|analysis)": "…"', first)
    answer = material.get("answer", "")
    texts = {
        "modality": f"This is {material.get('examination') or 'a medical picture'}.",
        "feature": f"What can be seen: {material.get('caption', '')[:200]}",
        "conclusion": f"It follows that the answer is {answer}.",
        "analysis": f"What is known of {answer} fits.",
    }
    return json.dumps({kind: texts[kind] for kind in kinds})
