"""What models cost: names and snapshots, hosts, the suite's own prices, the cost of a reply, and
images as tokens.
"""

import math
import re
from pathlib import Path

import pytest

from judgelake.tasks.backends.openai.format import decode_reply
from judgelake.tasks.backends.openai.settings import OpenAISettings, StandinSettings
from judgelake.tasks.backends.prices import (
    FREE,
    Price,
    find_host,
    find_listed,
    find_price,
    read_table,
)
from judgelake.tasks.backends.replay import ReplaySettings
from judgelake.tasks.backends.tokens import UNKNOWN_TOKENS, count_image_tokens, fit_side
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.types import Reply

MINI = Price(0.15, 0.60, 0.075)
SUITE = """
name: s
benchmarks:
  b: {source: demo}
judges:
  lave:
    protocol: lave
    backend: openai
    model: my/model
    base_url: "http://gpu1:8000/v1"
"""


@pytest.fixture(autouse=True)
def _no_other_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_the_table_is_dated_and_every_line_has_a_price_and_a_source_s_hosts() -> None:
    table = read_table()
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", table.as_of)
    names = [(line.provider, line.name) for line in table.models]
    assert len(names) == len(set(names)) > 40
    assert all(0 < line.price.input <= line.price.output for line in table.models)
    assert all(
        line.price.cached_input is None or line.price.cached_input < line.price.input
        for line in table.models
    )
    assert all(line.hosts for line in table.models)
    assert all(count_image_tokens(line.image, 640, 480) > 0 for line in table.models)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-mini",
        "openai/gpt-4o-mini",
        "gpt-4o-mini-2024-07-18",
        "openai/gpt-4o-mini-2024-07-18",
    ],
)
def test_a_model_is_found_under_its_name_its_provider_s_and_its_snapshot_s(model: str) -> None:
    assert find_price(model) == MINI


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),  # a snapshot with a price of its own
        ("chatgpt-4o-latest", "chatgpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("anthropic/claude-3-5-haiku-20241022", "claude-3-5-haiku"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("google/gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("mistral/mistral-large-2411", "mistral-large-2411"),
        ("mistral/mistral-large-2512", "mistral-large"),
        (
            "meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo",
            "meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo",
        ),
    ],
)
def test_the_longest_name_that_fits_wins(model: str, name: str) -> None:
    listed = find_listed(model)
    assert listed is not None
    assert listed.name == name


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-audio-preview",
        "gpt-4o-mini-tts",
        "gpt-99",
        "anthropic/gpt-4o",
        "google/flan-t5-xxl",
        "",
    ],
)
def test_another_model_whose_name_begins_alike_has_no_price(model: str) -> None:
    assert find_price(model) is None


def test_a_price_is_that_of_the_host_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def price(**settings: object) -> Price | None:
        return OpenAISettings("gpt-4o-mini", **settings).known_price  # type: ignore[arg-type]

    assert price() == price(base_url="https://api.openai.com/v1") == MINI
    assert price(base_url="http://127.0.0.1:8000/v1") is None
    own = Price(0.0, 0.0)
    assert price(base_url="http://127.0.0.1:8000/v1", price=own) == own
    assert price(price=Price(1, 2)) == Price(1, 2)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example.com/v1")
    assert price() is None
    assert find_host("http://[broken") == ""


def test_the_stand_in_and_a_cassette_cost_nothing() -> None:
    assert StandinSettings().known_price == FREE
    assert ReplaySettings("gpt-4o", cassette=Path("lake")).known_price == FREE


def test_the_cost_of_a_reply() -> None:
    # 900 x 0.15 + 100 x 0.075 + 50 x 0.60 = 135 + 7.5 + 30 = 172.5 millionths of a dollar
    def reply(prompt: int | None, completion: int | None, cached: int | None) -> Reply:
        return Reply("", prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)

    assert MINI.of(reply(1000, 50, 100)) == pytest.approx(172.5e-6)
    assert MINI.of(reply(1000, 50, None)) == pytest.approx(180e-6)
    # no price of its own for what was cached
    assert Price(2, 4).of(reply(1000, 50, 100)) == pytest.approx(2200e-6)
    assert MINI.of(reply(None, 50, 0)) is MINI.of(reply(10, None, 0)) is None
    assert FREE.of(reply(None, None, None)) == 0.0


