"""Reader specs: what a user may write, and one line for what they may not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from overread.case import BadInput
from overread.readers import ReaderSpec, parse_spec

ROOT = Path(__file__).parents[2]
PAGES = "".join((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in ("readers", "clips"))


def test_the_full_syntax() -> None:
    spec = parse_spec(
        "openai:qwen3-vl@http://127.0.0.1:8000/v1?modality=text&max_tokens=10&concurrency=64"
        "&reasoning=true&price_in=0.5&rpm=600&label=Qwen"
    )
    assert (spec.kind, spec.model, spec.base_url) == (
        "openai",
        "qwen3-vl",
        "http://127.0.0.1:8000/v1",
    )
    assert (spec.name, spec.modality, spec.max_tokens, spec.concurrency) == ("Qwen", "text", 10, 64)
    assert spec.reasoning is True
    assert spec.traits.modality == "text"


def test_a_model_name_may_hold_slashes_colons_and_ats() -> None:
    spec = parse_spec("openai:org/model:7b@rev2@https://api.example.org/v1")
    assert spec.model == "org/model:7b@rev2"
    assert spec.base_url == "https://api.example.org/v1"


def test_a_table_says_the_same() -> None:
    table = {"kind": "openai", "model": "m", "base_url": "http://h/v1", "extra": {"top_k": 1}}
    assert parse_spec(table).extra == {"top_k": 1}
    text = 'openai:m@http://h/v1?extra={"top_k":1}'
    assert parse_spec(text) == parse_spec(table)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("control:looks", "control:looks"),
        ("recorded:a.jsonl", "recorded:a.jsonl"),
        ("hf:org/model", "hf:org/model"),
        ("hf:/models/of/mine", "hf:mine"),
    ],
)
def test_names_of_other_kinds(text: str, name: str) -> None:
    assert parse_spec(text).name == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected one of"),
        ("qwen", "openai:…"),
        ("no:model", "expected one of"),
        ("hf:m?batch=0", "batch is 0; it is from 1 to 1024"),
        ("hf:m?dtype=int8", "dtype"),
        ("openai:m@http://h/v1?batch=4", "batch is an option of hf:, vllm: and probe: readers"),
        ("openai:model", "openai:MODEL@BASE_URL"),
        ("openai:@http://h/v1", "openai:MODEL@BASE_URL"),
        ("openai:m@ftp://h/v1", "base URL"),
        ("openai:m@http:///v1", "base URL"),
        ("control:", "nothing stands after"),
        ("openai:m@http://h/v1?colour=blue", 'no option "colour"'),
        ("openai:m@http://h/v1?concurrency=many", 'concurrency is "many"'),
        ("openai:m@http://h/v1?concurrency=0", "from 1 to 10000"),
        ("openai:m@http://h/v1?timeout=-1", "timeout is -1"),
        ("openai:m@http://h/v1?timeout=inf", "timeout is inf"),
        ("openai:m@http://h/v1?temperature=nan", "temperature is nan"),
        ("openai:m@http://h/v1?logprobs=-1", "logprobs is -1"),
        ("openai:m@http://h:99999/v1", "base URL"),
        ("openai:m@http://[::1/v1", "base URL"),
        ("openai:m@http://x..test/v1", "base URL"),
        (f"openai:m@http://{'a' * 70}.test/v1", "base URL"),
        ("openai:m@http://h/v1?proxy=http://x..test:3128", "proxy is"),
        ("openai:m@http://h/v 1", "base URL"),
        ("openai:m@http://h/v1?proxy=foo", "proxy is"),
        ("openai:m@http://h/v1?modality=smell", 'modality is "smell"'),
        ("openai:m@http://h/v1?label=a&label=b", "twice"),
        ("openai:m@http://h/v1?extra=[1]", "JSON object"),
    ],
)
def test_one_line_for_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_spec(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "openai:m@http://h/v1?api_key=abc",
        "openai:m@http://h/v1?token=abc",
        "openai:m@https://user:hunter2@h/v1",
        "openai:m@https://h/v1?api-key=hunter2",
        "openai:m@https://h/v1?X-Api-Key=hunter2",
        "openai:m@https://h/v1?proxy=http://p:3128/?access-token=hunter2",
        "openai:m@https://h/ghp_abcdefghijklmnopqrstuv/v1",
        "openai:m@https://h/nvapi-abcdefghijklmnopqrstuv/v1",
        "openai:m@https://h/nvapi%2Dabcdefghijklmnopqrstuv/v1",
        "openai:m@https://h/v1?identity=github_pat_abcdefghijklmnopqrstuv",
        "openai:m@https://h/v1?key_env=sk-abcdefghijklmnopqrstuv",
        "openai:m@https://h/v1?key_env=hunter2+hunter2",
        'openai:m@https://h/v1?extra={"headers":{"x-api-key":"hunter2"}}',
        'openai:m@https://h/v1?extra={"headers":["x-api-key: hunter2"]}',
        'openai:m@https://h/v1?extra={"hook":"https://h/?a=b%26api%2Dkey=hunter2"}',
        'openai:m@https://h/v1?extra={"head":"Authorization: Bearer abcdefghijklmnopqrstuv"}',
        "openai:m@https://h/v1?label=sk-abcdefghijklmnopqrstuv",
        "openai:sk-proj-abcdefghijklmnopqrstuv@https://h/v1",
        "openai:m@https://h/v1?proxy=http://user:hunter2@proxy:3128",
        'openai:m@https://h/v1?extra={"api":"sk-abcdefghijklmnopqrstuv"}',
        'openai:m@https://h/v1?extra={"api_key":"hunter2"}',
        'openai:m@https://h/v1?extra={"metadata":{"user":[{"Authorization":"hunter2"}]}}',
        *(
            f'openai:m@https://h/v1?extra={{"{name}":"hunter2"}}'
            for name in (
                "api_token",
                "hf_token",
                "HF_TOKEN",
                "X-Auth",
                "x-goog-api-key",
                "api_tokens",
                "authToken",
                "oauth",
                "my.secret",
                "db_password",
                "client_secret_value",
                "refresh-token",
                "authorization_header",
            )
        ),
        'openai:m@https://h/v1?extra={"headers":{"X-Auth":["hunter2"]}}',
        "openai:m@https://h/v1?hf_token=hunter2",
        # Otherwise malformed, so that something else would complain and quote it.
        "openai:m?api_key=sk-abcdefghijklmnopqrstuv",
        "openai:m?api_key=hunter2",
        "openai:m@http://h/v1?extra=sk-abcdefghijklmnopqrstuv",
        "openai:m@http://h/v1?label=a&label=sk-abcdefghijklmnopqrstuv",
        "openai:m@http://user:hunter2@h/v1?label=a&label=b",
        "openai:m@http://user:hunter2@h/v1?extra=[1]&proxy=http://p:3128",
        "openai:m@http://h/v1?label=a&label=b&proxy=http://user:hunter2@p:3128",
        "nothing:m@https://user:hunter2@h/v1",
        "nothing:sk-abcdefghijklmnopqrstuv",
        "sk-abcdefghijklmnopqrstuv",
    ],
)
def test_a_key_in_a_spec_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadInput, match="environment") as caught:
        parse_spec(text)
    for secret in ("hunter2", "abcdefghijklmnopqrstuv", "abc "):
        assert secret not in str(caught.value)


def test_a_key_in_a_table_is_refused_however_deep_it_stands() -> None:
    table = {"kind": "openai", "model": "m", "base_url": "https://h/v1"}
    for extra in ({"api_key": "hunter2"}, {"a": {"b": [{"Token": "hunter2"}]}}):
        with pytest.raises(BadInput, match="environment") as caught:
            parse_spec({**table, "extra": extra})
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["h", "h.", "[::1]:8000", "127.0.0.1", "büro.example", "a_b"])
def test_hosts_of_every_kind(host: str) -> None:
    assert parse_spec(f"openai:m@http://{host}/v1").base_url == f"http://{host}/v1"


@pytest.mark.parametrize(
    ("host", "plain"),
    [
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("134744072", "8.8.8.8"),
        ("0x08.8", "8.0.0.8"),
        ("localhost.", "localhost"),
    ],
)
def test_an_address_in_disguise_is_named_as_what_it_is(host: str, plain: str) -> None:
    says = f"the host {host} is {plain}. Write that."
    proxied = f"openai:m@http://h/v1?proxy=http://{host}:3128"
    for spec in (f"openai:m@http://{host}:8000/v1", proxied):
        with pytest.raises(BadInput, match=re.escape(says)):
            parse_spec(spec)


def test_extra_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(BadInput, match="JSON object") as caught:
        parse_spec('openai:m@http://h/v1?extra={"mine":"hunter2"')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("where", ["?mine=hunter2", "?label=a&mine=hunter2", "#hunter2"])
def test_what_follows_the_address_is_repeated_in_no_line(where: str) -> None:
    """A key may go by any name."""
    table = {"kind": "openai", "model": "m", "base_url": f"https://h/v1{where}"}
    for spec in (f"openai:m@https://h/v1{where}", table):
        with pytest.raises(BadInput, match=r"https://h/v1|no option") as caught:
            parse_spec(spec)
        assert "hunter2" not in str(caught.value)


def test_words_that_only_sound_like_keys_are_taken() -> None:
    extra = '{"prompt_cache_key":"a","stop_token_ids":[1],"note":"the key: a token, key=value"}'
    assert parse_spec(f"openai:m@https://h/v1?extra={extra}&key_env=MY_KEY").key_env == "MY_KEY"


EVERYDAY = {
    "max_tokens": 5, "max_new_tokens": 5, "min_tokens": 1, "truncate_prompt_tokens": 4,
    "stop_token_ids": [1], "allowed_token_ids": [1], "bad_words": ["a"], "token_ids_logprob": [1],
    "skip_special_tokens": True, "add_special_tokens": False, "return_token_ids": True,
    "return_tokens_as_token_ids": True, "prompt_logprobs": 1, "tokenizer": "auto",
    "tokenizer_mode": "slow", "token": 5, "thinking_token_budget": 100, "detokenize": True,
    "thinking": {"type": "enabled", "budget_tokens": 100}, "prompt_cache_key": "a",
    "chat_template": "{{ bos_token }}", "documents": [{"author": "me", "authors": ["me"]}],
    "chat_template_kwargs": {"eos_token": "</s>", "image_token": "x", "plan_token": "<|plan|>"},
    "special_tokens": ["a"], "stop_tokens": ["a"], "metadata": {"token_pruning": "fast"},
    "authentication": {"type": "system_assigned_managed_identity"}, "user": "me",
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}},
    "guided_regex": "a", "structured_outputs": {"choice": ["a"]}, "reasoning_effort": "low",
    "safety_identifier": "a", "service_tier": "auto", "keywords": "a", "cache_salt": "a",
    "kv_transfer_params": {"remote_host": "a"}, "lora_path": "a", "logits_processors": ["a"],
}  # fmt: skip


@pytest.mark.parametrize("name", EVERYDAY)
def test_no_everyday_field_is_taken_for_a_key(name: str) -> None:
    extra = {name: EVERYDAY[name]}
    table = {"kind": "openai", "model": "m", "base_url": "https://h/v1", "extra": extra}
    assert parse_spec(table).extra == extra
    text = json.dumps(extra).replace("&", "%26")
    assert parse_spec(f"openai:m@https://h/v1?extra={text}").extra == extra


def test_the_page_on_readers_names_every_option() -> None:
    page = (ROOT / "docs" / "readers.md").read_text("utf-8")
    missing = [name for name in ReaderSpec.__struct_fields__ if f"`{name}" not in page]
    assert missing == []


@pytest.mark.parametrize("extra", re.findall(r"extra=(\{.*?\})`", PAGES))
def test_the_pages_give_extra_as_it_is_taken(extra: str) -> None:
    assert parse_spec(f"openai:m@http://127.0.0.1:1/v1?extra={extra}").extra


def test_a_control_is_known_by_its_name_whatever_its_label() -> None:
    """Else a page would say "Judged by gpt-4o" of a judge that compares words."""
    assert parse_spec("control:looks?label=control:looks-again").name == "control:looks-again"
    with pytest.raises(BadInput, match='begins with "control:lexical-judge"'):
        parse_spec("control:lexical-judge?label=gpt-4o")
