"""What each column holds, in words: a name means the same wherever it stands, unless `table.name`
says otherwise. Types, keys and allowed values are the contracts' matter.
"""

from judgelake.schemas.tables import Table

COLUMNS = {
    # keys
    "benchmark": "the benchmark's name in the suite",
    "item_id": "the item within its benchmark",
    "answer_id": "the answer within its item",
    "answer_a": "answer_id of the first answer of a pair",
    "answer_b": "answer_id of the second answer of a pair",
    "criterion": "what is judged, such as correctness or overall",
    "sample": "which of several draws of one model or judge, from 0",
    "suite": "the suite's name",
    "run_id": "the run that wrote the row",
    "judge_id": "16 hex digits of the call signature: the judge or metric",
    "reading": "8 hex digits of the reading signature: how replies are read",
    "content_digest": "16 hex digits over prompt, references and answer",
    "context_digest": "16 hex digits over what only some judges see: caption, images, rubric",
    "other_digest": "content_digest of a pair's second answer; empty for one answer",
    "request_digest": "sha256 over model, messages and decoding of the request",
    "draw": "which of several replies to one request, from 0",
    "reply_digests": "request digests of the replies that the row rests on",
    # where a row is from
    "ingest_id": "the ingest that wrote the row",
    "source_file": "the input file that the row was read from",
    "locator": "the place in the input file: a line, a record",
    "source": "the format that the benchmark was read from",
    "source_digest": "digest of the input files and settings",
    "item_limit": "the most items that were read; null: all",
    "n_items": "items",
    "n_answers": "answers",
    "n_quarantined": "input rows that did not pass",
    # items and answers
    "task": "kind of task",
    "tasks": "the kinds of task that a judge or metric is asked on",
    "prompt": "the question or instruction",
    "references": "the right answers; an answer given by several people stands several times",
    "images": "URI and sha256 of each image",
    "regions": "boxes in the image",
    "category": "the benchmark's own category",
    "failure_labels.category": "why string matching misses the answer",
    "rule_labels.category": "why string matching misses the answer",
    "split": "the benchmark's own split",
    "cluster": "what a bootstrap draws: the image, else the item",
    "model": "the model that is evaluated",
    "style": "whether a short or a long answer was asked for",
    "text": "the text as it was given",
    "n_repeats": "identical input rows that are this row",
    "image_uri": "the image, relative to the suite's image root",
    "captioner": "who wrote the caption",
    # people, recorded judges, labels
    "annotator": "the person who rated or chose",
    "rating": "on the rater's own scale",
    "rankings.rating": "the model's rating by the method",
    "scale_low": "lower end of the rater's scale",
    "scale_high": "upper end of the rater's scale",
    "shown_first": "the answer that the rater saw first",
    "choice": "the preferred one",
    "study": "the study in which the choice was made",
    "choice_set": "which of the item's sets of answers was shown",
    "answers": "answer_id of each answer that was shown",
    "chosen": "answer_id of the one chosen as the best; null: none was",
    "author_a": "who wrote the first feedback",
    "author_b": "who wrote the second feedback",
    "judge": "the judge's name",
    "metric": "the metric's name",
    "score": "the score, on its own scale",
    "label": "the label, such as `ground truth is wrong`",
    "labeller": "who says so: a person, a judge, a rule",
    "holds": "whether it holds",
    "rubric_id": "the rubric within its benchmark",
    "levels": "what each level means, the lowest first",
    "family": "the model's family",
    "llm_parameters_b": "parameters of the language model, in billions",
    "vision_encoder_parameters_b": "parameters of the vision encoder, in billions",
    "training_loss": "the loss at the end of training",
    "published_benchmark": "the benchmark that the published score is of",
    # rejected input
    "table_name": "the table that the row was meant for",
    "column_name": "the column that is wrong",
    "value": "the value",
    "reason": "why there is no score, choice or text, or why the row did not pass",
    "remedy": "what to do about it",
    # judges, cases, replies
    "kind": "what it is",
    "alias": "its name in the suite",
    "call_signature": "all that changes what the judge is asked",
    "reading_signature": "how its replies are read",
    "benchmarks": "the benchmarks that it is asked on",
    "plan": "how the pairs were drawn",
    "finish_reason": "why the model stopped, in the provider's words",
    "refusal": "the refusal, in the model's words",
    "top_logprobs": "for each token the likeliest tokens and their log-probabilities",
    "requested_model": "the model that was asked for",
    "resolved_model": "the model that the endpoint says replied",
    "prompt_tokens": "tokens of the prompt",
    "completion_tokens": "tokens of the reply",
    "cached_tokens": "tokens of the prompt that the provider had cached",
    "latency_ms": "milliseconds from the request to the reply",
    "cost_usd": "US dollars; null where a price is not known",
    "adapted": "settings that the model did not take; null where all was as asked",
    # files of requests at a provider
    "batch_key": "the file of requests",
    "state": "how far the file has come",
    "endpoint": "the endpoint that the requests are for",
    "base_url": "the address of the provider's API",
    "n_requests": "requests in the file",
    "n_bytes": "bytes of the file",
    "requests": "the requests, in the order of the file's lines",
    "refusals": "the requests that the provider will not answer",
    "adaptation": "what the requests had to do without, as JSON",
    "file_id": "the provider's name of the file",
    "batch_id": "the provider's name of the batch",
    # verdicts
    "status": "ok, or why there is no score",
    "score_0_1": "the rating on a scale from 0 to 1; null unless the status is ok",
    "preference_b": "share of the win that the second answer gets, from 0 to 1",
    "score_a": "score of the first answer, on the judge's scale",
    "score_b": "score of the second answer, on the judge's scale",
    "probabilities": "probability of each level or choice",
    "captured_mass": "share of the probability that the levels held where it was read",
    "rationale": "the judge's reasons, in its words",
    "statistics": "additive numbers from whose sums the metric's corpus score follows",
    # embeddings
    "encoder": "16 hex digits of the encoder's signature",
    "encoder_signature": "the encoder and how it is used",
    "digest": "sha256 of the text or the image file",
    "vector": "the embedding",
    # runs
    "suite_digest": "digest of the suite's settings",
    "stage": "the stages that the run was asked for",
    "outcome": "how the run ended, or that it is running",
    "exit_code": "the command's exit code",
    "n_calls": "requests that were sent",
    "n_replies_reused": "replies that were in the lake already",
    "n_verdicts": "verdicts that were written",
    "n_failed": "verdicts that failed",
    "seed": "the seed of all random draws",
    "versions": "versions of the packages, as JSON",
    # times
    "ingested_at": "when the ingest was made (UTC)",
    "registered_at": "when a run of the suite named the judge (UTC)",
    "drawn_at": "when the pair was drawn (UTC)",
    "planned_at": "when a run first wanted it (UTC)",
    "replied_at": "when the reply came (UTC)",
    "noted_at": "when the state was noted (UTC)",
    "judged_at": "when the verdict was read (UTC)",
    "scored_at": "when the score was computed (UTC)",
    "started_at": "when the run began (UTC)",
    "ended_at": "when the run ended or was last seen (UTC)",
    "reported_at": "when the report was built (UTC)",
    # figures of reports
    "rater": "a judge, a metric, or people (`human:...`)",
    "judge_criterion": "the criterion of the judge",
    "human_criterion": "the criterion of people's ratings",
    "human_rule": "how several people's ratings become one value",
    "sample_rule": "how several draws of a judge become one value",
    "coefficient": "which coefficient of correlation",
    "n": "rows that the figure rests on",
    "n_clusters": "clusters that the figure rests on",
    "n_missing": "rows without a score",
    "n_undefined": "resamples in which the figure is undefined",
    "low": "lower end of the 95 % interval",
    "high": "upper end of the 95 % interval",
    "resamples": "resamples that the interval rests on",
    "p_holm": "p-value, corrected after Holm for several tests",
}
"""Column name, or `table.name` -> what it holds."""


def describe_columns(table: Table) -> dict[str, str]:
    """Column name -> what it holds and which values are allowed; columns without words are left
    out.
    """
    described = {}
    for name, column in table.model.to_schema().columns.items():
        says = COLUMNS.get(f"{table.name}.{name}", COLUMNS.get(name))
        if says is not None:
            allowed = [
                ", ".join(f"`{value}`" for value in check.statistics["allowed_values"])
                for check in column.checks
                if check.name == "isin"
            ]
            described[name] = ": ".join([says, *allowed])
    return described