def test_cached_tokens_are_read_from_a_completion() -> None:
    body = '{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    body += '"message":{"role":"assistant","content":"3"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10%s}}'
    cached = decode_reply((body % ',"prompt_tokens_details":{"cached_tokens":4}').encode(), 1.0)
    assert (cached.prompt_tokens, cached.cached_tokens) == (9, 4)
    assert decode_reply((body % "").encode(), 1.0).cached_tokens is None


# ---- the suite


def write(folder: Path, text: str) -> Path:
    file = folder / "suite.yaml"
    file.write_text(text)
    return file


def test_a_suite_gives_prices_of_its_own(tmp_path: Path) -> None:
    own = "    price: {input: 0.1, output: 0.2, cached_input: 0.05}\nlimits: {budget_usd: 25}\n"
    suite = read_suite(write(tmp_path, SUITE + own))
    assert suite.judges["lave"].prices == {"judge": Price(0.1, 0.2, 0.05)}
    assert suite.limits.budget_usd == 25
    assert suite.judges["lave"].identify(("b",)) == read_suite(write(tmp_path, SUITE)).judges[
        "lave"
    ].identify(("b",))


def test_a_budget_needs_every_price(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as refused:
        read_suite(write(tmp_path, SUITE + "limits: {budget_usd: 0}\n"))
    assert str(refused.value).startswith(
        f"{tmp_path / 'suite.yaml'}:9: judge 'lave': the price of 'my/model' at gpu1 is not known"
    )
    assert "add `price: {input: 0.15, output: 0.60}`" in str(refused.value)
    assert read_suite(write(tmp_path, SUITE)).judges["lave"].prices == {"judge": None}


def test_a_budget_needs_the_price_of_a_judge_s_further_models(tmp_path: Path) -> None:
    text = SUITE.replace("lave:\n", "chirp:\n").replace(
        "protocol: lave", "protocol: chirp_grading\n    method: llm"
    )
    text += (
        "    price: {input: 1, output: 1}\n    extractor: {backend: openai, model: "
        "gpt-99}\nlimits: {budget_usd: 1}\n"
    )
    with pytest.raises(SuiteError, match="the price of 'gpt-99' at ") as refused:
        read_suite(write(tmp_path, text))
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "extractor" in one)
    assert f":{line}: " in str(refused.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("    price: {input: -1, output: 0}\n", "input: -1.0; expected USD per million tokens"),
        ("    price: {input: 1}\n", "the key 'output' is missing"),
        ("    price: {input: 1, output: .inf}\n", "output: inf"),
        ("limits: {budget_usd: -1}\n", "budget_usd: -1.0; expected US dollars from 0"),
    ],
)
def test_impossible_prices_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(SuiteError, match=re.escape(message)):
        read_suite(write(tmp_path, SUITE + line))


# ---- images


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        (
            ("tiles", 85, 170),
            (1024, 1024),
            765,
        ),  # OpenAI's own example: 768 x 768 is 4 tiles, 85 + 4 x 170
        (("tiles", 85, 170), (2048, 4096), 1105),  # and: 1024 x 2048, then 768 x 1536, 6 tiles
        (("tiles", 2833, 5667), (512, 512), 8500),
        (("patches", 1.0), (1024, 1024), 1024),  # 32 x 32 patches
        (("patches", 1.62), (512, 512), 1.62 * 256),
        (("patches", 1.0), (1800, 2400), 1536),  # the most there are
        (("area", 750), (1000, 1000), 1_000_000 / 750),  # Anthropic's example: about 1,334
        (("area", 750), (200, 200), 40_000 / 750),
        (("squares", 258), (384, 384), 258),
        (("squares", 258), (960, 540), 516),  # two pieces of 768
        (("each", 258), (4000, 3000), 258),
        ((), (640, 480), UNKNOWN_TOKENS),
    ],
)
def test_images_as_tokens(rule: tuple[object, ...], size: tuple[int, int], tokens: float) -> None:
    assert math.isclose(count_image_tokens(rule, *size), tokens, rel_tol=0.01)


def test_an_image_is_sent_within_the_endpoint_s_side() -> None:
    assert fit_side(4000, 3000, 2000) == (2000, 1500)
    assert fit_side(400, 300, 2000) == (400, 300)
