"""A model in this process: a tiny vision-language model with random weights, built and saved here.

The one file of tests that imports torch and transformers for `hf:`: that takes seconds.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import msgspec
import pytest

from overread.case import (
    BadInput,
    Clip,
    Decoding,
    Inline,
    Message,
    Picture,
    Prompt,
    PromptMessage,
    Reader,
    ReaderFailure,
    Reply,
    Request,
    Shown,
    ShownClip,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask, read_back
from overread.imaging import lossless_clip, render_clip
from overread.readers import Guard, open_reader
from overread.sight import digit_picture
from support.answering import raw_server, response
from support.clip_files import frame
from support.installed import needs
from support.tiny_models import PATCH, PX, ask_digits, save_tiny_llama, save_tiny_llava

pytestmark = [pytest.mark.slow, needs("torch", "needs the extra hf: not installed")]

TESTS = Path(__file__).parents[1]

A_PICTURE = (PX // PATCH) ** 2  # tokens
PENALTIES = {"do_sample": True, "top_k": 3, "temperature": 0.5, "repetition_penalty": 1.7}
GREEDY = Decoding(max_tokens=6, top_logprobs=5)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """Threads that wait for each other make a model of this size thirty times slower."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("models") / "tiny", **PENALTIES)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llama(tmp_path_factory.mktemp("models") / "text")


def opened(folder: Path, options: str = "") -> Reader:
    spec = f"hf:{folder}" + (f"?{options}" if options else "")
    return open_reader(spec, guard=Guard(), environment={}, controls={})


def answers(reader: Reader, prompts: Sequence[Prompt], *, close: bool = True) -> list[Any]:
    async def work() -> list[Any]:
        found = await asyncio.gather(*map(reader.reply, prompts), return_exceptions=True)
        if close:
            await reader.close()
        return list(found)

    return asyncio.run(work())


def shown(digit: str) -> Shown:
    return Shown("image/png", digit_picture(digit, 48))


def prompt(*parts: str | Shown | ShownClip, decoding: Decoding = GREEDY, draw: str = "") -> Prompt:
    return Prompt((PromptMessage("user", parts),), decoding, draw=draw)


# ---------------------------------------------------------------- what it sees


def test_pixels_change_what_it_says_and_the_same_pixels_do_not(llava: Path) -> None:
    asked = [prompt(shown(digit), "Which?") for digit in "17117"]
    one, seven, again, _, _ = answers(opened(llava), asked)
    assert one.logprobs == again.logprobs
    assert one.text == again.text
    assert one.logprobs != seven.logprobs
    assert one.sent == again.sent != seven.sent


def test_every_picture_and_every_frame_is_counted(llava: Path) -> None:
    frames = [frame(number) for number in range(7)]
    clip = render_clip(Clip(Inline(lossless_clip(frames)), tuple(range(5))))
    bare, one, three, five = answers(
        opened(llava),
        [
            prompt("Which?"),
            prompt(shown("1"), "Which?"),
            prompt(shown("1"), shown("2"), shown("3"), "Which?"),
            prompt(clip, "Which?"),
        ],
    )
    counts = [reply.tokens_in - bare.tokens_in for reply in (one, three, five)]
    assert counts == [A_PICTURE, 3 * A_PICTURE, 5 * A_PICTURE]


def test_a_text_only_reader_is_asked_once_whatever_the_picture_and_sees_none(
    llava: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overread.readers.huggingface as hf

    def nothing_is_shown(_: Shown) -> None:
        raise AssertionError("a picture was opened")

    monkeypatch.setattr(hf, "_image", nothing_is_shown)
    reader = opened(llava, "modality=text")
    trials = [
        Trial(d, {}, Request((Message("user", (Picture(Inline(digit_picture(d))), "Which?")),)))
        for d in "123"
    ]
    replies = kept(reader, trials, tmp_path)
    assert len({reply.text for reply in replies}) == 1
    with pytest.raises(AssertionError, match="handed pixels"):
        asyncio.run(reader.reply(prompt(shown("1"))))


def kept(reader: Reader, trials: Sequence[Trial], folder: Path) -> list[Reply]:
    async def work(store: Store, studio: Studio) -> None:
        await ask(lambda: trials, reader, store, studio, dataset=1)
        await reader.close()

    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        asyncio.run(work(store, studio))
        found = [reply for _, reply, _ in read_back(lambda: trials, reader, store, studio)]
        studio.close()
    assert None not in found
    return [reply for reply in found if reply is not None]


def test_a_template_that_passes_over_pictures_is_refused(llava: Path, tmp_path: Path) -> None:
    blind = copied(llava, tmp_path, "chat_template.jinja", lambda text: text.replace("<image>", ""))
    (said,) = answers(opened(blind), [prompt(shown("1"), "Which?")])
    assert str(said) == (
        "model: its chat template passes over pictures. Give it one that shows them."
    )


def copied(folder: Path, place: Path, name: str, change: Callable[[str], str]) -> Path:
    """The same checkpoint with one file changed."""
    other = place / "changed"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / name).write_text(change((folder / name).read_text("utf-8")), "utf-8")
    return other


