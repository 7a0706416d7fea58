"""Where a model is asked and as whom: providers by name, addresses as people write them, keys from
the environment.

Nothing is sent here (see `tasks.backends.openai.client`), and no key leaves this process.
"""

import functools
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import orjson

from judgelake.tasks.errors import BackendError

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
LEAST_KEY_CHARS = 12
"""A shorter key may be a word of an answer."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class _Provider(NamedTuple):
    base_url: str
    key_variable: str


PROVIDERS = {
    "openai": _Provider(OPENAI_URL, OPENAI_KEY),
    "anthropic": _Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": _Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks": _Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "gemini": _Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    "groq": _Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": _Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": _Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": _Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": _Provider("https://api.x.ai/v1", "XAI_API_KEY"),
}
"""First part of a model's name -> its OpenAI-compatible endpoint. Of other names
(`google/flan-t5-xxl`) it is part of the model's own.
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and as whom to ask; the key shows in no repr. `query` goes behind each route;
    `key_header` is Azure's.
    """

    base_url: str
    key: str = field(repr=False)
    query: str = ""
    key_header: str = ""

    @property
    def host(self) -> str:
        """Host and port without user name or password, for messages."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine: no key needed, no proxy asked."""
        return urlsplit(self.base_url).hostname in _LOOPBACK


def hide_key(content: bytes, key: str) -> bytes:
    """A body without the key, also where JSON escapes its characters (`\\/`, `\\u002f`)."""
    if len(key) < LEAST_KEY_CHARS:
        return content
    if b"\\" in content:
        with suppress(ValueError, TypeError):  # no JSON, or nested too deeply to be written
            content = orjson.dumps(orjson.loads(content))
    return content.replace(key.encode(), b"***")


@functools.cache
def sent_model(model: str) -> str:
    """The name that goes over the wire: without a known provider's prefix, else whole
    (`google/flan-t5-xxl` keeps its slash).
    """
    provider, _, name = model.partition("/")
    return name if name and (provider in PROVIDERS or provider == "azure") else model


def find_endpoint(model: str, base_url: str | None, api_key_variable: str = OPENAI_KEY) -> Endpoint:
    """Address and key from the arguments, the model's provider and the environment; raises
    BackendError for what is missing or unusable.
    """
    provider = model.partition("/")[0]
    if provider == "azure":
        return _find_azure(model, base_url, api_key_variable)
    known = PROVIDERS.get(provider) if provider != "openai" else None
    if known is not None and not base_url:
        variable = known.key_variable if api_key_variable == OPENAI_KEY else api_key_variable
        return Endpoint(known.base_url, _read_key(model, Endpoint(known.base_url, ""), variable))
    url = clean_base_url(
        base_url
        or os.environ.get("OPENAI_BASE_URL")
        or os.environ.get("OPENAI_API_BASE")
        or OPENAI_URL
    )
    return Endpoint(url, _read_key(model, Endpoint(url, ""), api_key_variable))


def _find_azure(model: str, base_url: str | None, api_key_variable: str) -> Endpoint:
    """Azure OpenAI: the v1 interface, or a deployment's own address where OPENAI_API_VERSION names
    an older one.
    """
    resource = base_url or os.environ.get("AZURE_OPENAI_ENDPOINT")
    if not resource:
        raise BackendError(
            f"{model}: AZURE_OPENAI_ENDPOINT is not set; expected the resource's address "
            f"(https://....openai.azure.com); "
            "export it, or give base_url"
        )
    root = clean_base_url(resource).removesuffix("/v1").removesuffix("/openai")
    version = os.environ.get("OPENAI_API_VERSION")
    url = f"{root}/openai/deployments/{sent_model(model)}" if version else f"{root}/openai/v1"
    variable = "AZURE_OPENAI_API_KEY" if api_key_variable == OPENAI_KEY else api_key_variable
    key = _read_key(model, Endpoint(url, ""), variable)
    return Endpoint(url, key, urlencode({"api-version": version}) if version else "", "api-key")


def _read_key(model: str, endpoint: Endpoint, variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key and endpoint.is_loopback:
        return "none"
    if not key:
        raise BackendError(
            f"{model}: {variable} is not set; expected the key of {endpoint.host} in it; export it"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BackendError(
            f"{model}: {variable} holds characters that no HTTP header may have; expected a "
            f"key; set it again"
        )
    return key


def clean_base_url(url: str) -> str:
    """An address without `/chat/completions` or a slash at its end; `/v1` is its path where it has
    none.
    """
    try:
        parts = urlsplit(url.strip())
        usable = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and not parts.query
        )
    except ValueError:
        usable = False
    if (
        "@" in url
    ):  # where a suite would carry a secret, and no HTTP client takes one beside the key
        raise BackendError(
            "base_url: it names a user (`...@host`); expected an address alone; put the key "
            "into api_key_variable"
        )
    if not usable:
        raise BackendError(
            f"base_url: {url!r} is no address; expected http(s)://host[:port][/v1]; mend it"
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"
