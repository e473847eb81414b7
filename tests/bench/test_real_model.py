"""The real server that integration tests lean on, and what it says to pictures."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support.projector import write_projector
from support.real_model import needs_model, real_model
from support.served import Served

pytestmark = [pytest.mark.slow, needs_model]

BLACK = Image.new("L", (64, 64), 0)
SLOPE = Image.linear_gradient("L")


def ask(model: Served, *pictures: Image.Image, **fields: Any) -> tuple[int, dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": "Is it there? Answer Yes or No."}]
    for picture in pictures:
        png = BytesIO()
        picture.save(png, "PNG")
        url = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
        parts.append({"type": "image_url", "image_url": {"url": url}})
    body = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": parts}],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 5,
    }
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=60)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body | fields), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def first_token(answer: dict[str, Any]) -> dict[str, float]:
    top = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return {each["token"]: each["logprob"] for each in top}


@pytest.fixture(scope="module")
def text_only() -> Iterator[Served]:
    with real_model() as model:
        yield model


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path: Path = tmp_path_factory.mktemp("projector") / "mmproj.gguf"
    with real_model(projector=write_projector(path)) as model:
        yield model


def test_text_gets_a_reply_with_log_probabilities(text_only: Served) -> None:
    status, answer = ask(text_only)
    assert status == 200
    assert len(first_token(answer)) == 5
    assert answer["usage"]["prompt_tokens"] > 0
    assert text_only.get("/v1/models")["data"][0]["id"] == "smollm2"


def test_a_text_model_refuses_pictures_with_a_status_that_looks_as_if_it_could_heal(
    text_only: Served,
) -> None:
    status, answer = ask(text_only, BLACK)
    assert status == 500
    assert "image input is not supported" in answer["error"]["message"]


def test_alternatives_are_refused_where_log_probabilities_are_off(text_only: Served) -> None:
    assert ask(text_only, logprobs=False, top_logprobs=0)[0] == 400


def test_pixels_become_tokens_and_move_the_reply(seeing: Served) -> None:
    none, black, slope, again = (
        ask(seeing, *shown)[1] for shown in ((), (BLACK,), (SLOPE,), (BLACK,))
    )
    tokens = [answer["usage"]["prompt_tokens"] for answer in (none, black, slope)]
    assert tokens[1] == tokens[2] == tokens[0] + 16
    assert first_token(black) == pytest.approx(first_token(again), abs=1e-3)
    assert first_token(black) != pytest.approx(first_token(slope), abs=1e-3)
    assert first_token(black) != pytest.approx(first_token(none), abs=1e-3)
    assert all(value <= 0 for value in first_token(slope).values())
