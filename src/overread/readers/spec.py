"""Reader specs: `kind:what?option=value&...`, or the same as a table in a study file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from overread.case import BadInput, ClipForm, Limits, Modality, Traits
from overread.plugins import Named, known_words, named
from overread.readers.guard import plain_host

# Our own kinds, and what opens each; a control or a recording needs more than a spec.
KINDS: dict[str, str] = {
    "openai": "overread.readers.registry:open_served",
    "hf": "overread.readers.huggingface:open_reader",
    "inspect": "overread.readers.inspect_models:open_reader",
    "vllm": "overread.readers.vllm_offline:open_reader",
    "probe": "overread.readers.probe.reader:open_reader",
    "control": "overread.readers.registry:open_reader",
    "recorded": "overread.readers.registry:open_recorded",
    "human": "overread.readers.registry:open_human",
}
_WITH_WEIGHTS = ("hf", "vllm", "probe")
# Options that only some kinds have.
OF_KINDS: dict[str, tuple[str, ...]] = {
    "auth": ("openai",),
    "api_version": ("openai",),
    "dtype": ("hf", "vllm"),
    "quantisation": ("hf", "vllm"),
    "device": ("hf", "probe"),
    "attention": ("hf",),
    "backend": ("hf",),
    "batch": ("hf", "vllm", "probe"),
}
# Keys by what their issuers put first, web tokens, and headers that carry one.
_LOOKS_LIKE_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|hf|gsk|xai|key|nvapi|pplx|ghp|gho|ghu|ghs|ghr|glpat|xoxb|xoxp)[-_][\w-]{16,}"
    r"|(?:github_pat|tgp_v1|r8|fw)_\w{16,}|AIza[\w-]{30,}|A[KS]IA[A-Z0-9]{16}|dapi[0-9a-f]{32}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}|(?i:bearer|basic)\s+[\w.~+/-]{16,})"
)
_USERINFO = re.compile(r"://[^/?#\s]*@")
_NAME_IN_URL = re.compile(r"[?&]([A-Za-z][\w-]{0,40})=")
_NAME_IN_TEXT = re.compile(
    r"(?i)(?<!\w)((?:x-)?(?:api|access|secret|private|subscription)[-_]?(?:key|token)"
    r"|authorization)[\"']?\s*[=:]"
)
_RANGES = {
    "concurrency": (1, 10_000),
    "rpm": (0.001, 1e9),
    "tpm": (0.001, 1e12),
    "timeout": (0.001, 86_400),
    "attempts": (1, 1000),
    "backoff": (0, 3600),
    "patience": (0, 604_800),
    "max_tokens": (1, 10_000_000),
    "temperature": (0, 10),
    "logprobs": (0, 100),
    "price_in": (0, 1e6),
    "price_out": (0, 1e6),
    "params_b": (1e-6, 1e6),
    "batch": (1, 1024),
}
# Names of things that hold a key, in small letters without dashes and the like.
_KEY_NAMES = re.compile(
    r"(?:.*(?:apikey|accesskey|secretkey|privatekey|subscriptionkey|accesstoken|authtoken|"
    r"sessiontoken|bearertoken|clientsecret)|key|token|secret|password|passwd|passphrase|"
    r"authorization|proxyauthorization|bearer|credentials?"
    r"|.*token(?:value|key|secret|header)?|.*secret(?!ar).*|.*auth(?!or(?!i[sz])).*|.*apikey.*"
    r"|.*passw(?:or)?d.*|.*(?:api|auth|access|hf|bearer|session)tokens)"
)
# Of a tokenizer's own: `eos_token`, `image_token`, and whatever is written `<|so|>` or `[so]`.
_OWN_TOKEN = re.compile(
    r"(?:.*(?:bos|eos|pad|unk|sep|cls|mask|image|img|video|audio|vision|think|thinking|reasoning|"
    r"start|stop|end|special))token"
)
_SPECIAL = re.compile(r"\s*(?:<.*>|\[.*\])\s*")
# What a reader's questions may be put between.
_TEXTS = ("system", "before", "after")
_LONGEST_TEXT = 100_000
_AUTH = ("bearer", "api-key")
_VERSION = re.compile(r"[0-9A-Za-z.-]{1,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class ReaderSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a user may say of a reader. Unknown fields are refused.

    In the key of a reply: kind, model, base_url (or `identity` in its place), revision, extra, how
    a model in this process is loaded (dtype to batch), and what it does to decoding, to clips and
    to the messages. Never: label, group, prices, the key's variable, limits.
    """

    kind: str
    model: str
    base_url: str = ""
    key_env: str | None = None
    modality: Modality = "multimodal"
    clips: ClipForm = "images"
    reasoning: bool = False
    params_b: float | None = None
    group: str | None = None
    label: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    currency: str | None = None
    extra: dict[str, Any] = {}
    identity: str | None = None
    revision: str | None = None
    max_tokens: int | None = None
    temperature: float | Literal["server"] | None = None
    logprobs: int | None = None
    system: str | None = None
    before: str | None = None
    after: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = None
    device: str | None = None
    quantisation: str | None = None
    attention: str | None = None
    backend: Literal["pil", "torchvision"] | None = None
    batch: int | None = None
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    auth: Literal["bearer", "api-key"] | None = None
    api_version: str | None = None
    proxy: str | None = None
    concurrency: int | None = None
    rpm: float | None = None
    tpm: float | None = None
    timeout: float | None = None
    attempts: int | None = None
    backoff: float | None = None
    patience: float | None = None

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        if self.kind == "openai":
            return self.model
        local = self.kind in _WITH_WEIGHTS and self.model.startswith(("/", ".", "~"))
        return f"{self.kind}:{Path(self.model).name if local else self.model}"

    @property
    def traits(self) -> Traits:
        said = msgspec.convert(self, Traits, from_attributes=True)
        texts = {name: getattr(self, name) or None for name in _TEXTS}
        return msgspec.structs.replace(said, **texts)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """In the currency of the prices, which are per million tokens; None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        return (tokens_in * (self.price_in or 0) + tokens_out * (self.price_out or 0)) / 1e6

    def limits(self, default: Limits) -> Limits:
        same = ("concurrency", "timeout", "attempts", "backoff", "patience")
        given = {"requests_per_minute": self.rpm, "tokens_per_minute": self.tpm}
        given |= {name: getattr(self, name) for name in same}
        said = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(default, **said)


def parse_spec(spec: str | Mapping[str, Any]) -> ReaderSpec:
    """Read a spec; a bad one gives one line that says which part and what was expected."""
    if isinstance(spec, str):
        # Before anything quotes the spec: a key must not be repeated on the screen.
        _refuse_keys({"spec": spec, **dict(parse_qsl(spec.partition("?")[2]))})
        # And what follows is not quoted at all: no list of keys knows every key.
        shown, fields = _without_query(spec), _fields(spec)
    else:
        fields = dict(spec)
        shown = str(fields.get("label") or fields.get("model") or "reader table")
    _refuse_keys(fields)
    try:
        made = msgspec.convert(fields, ReaderSpec, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(_explain(shown, str(error), fields)) from None
    _check(shown, made)
    return made


def known_kinds() -> dict[str, tuple[Named, ...]]:
    """Every kind of reader by its name, our own and those of installed packages."""
    return named("overread.readers", KINDS)


def _unknown_kind(shown: str, kind: str = "") -> str:
    kinds = known_kinds()
    known = ", ".join(f"{kind}:…" for kind in kinds)
    whose = f" ({known_words(kinds)})" if len(kinds) > len(KINDS) else ""
    return (
        f'reader "{shown}": {kind}expected one of {known}{whose}, '
        "for example openai:MODEL@http://127.0.0.1:8000/v1 or control:looks."
    )


def _fields(spec: str) -> dict[str, Any]:
    kind, colon, rest = spec.partition(":")
    shown = _without_query(spec)
    if not colon or kind not in known_kinds():
        raise BadInput(_unknown_kind(shown))
    what, _, query = rest.partition("?")
    fields: dict[str, Any] = {"kind": kind, "model": what}
    if kind == "openai":
        model, at, base_url = what.rpartition("@")
        if not at or not model:
            raise BadInput(
                f'reader "{shown}": expected openai:MODEL@BASE_URL, '
                "for example openai:qwen3-vl@http://127.0.0.1:8000/v1."
            )
        if not base_url.startswith(("http://", "https://")):
            # Perhaps user:password@host: the "@" that split was the URL's own.
            base_url = what[what.find("@") + 1 :]
            model = what[: what.find("@")]
        fields |= {"model": model, "base_url": base_url}
    for option, value in parse_qsl(query, keep_blank_values=True):
        if option in fields:
            raise BadInput(f'reader "{shown}": option {option} is given twice; give it once.')
        fields[option] = value
    try:
        if "extra" in fields:
            fields["extra"] = msgspec.json.decode(fields["extra"], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        # Not quoted: what cannot be read cannot be searched for keys.
        message = f'reader "{shown}": extra must be a JSON object, as {{"top_k": 1}}.'
        raise BadInput(message) from None
    return fields


def _refuse_keys(fields: Mapping[str, Any]) -> None:
    """Refuse whatever seems to hold a key, in a line that repeats nothing of it."""
    try:
        names, texts = _names_and_texts(fields)
    except RecursionError:
        raise BadInput("reader …: extra is nested too deeply. Mend it.") from None
    urls = [str(fields.get(name) or "") for name in ("spec", "base_url", "proxy")]
    plain = {name: re.sub(r"[\W_]", "", name).lower() for name in names}
    keys = (name for name, word in plain.items() if _KEY_NAMES.fullmatch(word))
    held = [name for name in keys if not _OWN_TOKEN.fullmatch(plain[name])]
    if fields.get("auth") in _AUTH:  # how a key is sent, and none itself
        held = [name for name in held if name != "auth"]
    # Also as a URL hides it: api%2Dkey=…
    said = "\n".join([*texts, *map(unquote, texts)])
    variable = fields.get("key_env")
    no_variable = isinstance(variable, str) and variable and not _VARIABLE.fullmatch(variable)
    if held:
        where = f"option {min(held)}"
    elif no_variable:
        where = "option key_env"
    elif any(map(_USERINFO.search, urls)) or _LOOKS_LIKE_KEY.search(said):
        where = "its text"
    else:
        return
    model = str(fields.get("model") or "")
    raise BadInput(
        f"reader {model if model and not _LOOKS_LIKE_KEY.search(model) else '…'}: {where} seems to "
        "hold a key, and keys are taken from the environment only. Put it into OPENAI_API_KEY, or "
        "name another variable with key_env=."
    )


def holds(spec: ReaderSpec, value: str) -> bool:
    """Whether a spec has this text anywhere, as it is or as a URL hides it."""
    _, texts = _names_and_texts(msgspec.structs.asdict(spec))
    said = "\n".join([*texts, *map(unquote, texts)])
    return value.lower() in said.lower()


def _names_and_texts(value: Any) -> tuple[list[str], list[str]]:
    """Every name in a table, in the tables within it (as in `extra`) and in the URLs; every text.

    A name is one of a text: a number is no key, nor is a tokenizer's own token, and a table has
    names of its own. It may also be a text's own: `?api-key=…`, `x-api-key: …`.
    """
    if isinstance(value, str):
        plain = unquote(value)
        return _NAME_IN_URL.findall(plain) + _NAME_IN_TEXT.findall(plain), [value]
    names: list[str] = []
    texts: list[str] = []
    if isinstance(value, Mapping):
        for name, inner in value.items():
            inside = inner if isinstance(inner, list | tuple) else [inner]
            if any(isinstance(one, str) and not _SPECIAL.fullmatch(one) for one in inside):
                names.append(str(name))
        value = list(value.values())
    for inner in value if isinstance(value, list | tuple) else ():
        within = _names_and_texts(inner)
        names += within[0]
        texts += within[1]
    return names, texts


def _explain(shown: str, error: str, fields: Mapping[str, Any]) -> str:
    unknown = re.search(r"unknown field `(\w+)`", error)
    if unknown:
        known = ", ".join(f for f in ReaderSpec.__struct_fields__ if f not in ("kind", "model"))
        return f'reader "{shown}": there is no option "{unknown[1]}". Options are: {known}.'
    place = re.search(r"at `\$\.(\w+)", error)
    what = error.split(" - at ")[0]
    if place:
        given = f'{place[1]} is "{fields.get(place[1])}"'
        return f'reader "{shown}": {given}; {what[0].lower()}{what[1:]}.'
    return f'reader "{shown}": {what}.'


def _check(shown: str, spec: ReaderSpec) -> None:
    if spec.kind not in known_kinds():
        raise BadInput(_unknown_kind(shown, f'kind is "{spec.kind[:40]}"; '))
    if not spec.model:
        raise BadInput(f'reader "{shown}": nothing stands after "{spec.kind}:".')
    own = f"control:{spec.model}"
    if spec.kind == "control" and spec.label and not spec.label.startswith(own):
        raise BadInput(
            f'reader "{shown}": a control is known by its name wherever it stands. Give a label '
            f'that begins with "{own}", or none.'
        )
    for name, (low, high) in _RANGES.items():
        value = getattr(spec, name)
        # Written so that NaN is out of range too.
        if isinstance(value, int | float) and not low <= value <= high:
            raise BadInput(f'reader "{shown}": {name} is {value}; it is from {low:g} to {high:g}.')
    for name, kinds in OF_KINDS.items():
        if getattr(spec, name) is not None and spec.kind not in kinds:
            of = " and ".join(", ".join(f"{kind}:" for kind in kinds).rsplit(", ", 1))
            raise BadInput(f'reader "{shown}": {name} is an option of {of} readers. Leave it out.')
    for name in _TEXTS:
        text = getattr(spec, name) or ""
        if len(text) > _LONGEST_TEXT or "\0" in text:
            raise BadInput(
                f'reader "{shown}": {name} has {len(text):,} characters; it is text of at most '
                f"{_LONGEST_TEXT:,}."
            )
    if (spec.kind == "openai" or spec.base_url) and not _is_address(spec.base_url):
        raise BadInput(
            f'reader "{shown}": the base URL is "{_without_query(spec.base_url)}"; '
            "expected http://HOST/v1 or https://HOST/v1, and nothing after it."
        )
    if spec.api_version is not None and not _VERSION.fullmatch(spec.api_version):
        raise BadInput(f'reader "{shown}": api_version is as 2024-10-21. Mend it.')
    if spec.proxy is not None and not _is_address(spec.proxy):
        proxy = _without_query(spec.proxy)
        raise BadInput(f'reader "{shown}": proxy is "{proxy}"; expected http://HOST:PORT.')
    for url in (spec.base_url, spec.proxy or ""):
        host = urlsplit(url).hostname or ""
        plain = plain_host(host)
        if plain not in (host, host.removesuffix(".")) or host == "localhost.":
            raise BadInput(f'reader "{shown}": the host {host} is {plain}. Write that.')


def _without_query(url: str) -> str:
    """As much of a spec or URL as a line may repeat: a key may follow under any name."""
    bare = re.split("[?#]", url)[0]
    return bare if bare == url else f"{bare}…"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no port
        (parts.hostname or "").encode("idna")  # and this where it can be no host's name
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment) and not any(c.isspace() for c in url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain
