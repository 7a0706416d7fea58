"""BARTScore (Yuan et al. 2021): how likely an encoder-decoder finds one text given another, the
mean log-probability of its tokens.

Precision is the answer given a reference, recall a reference given the answer, F their arithmetic
mean (section 3.3). A score is at most 0, on no fixed scale. The faithfulness of an answer to a
source text and the paper's prompts are not here.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from judgelake.tasks.metrics.local_models import (
    ModelSettings,
    TokenTexts,
    find_token_limit,
    identify_model,
    import_torch,
    load_model,
    load_tokenizer,
    tokenise_texts,
)
from judgelake.tasks.metrics.metric import Scored, without_statistics
from judgelake.tasks.metrics.pairs import Ids, Scores, divide_by_row, find_distinct, pair_answers
from judgelake.tasks.settings import frozen_settings

VERSION = 1
DIRECTIONS = ("precision", "recall", "f")
REFERENCE_RULES = ("mean", "max")
# logits of a batch in memory at a time: they are texts x tokens x vocabulary
LOGIT_BYTES = 256 * 2**20


@frozen_settings
class BartScoreSettings(ModelSettings):
    """`references`: mean over the references, as the paper's code does by default, or the
    highest.
    """

    model: str = "facebook/bart-large-cnn"
    direction: Literal["precision", "recall", "f"] = "f"
    references: Literal["mean", "max"] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in DIRECTIONS:
            raise ValueError(
                f"direction: {self.direction!r}; expected one of {', '.join(DIRECTIONS)}"
            )
        if self.references not in REFERENCE_RULES:
            raise ValueError(
                f"references: {self.references!r}; expected one of {', '.join(REFERENCE_RULES)}"
            )


def signature(settings: BartScoreSettings) -> str:
    """Everything that can change the number."""
    what = f"direction:{settings.direction}|references:{settings.references}|version:{VERSION}"
    return f"bart_score|{identify_model(settings)}|{what}"


def compute_bart_score(
    answers: pa.Array, references: pa.ListArray, settings: BartScoreSettings
) -> Scored:
    """Score in nats a token, at most 0; F and the highest are taken reference by reference."""
    pairs = pair_answers(answers, references)
    scores = np.full(pairs.row_count, np.nan)
    if len(pairs.rows):
        answer_ids, reference_ids, places = find_distinct(pairs)
        by_pair = _score_pairs(pairs.strings, answer_ids, reference_ids, settings)[places]
        if settings.references == "max":
            starts = np.flatnonzero(np.diff(pairs.rows, prepend=-1))
            scores[pairs.rows[starts]] = np.maximum.reduceat(by_pair, starts)
        else:
            sums = np.bincount(pairs.rows, by_pair, pairs.row_count).astype(np.float64)
            scores = divide_by_row(sums, pairs.count_by_row())
    return without_statistics(scores)


def _score_pairs(
    strings: list[str], answer_ids: Ids, reference_ids: Ids, settings: BartScoreSettings
) -> Scores:
    tokenizer, model = load_tokenizer(settings), load_model(settings, "AutoModelForSeq2SeqLM")
    texts = tokenise_texts(tokenizer, strings, find_token_limit(tokenizer, model.config))
    towards_answer, towards_reference = (reference_ids, answer_ids), (answer_ids, reference_ids)
    directions = {
        "precision": [towards_answer],
        "recall": [towards_reference],
        "f": [towards_answer, towards_reference],
    }
    scored = [
        _score_direction(
            model, texts, source, target, tokenizer.pad_token_id, settings.batch_tokens
        )
        for source, target in directions[settings.direction]
    ]
    mean: Scores = np.mean(scored, axis=0)
    return mean


def _score_direction(
    model: Any, texts: TokenTexts, source: Ids, target: Ids, padding: int, batch_tokens: int
) -> Scores:
    scores = np.empty(len(source))
    room = max(1, LOGIT_BYTES // (4 * model.config.vocab_size))
    for batch in _batch_pairs(texts.lengths, source, target, batch_tokens, room):
        scores[batch] = _score_batch(model, texts, source[batch], target[batch], padding)
    return scores


def _batch_pairs(
    lengths: Ids, source: Ids, target: Ids, batch_tokens: int, target_tokens: int
) -> Iterator[Ids]:
    """Pairs in batches with equal sources side by side, the longest first: bounded by padded tokens
    and by target tokens alone.
    """
    order = np.lexsort([-lengths[target], source, -lengths[source]])
    start = 0
    while start < len(order):
        widest, count = 0, 0
        while start + count < len(order):
            widest = max(widest, int(lengths[target[order[start + count]]]))
            padded = (count + 1) * (int(lengths[source[order[start]]]) + widest)
            if count and (padded > batch_tokens or (count + 1) * widest > target_tokens):
                break
            count += 1
        yield order[start : start + count]
        start += count


def _score_batch(model: Any, texts: TokenTexts, source: Ids, target: Ids, padding: int) -> Scores:
    """Mean log-probability of each target's tokens, first and last special ones too, given its
    source; a source is encoded once.
    """
    from transformers.modeling_outputs import BaseModelOutput

    torch = import_torch()
    distinct, places = np.unique(source, return_inverse=True)
    tokens, mask = (part.to(model.device) for part in texts.pad(distinct, padding))
    labels, counted = (part.to(model.device) for part in texts.pad(target, padding))
    pick = torch.from_numpy(places).to(model.device)
    with torch.inference_mode():
        encoded = model.get_encoder()(input_ids=tokens, attention_mask=mask).last_hidden_state
        logits = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=encoded[pick]),
            attention_mask=mask[pick],
            decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels=labels),
            use_cache=False,
        ).logits.float()
        logprobs = logits.gather(2, labels[:, :, None])[:, :, 0] - logits.logsumexp(2)
        scores: Scores = ((logprobs * counted).sum(1) / counted.sum(1)).double().cpu().numpy()
    return scores
