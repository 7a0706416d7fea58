-- grain: one row per benchmark x item x answer, of current ingests
select
    answers.benchmark,
    answers.item_id,
    answers.answer_id,
    answers.model,
    answers.style,
    answers.sample,
    answers.text,
    answers.content_digest,
    answers.n_repeats,
    answers.source_file,
    answers.locator
from raw_answers as answers
semi join stg_ingests as ingests on answers.benchmark = ingests.benchmark and answers.ingest_id = ingests.ingest_id
