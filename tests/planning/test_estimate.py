"""What is left to ask, estimated without a call and then asked: the estimate is held against what
the run did.

Queries: sampled_cases, judged_cases, past_replies.
"""

from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.backends.prices import Price
from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.judging.chirp_grading import ChirpGradingOptions
from judgelake.tasks.judging.feedback_preference import FeedbackPreferenceOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning import estimate as estimating
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.planning.estimate import CostEstimate, JudgeEstimate, estimate_suite
from judgelake.tasks.planning.prompt_lengths import (
    Counted,
    ImageSizes,
    find_tokenizer,
    guess_tokens,
    measure_prompts,
)
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import LimitSettings, Scope, Suite
from judgelake.tasks.types import Decoding, Image, Message, Request
from tests.lakes import (
    STANDIN,
    answer,
    append_records,
    ingest,
    item,
    lave_judge,
    make_lake,
    make_suite,
    reply_row,
)

ITEMS = 30
TEXTS = ("a red bus", "a bus", "a tree", "a bus")
SIZES = ImageSizes(Path("nowhere"), 2048)


@pytest.fixture(scope="module")
def standin() -> Any:
    with start_standin() as process:
        yield process


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Thirty questions, four answers each by four models, of which two say the same; every third
    question is asked twice.
    """
    lake = make_lake(tmp_path)
    items = [
        item(f"i{n:02}", f"What is in photo {n - n % 3 // 2}?", ("red bus", "red bus"))
        for n in range(ITEMS)
    ]
    ingest(
        lake,
        items,
        [answer(f"i{n:02}", text, f"m{k}") for n in range(ITEMS) for k, text in enumerate(TEXTS)],
    )
    return lake


def estimate(lake: Lake, suite: Suite, **scope: Any) -> JudgeEstimate:
    (one,) = estimate_suite(lake, suite, Scope(**scope)).judges
    return one


def judge(
    lake: Lake,
    suite: Suite,
    standin: StandinProcess,
    run_id: str = "run-1",
    limit: int | None = None,
) -> ShardResult:
    register_judges(lake, suite)
    (work,) = write_work(lake, suite, Scope(limit), run_id)
    (file,) = work.shards
    (settings,) = suite.judges.values()
    return run_judge_shard(
        ShardOrder(
            lake,
            run_id,
            settings,
            work.identity,
            suite.limits,
            file,
            lake.root / "images",
            standin.base_url,
        )
    )


def test_a_judge_that_asks_once_is_estimated_to_the_call(
    lake: Lake, standin: StandinProcess
) -> None:
    suite = make_suite(lave_judge())
    estimated = estimate(lake, suite)
    # 30 items x 3 different answers; of each three questions two are the same, so 20 x 3 requests
    assert (
        estimated.n_items,
        estimated.n_answers,
        estimated.n_wanted,
        estimated.n_present,
        estimated.n_pending,
    ) == (
        30,
        120,
        90,
        0,
        90,
    )
    assert (estimated.n_groups, estimated.n_sampled, estimated.n_held, estimated.n_calls) == (
        60,
        60,
        0,
        60,
    )
    assert (estimated.cost_usd, estimated.cost_usd_worst) == (0.0, 0.0)
    done = judge(lake, suite, standin)
    assert done.n_calls == estimated.n_calls
    assert (
        abs(estimated.input_tokens - done.prompt_tokens)
        <= estimated.input_error * done.prompt_tokens
    )
    assert estimated.output_tokens == pytest.approx(done.completion_tokens, rel=0.2)
    assert done.completion_tokens < estimated.output_tokens_worst
    after = estimate(lake, suite)
    assert (
        after.n_present,
        after.n_pending,
        after.n_calls,
        after.input_tokens,
        after.cost_usd,
    ) == (90, 0, 0, 0, 0.0)


def test_estimating_writes_nothing(lake: Lake) -> None:
    before = sorted(lake.root.rglob("*"))
    estimate_suite(lake, make_suite(lave_judge(), metrics=("exact_match",)), Scope())
    assert sorted(lake.root.rglob("*")) == before


def test_a_judge_that_asks_further_is_rehearsed_through_all_its_turns(
    lake: Lake, standin: StandinProcess
) -> None:
    options = ChirpGradingOptions(method="vlm", style="two_turn", image="absent")
    suite = make_suite(JudgeSettings("chirp", "chirp_grading", STANDIN, options))
    estimated, done = estimate(lake, suite), judge(lake, suite, standin)
    assert estimated.n_calls == done.n_calls > estimated.n_groups


def test_lengths_are_measured_on_the_replies_that_the_lake_holds(
    lake: Lake, standin: StandinProcess
) -> None:
    suite = make_suite(lave_judge())
    judge(lake, suite, standin, limit=10)
    estimated = estimate(lake, suite)
    assert any("measured on " in note for note in estimated.notes)
    assert estimated.input_error <= 0.05
    done = judge(lake, suite, standin, "run-2")
    assert estimated.n_calls == done.n_calls
    assert (
        abs(estimated.input_tokens - done.prompt_tokens)
        <= estimated.input_error * done.prompt_tokens
    )
    assert estimated.output_tokens == pytest.approx(done.completion_tokens, rel=0.2)


def test_requests_that_the_lake_has_replies_to_are_no_calls(
    lake: Lake, standin: StandinProcess
) -> None:
    suite = make_suite(lave_judge())
    judge(lake, suite, standin)
    for part in list((lake.mirror / "verdicts").glob("**/*.parquet")):
        part.unlink()
    estimated = estimate(lake, suite)
    assert (estimated.n_pending, estimated.n_held, estimated.n_calls) == (90, 60, 0)


def test_a_sample_is_scaled_up_and_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate(lake, make_suite(lave_judge()))
    monkeypatch.setattr(estimating, "SAMPLED", 20)
    estimated = estimate(lake, make_suite(lave_judge()))
    assert (estimated.n_sampled, estimated.n_groups, estimated.n_calls) == (20, 60, 60)
    assert estimated.input_tokens == pytest.approx(whole.input_tokens, rel=0.02)
    assert estimated == estimate(lake, make_suite(lave_judge()))  # the same sample again
    assert "calls and lengths: scaled up from 20 of 60 different cases" in estimated.notes


def test_money_and_time(lake: Lake) -> None:
    def estimate_cost(price: Price | None, **limits: Any) -> JudgeEstimate:
        endpoint = OpenAISettings("m", base_url="http://127.0.0.1:1/v1", price=price)
        return estimate(
            lake, make_suite(lave_judge(endpoint=endpoint), limits=LimitSettings(**limits))
        )

    priced = estimate_cost(Price(2.0, 10.0), concurrency=4)
    assert priced.cost_usd == pytest.approx(
        (priced.input_tokens * 2 + priced.output_tokens * 10) / 1e6, rel=0.01
    )
    worst = (
        priced.input_tokens * (1 + priced.input_error) * 2 + priced.output_tokens_worst * 10
    ) / 1e6
    assert priced.cost_usd_worst == pytest.approx(worst, rel=0.01)
    assert priced.output_tokens_worst == 60 * 256  # LAVE's limit of each reply
    assert priced.seconds == pytest.approx(15)  # 60 calls of a second, 4 at a time
    assert estimate_cost(None, concurrency=4, requests_per_minute=60).seconds == pytest.approx(60)
    unpriced = estimate_cost(None)
    assert (unpriced.cost_usd, unpriced.cost_usd_worst) == (None, None)
    assert any("the price of m is not known" in note for note in unpriced.notes)


def test_latencies_are_those_of_the_model_s_replies(lake: Lake) -> None:
    endpoint = OpenAISettings("gpt", base_url="http://127.0.0.1:1/v1")
    append_records(
        lake, "replies", [reply_row("0" * 16, f"{k}", latency_ms=4000.0) for k in range(3)]
    )
    estimated = estimate(
        lake, make_suite(lave_judge(endpoint=endpoint), limits=LimitSettings(concurrency=4))
    )
    assert estimated.seconds == pytest.approx(60)  # 60 calls of 4 s, 4 at a time


def test_judges_that_wait_for_others_say_so(lake: Lake) -> None:
    preferring = JudgeSettings(
        "prefers",
        "feedback_preference",
        STANDIN,
        FeedbackPreferenceOptions(feedback_of=("lave", "few")),
    )
    found: CostEstimate = estimate_suite(
        lake, make_suite(lave_judge(), lave_judge("few", shots=1), preferring), Scope()
    )
    reported = {one.judge: one for one in found.judges}
    assert reported["prefers"].n_wanted == 0
    assert [note for note in reported["prefers"].notes if note.startswith("cases: ")] == [
        "cases: more will come once lave, few have judged; how many is not known, and they "
        "are not counted"
    ]


# ---- prompts


def request(text: str, model: str = "m", images: int = 0) -> Request:
    shown = tuple(Image(f"{n}.png", "0" * 64) for n in range(images))
    return Request(model, (Message("user", text, shown),), Decoding())


def test_a_guess_is_four_characters_a_token_and_images_by_their_rule() -> None:
    assert (
        guess_tokens(request("x" * 388), SIZES) == 100
    )  # and 12 characters for the message's frame
    # 640 x 480, the usual size, is two tiles of 512 by one: 85 + 2 x 170
    assert guess_tokens(request("x" * 388, "gpt-4o", 2), SIZES) == 100 + 2 * 425
    assert guess_tokens(request("x" * 388, "standin/rules", 2), SIZES) == 100


def test_an_image_that_can_be_opened_has_its_own_size(tmp_path: Path) -> None:
    from PIL import Image as Pillow

    Pillow.new("L", (1024, 1024)).save(tmp_path / "0.png")
    assert guess_tokens(request("x" * 388, "gpt-4o", 1), ImageSizes(tmp_path, 2048)) == 100 + 765


def test_prompts_are_measured_with_the_factor_of_earlier_ones_and_its_error() -> None:
    asked = [request("x" * 388), request("x" * 788)]
    even = measure_prompts(asked, SIZES, [Counted(100.0, 120)] * 5)
    assert even.tokens == pytest.approx(360)  # (100 + 200) x 1.2
    assert even.error == 0.01
    # factor 600/500; residuals -20, 20, 0, 0, 0: twice sqrt(800 / 4 / 5) / 120
    uneven = measure_prompts(asked, SIZES, [Counted(100.0, n) for n in (100, 140, 120, 120, 120)])
    assert uneven.tokens == pytest.approx(360)
    assert uneven.error == pytest.approx(2 * 40**0.5 / 120)
    assert measure_prompts(asked, SIZES, [Counted(100.0, 120)] * 4).error == 0.15  # too few
    assert measure_prompts([], SIZES, []).tokens == 0


@pytest.mark.parametrize(
    ("model", "images", "says"),
    [("gpt-4o", 1, False), ("m", 1, True), ("m", 0, False), ("gpt-4o", 0, False)],
)
def test_a_guess_says_where_images_are_counted_by_a_constant(
    model: str, images: int, says: bool
) -> None:
    how = measure_prompts([request("x" * 388, model, images)], SIZES, []).how
    assert how.startswith("guessed at 4 characters a token")
    assert ("images at a constant" in how) == says


def test_a_model_that_is_not_here_has_no_tokenizer() -> None:
    assert find_tokenizer("openai/gpt-4o-mini") is None


@pytest.mark.full
def test_a_local_model_s_own_tokenizer_counts(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"a": 0, "cat": 1, "[UNK]": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(tmp_path)  # type: ignore[no-untyped-call]
    found = measure_prompts([request("a cat a cat", str(tmp_path))], SIZES, [])
    assert (found.tokens, found.how) == (
        8,
        "counted by the model's tokenizer",
    )  # four words and a frame of four
