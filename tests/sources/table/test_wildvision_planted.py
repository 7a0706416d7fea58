"""A small file in WildVision's format by its ready suite: models with planted strengths, each
compared with one reference. What can be known of such a study comes out, the rest is no row.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.live import make_figures
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame
from tests.conftest import CHECKOUT
from tests.sources.tables import ingest, write_lines

REFERENCE, UNPUBLISHED = "claude-3-sonnet-reference", "llava-1.5-7b-hf"
MODELS = {"gpt-4o": 0.8, "liuhaotian/llava-v1.5-13b": 0.35, "BAAI/Bunny-v1_0-3B": 0.2, UNPUBLISHED: 0.25}  # fmt: skip
"""Model -> how often it beats the reference."""
SIZES = {"liuhaotian/llava-v1.5-13b": 13, "BAAI/Bunny-v1_0-3B": 3, UNPUBLISHED: 7}
N_QUESTIONS = 60
PROMPT = """<|User Prompt|>
What is {n}?

<|The Start of Assistant A's Answer|>
The reference on {n}.
<|The End of Assistant A's Answer|>

<|The Start of Assistant B's Answer|>
{model} on {n}.
<|The End of Assistant B's Answer|>"""


def plant(data: Path) -> pd.DataFrame:
    """The files; a row a duel: model, `label`, and `said`, what the reply says (missing where it
    says nothing).
    """
    rng, rows = np.random.default_rng(13), []
    for model, share in MODELS.items():
        lines = []
        for n in range(N_QUESTIONS):
            win = rng.choice(["B>>A", "B>A"]) if rng.random() < share else rng.choice(["A>B", "A>>B"])  # fmt: skip
            label = "A=B" if rng.random() < 0.15 else str(win)
            said = None if n % 20 == 7 else "A>B" if n % 15 == 4 else label
            reply = "No verdict." if said is None else f"Both are described. My verdict: [[{said}]]"
            spelling = "judgment" if n % 2 and model != UNPUBLISHED else "judgement"  # both occur
            game = {"score": label, spelling: reply}
            if model != UNPUBLISHED:
                game["user_prompt"] = [{"type": "text", "text": PROMPT.format(n=n, model=model)}]  # type: ignore[assignment]
            lines.append({"question_id": f"q{n:02}", "model": model, "games": [game]})
            rows.append({"model": model, "label": label, "said": said})
        write_lines(data / "wildvision" / f"{model.replace('/', '_')}.jsonl.gz", lines)
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("wildvision")
    held = plant(folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        suite = read_suite(CHECKOUT / "infra" / "suites" / "wildvision.yaml")
        lake = ingest(suite, folder)
    record_suite(lake, suite)
    return lake, held


def select(lake: Lake, statement: str) -> pd.DataFrame:
    with open_warehouse(lake, lazy=True) as connection:
        make_figures(connection, statement)
        return select_frame(connection, statement, "planted", {}).to_pandas()


def test_ratings_of_a_study_with_one_reference(planted: tuple[Lake, pd.DataFrame]) -> None:
    """Each model met the reference alone: their odds are the rating's distance. A tie is half a win,
    a slight preference three quarters of one.
    """
    lake, held = planted
    rows = select(lake, "from rpt_rankings where rater = 'gpt-4o'")
    fitted = rows[rows.method == "bradley_terry"].set_index("model")
    for model in MODELS:
        labels = held[held.model == model].label
        wins = labels.map({"B>>A": 1, "B>A": 0.75, "A=B": 0.5, "A>B": 0.25, "A>>B": 0}).sum()
        expected = 400 * math.log10(wins / (len(labels) - wins))
        gap = fitted.rating[model] - fitted.rating[REFERENCE]
        assert gap == pytest.approx(expected, abs=1e-3), model
    assert fitted.rating.mean() == pytest.approx(1000)
    elo = rows[rows.method == "elo"].set_index("model")
    assert {len(drawn) for drawn in elo.percentiles} == {101}
    assert elo.rating.idxmax() == fitted.rating.idxmax() == "gpt-4o"


def test_labels_agree_with_replies_as_planted(planted: tuple[Lake, pd.DataFrame]) -> None:
    lake, held = planted
    (row,) = select(lake, "from rpt_kappas where chance = 'nominal'").to_dict("records")
    both = held[held.said.notna()]
    first = both.model < REFERENCE  # the pair's first answer is that of the first model by name
    labels, said = (
        pd.Series(
            np.where(
                both[name] == "A=B", "tie", np.where((both[name].str[0] == "B") == first, "a", "b")
            )
        )
        for name in ("label", "said")
    )
    assert row["n"] == len(both)
    assert row["agreement"] == pytest.approx((labels == said).mean())
    assert row["kappa"] == pytest.approx(cohen_kappa_score(labels, said))


def test_what_cannot_come_out_has_no_row(planted: tuple[Lake, pd.DataFrame]) -> None:
    lake, _ = planted
    for view in ("rpt_contradictions", "rpt_attribute_agreement", "rpt_correlation"):
        assert select(lake, f"from {view}").empty, view


def test_models_of_known_size_have_a_rating(planted: tuple[Lake, pd.DataFrame]) -> None:
    """What the figure of ratings by size draws."""
    lake, _ = planted
    statement = (
        "select model, llm_parameters_b from rpt_rankings inner join models using (benchmark, model) "
        "where rater = 'gpt-4o' and method = 'bradley_terry' and rating is not null"
    )
    found = select(lake, statement).set_index("model").llm_parameters_b.to_dict()
    assert found == SIZES