def test_a_control_token_in_a_question_is_text(llava: Path) -> None:
    """Else a question could end its own turn, or stand for a picture that nobody showed."""
    plain, odd, turns = answers(
        opened(llava),
        [
            prompt(shown("1"), "Which?"),
            prompt(shown("1"), "Which<image>?"),
            prompt(shown("1"), "Which<|end|>?"),
        ],
    )
    assert odd.tokens_in == plain.tokens_in + len("<image>")
    assert turns.tokens_in == plain.tokens_in + len("<|end|>")


def test_text_models_are_asked_as_text_and_shown_nothing(llama: Path) -> None:
    (reply,) = answers(opened(llama, "modality=text"), [prompt("Which?")])
    assert len(reply.logprobs) == 5
    (refused,) = answers(opened(llama), [prompt(shown("1"), "Which?")])
    assert str(refused) == "model: llama takes no pictures. Add modality=text."


# ---------------------------------------------------------------- how it decodes


def test_probabilities_are_of_the_raw_logits_and_the_checkpoints_own_settings_are_overridden(
    llava: Path,
) -> None:
    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    reader = opened(llava)
    (reply,) = answers(reader, [prompt(shown("4"), "Which?")])
    model = AutoModelForImageTextToText.from_pretrained(llava)
    assert model.generation_config.repetition_penalty == 1.7
    processor = AutoProcessor.from_pretrained(llava)
    image = Image.open(io.BytesIO(shown("4").data)).convert("RGB")
    inputs = processor(
        images=image, text="<|user|><image>Which?<|end|><|assistant|>", return_tensors="pt"
    )
    said = []
    with torch.inference_mode():
        for _ in range(GREEDY.max_tokens):
            logits = model(**inputs).logits[0, -1]
            said.append(logits.argmax())
            inputs["input_ids"] = torch.cat([inputs["input_ids"], said[-1].reshape(1, 1)], 1)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            if len(said) == 1:
                top = logits.log_softmax(-1).topk(5)
    assert reply.text == processor.tokenizer.decode(said, skip_special_tokens=True)
    assert [value for _, value in reply.logprobs] == pytest.approx(top.values.tolist(), abs=1e-4)
    overridden = msgspec.json.decode(reader.facts["generation_config_overridden"])  # type: ignore[attr-defined]
    assert {name: overridden[name] for name in PENALTIES} == PENALTIES


def test_a_sampled_reply_is_drawn_by_its_own_lot_whoever_else_is_asked(llava: Path) -> None:
    hot = Decoding(max_tokens=6, temperature=2.0)
    asked = [prompt(shown("3"), "Which?", decoding=hot, draw=f"{lot:02x}") for lot in range(5)]
    together = answers(opened(llava, "batch=5"), asked)
    alone = answers(opened(llava, "batch=1"), asked[::-1])[::-1]
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert len({reply.text for reply in together}) > 1
    # Left to the checkpoint, its own temperature and top_k hold; and no question has two answers.
    own = Decoding(max_tokens=6, temperature=None)
    first, second = (
        answers(opened(llava), [prompt("Which?", decoding=own, draw="01")]) for _ in range(2)
    )
    assert first[0].text == second[0].text


def test_two_models_are_loaded_one_after_the_other(llava: Path, llama: Path) -> None:
    """Asked at once, two threads would import transformers at once, which it does not bear."""
    readers = [opened(llava), opened(llama, "modality=text"), opened(llava, "batch=2")]

    async def work() -> list[Any]:
        asked = [reader.reply(prompt("Which?")) for reader in readers]
        found = await asyncio.gather(*asked, return_exceptions=True)
        for reader in readers:
            await reader.close()
        return list(found)

    assert all(isinstance(reply, Reply) for reply in asyncio.run(work()))


def test_a_processor_that_lacks_a_package_says_which(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    def lacks(*_: object, **__: object) -> None:
        raise ImportError(
            "VideoThing requires the Torchvision library but it was not found\nat all."
        )

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", lacks)
    (said,) = answers(opened(llava), [prompt("Which?")])
    assert str(said) == (
        "model: VideoThing requires the Torchvision library. Run pip install 'overread[hf]'."
    )


def test_an_answer_is_broken_off_when_the_reader_closes(llava: Path) -> None:
    model = opened(llava)._load()  # type: ignore[attr-defined]
    steps: list[None] = []
    model._model.register_forward_hook(lambda *_: steps.append(None))
    model.stop()
    with pytest.raises(ReaderFailure, match="closed while it answered"):
        model.answer([prompt(shown("1"), "Which?", decoding=Decoding(max_tokens=3000))])
    assert len(steps) == 1


def test_it_counts_tokens_and_says_why_it_ended(llava: Path) -> None:
    (reply,) = answers(opened(llava), [prompt("Which?", decoding=Decoding(max_tokens=3))])
    assert (reply.tokens_out, reply.finish) == (3, "length")
    assert reply.model.startswith("bytes:")
    assert "transformers" in reply.fingerprint


# ---------------------------------------------------------------- who it is


def test_it_is_known_by_its_bytes_and_by_every_option(llava: Path, tmp_path: Path) -> None:
    same = copied(llava, tmp_path, "config.json", lambda text: text)
    assert opened(same).identity == opened(llava).identity
    weights = bytearray((same / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (same / "model.safetensors").write_bytes(weights)
    others = [opened(same)] + [
        opened(llava, option)
        for option in ("dtype=bfloat16", "batch=2", "attention=eager", "revision=second",
                       'extra={"top_k": 4}')
    ]  # fmt: skip
    assert len({opened(llava).identity, *(other.identity for other in others)}) == 7


def test_nothing_is_fetched(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    (reply,) = answers(opened(llava), [prompt("Which?")])
    assert isinstance(reply, Reply)
    with pytest.raises(BadInput, match="Run hf download some/model --revision v2$"):
        open_reader("hf:some/model?revision=v2", guard=Guard(), environment={}, controls={})


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("hf:/no/such/folder", "there is no folder /no/such/folder"),
        ("hf:{llava}?quantisation=4bit", "needs the package bitsandbytes"),
        ("hf:{llava}?clips=video", "needs the package torchvision"),
        ('hf:{llava}?extra={{"temperature": 1}}', "extra has temperature; of hf: it may have"),
        ("hf:{llava}/..", "has no config.json"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_loaded(
    llava: Path, spec: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overread.readers.huggingface as hf

    there = hf.find_spec
    missing = ("bitsandbytes", "torchvision")
    monkeypatch.setattr(hf, "find_spec", lambda name: None if name in missing else there(name))
    with pytest.raises(BadInput, match=says):
        open_reader(spec.format(llava=llava), guard=Guard(), environment={}, controls={})


def test_without_the_extra_it_says_what_to_install(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overread.readers.huggingface as hf

    monkeypatch.setattr(hf, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"Run pip install 'overread\[hf\]'"):
        opened(llava)


def test_template_words_reach_the_template_or_are_refused(llava: Path) -> None:
    loud, plain, odd = (
        answers(opened(llava, f'extra={{"chat_template_kwargs": {{"{word}": true}}}}'), [prompt("Which?")])[0]
        if word else answers(opened(llava), [prompt("Which?")])[0]
        for word in ("shout", "", "whisper")
    )  # fmt: skip
    assert loud.tokens_in == plain.tokens_in + 1
    assert str(odd) == "model: its chat template does not know whisper. Mend chat_template_kwargs."


# ---------------------------------------------------------------- as any other reader

KILLED = """
import sys, torch
from pathlib import Path
from support.tiny_models import ask_digits
torch.set_num_threads(1)
ask_digits(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), lambda: print(flush=True))
"""


def test_killed_and_resumed_it_says_what_it_would_have_said(llava: Path, tmp_path: Path) -> None:
    many = 100
    whole, said = ask_digits(llava, tmp_path / "whole.sqlite", many)
    words = [sys.executable, "-c", KILLED, str(llava), str(tmp_path / "killed.sqlite"), str(many)]
    paths = os.pathsep.join(str(path) for path in (TESTS, *sys.path) if str(path))
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}
    ) as run:
        assert run.stdout is not None
        for _ in range(40):  # it has said so much, and some of it is committed
            run.stdout.readline()
        run.send_signal(signal.SIGKILL)
    resumed, again = ask_digits(llava, tmp_path / "killed.sqlite", many)
    assert (whole.kept, whole.answered) == (0, many)
    assert 0 < resumed.kept < many
    assert resumed.kept + resumed.answered == many
    assert [r and (r.text, r.sent) for r in again] == [r and (r.text, r.sent) for r in said]


def test_the_same_weights_behind_a_server_say_the_same(llava: Path, tmp_path: Path) -> None:
    """The server below is made of transformers alone, and knows nothing of the reader."""
    asked = [
        *(prompt(shown(digit), "Which is it?") for digit in "123"),
        prompt("Which?"),
        prompt(shown("4"), "and", shown("5"), "Which?"),
        prompt(ShownClip((shown("6"), shown("7"), shown("8")), 3, "images"), "Which?"),
    ]
    here = answers(opened(llava), asked)
    with raw_server(served_by(llava)) as url:
        spec = f"openai:tiny@{url}"
        there = answers(open_reader(spec, guard=Guard(), environment={}, controls={}), asked)
    assert [reply.text for reply in there] == [reply.text for reply in here]
    assert [reply.tokens_in for reply in there] == [reply.tokens_in for reply in here]
    for one, other in zip(there, here, strict=True):
        assert [token for token, _ in one.logprobs] == [token for token, _ in other.logprobs]
        values = [[value for _, value in reply.logprobs] for reply in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=1e-5)


def served_by(folder: Path) -> Callable[[bytes, BinaryIO], None]:
    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor, GenerationConfig

    model = AutoModelForImageTextToText.from_pretrained(folder)
    model.generation_config = GenerationConfig(eos_token_id=1, pad_token_id=0)
    processor = AutoProcessor.from_pretrained(folder)
    alone = threading.Lock()

    def image(part: dict[str, Any]) -> Any:
        data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
        return Image.open(io.BytesIO(data)).convert("RGB")

    def answer(request: bytes, wire: BinaryIO) -> None:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        content = body["messages"][0]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "".join("<image>" if p["type"] == "image_url" else p["text"] for p in parts)
        images = [image(part) for part in parts if part["type"] == "image_url"]
        text = f"<|user|>{text}<|end|><|assistant|>"
        with alone, torch.inference_mode():
            inputs = processor(images=images or None, text=text, return_tensors="pt")
            made = model.generate(
                **inputs, max_new_tokens=body["max_tokens"], do_sample=False,
                return_dict_in_generate=True, output_logits=True,
            )  # fmt: skip
        new = made.sequences[0, inputs["input_ids"].shape[1] :]
        top = made.logits[0][0].log_softmax(-1).topk(body["top_logprobs"])
        pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        first = [{"token": processor.decode([t]), "logprob": value} for t, value in pairs]
        said = {"content": processor.decode(new, skip_special_tokens=True)}
        found = {"message": said, "logprobs": {"content": [first[0] | {"top_logprobs": first}]}}
        usage = {"prompt_tokens": inputs["input_ids"].shape[1]}
        wire.write(response(json.dumps({"choices": [found], "usage": usage}).encode()))

    return answer


# ---------------------------------------------------------------- frames of a video
#
# No video processor runs here (they need torchvision): what they give back is made up.


def video(count: int) -> Prompt:
    return prompt(ShownClip((Shown("video/mp4", b""),), count, "video"), "Which?")


def encoded(indices: list[int], groups: int) -> dict[str, Any]:
    metadata = [SimpleNamespace(frames_indices=indices)]
    return {"video_metadata": metadata, "video_grid_thw": [[groups, 2, 2]]}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (encoded(list(range(40)), 20), None),
        (encoded([n // 2 for n in range(40)], 20), "20 of 40 frames"),
        (encoded(list(range(32)), 16), "32 of 40 frames"),
        (encoded(list(range(0, 40, 2)), 10), "20 of 40 frames"),
        # The one witness says all of them, the other not.
        (encoded(list(range(40)), 16), "32 of 40 frames"),
        (encoded(list(range(32)), 20), "32 of 40 frames"),
        ({"video_grid_thw": [[20, 2, 2]]}, "does not say how many"),
        ({"video_metadata": [SimpleNamespace(frames_indices=list(range(40)))]}, "does not say"),
    ],
)
def test_frames_of_a_video_are_proved_by_two_witnesses_or_refused(
    made: dict[str, Any], says: str | None
) -> None:
    from overread.readers.huggingface import check_encoded

    processor = SimpleNamespace(video_processor=SimpleNamespace(temporal_patch_size=2))
    if says is None:
        check_encoded(made, [video(40)], processor)
        return
    with pytest.raises(ReaderFailure, match=says):
        check_encoded(made, [video(40)], processor)


def test_the_last_of_an_odd_number_of_frames_fills_its_group() -> None:
    from overread.readers.huggingface import check_encoded

    processor = SimpleNamespace(video_processor=SimpleNamespace(temporal_patch_size=2))
    check_encoded(encoded([0, 1, 2, 3, 4, 5, 6, 6], 4), [video(7)], processor)
