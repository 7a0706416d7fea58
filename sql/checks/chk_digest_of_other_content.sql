-- check: the digest of every answer covers its item's prompt and references and its text as they are now
-- grain: one row per answer whose digest is that of another content
-- Escapes of the control characters whose hexadecimal digits are letters are spelled differently here and in tasks.digests: not checked.
with items as (
    select
        benchmark,
        item_id,
        '[' || to_json(prompt) || ',' || to_json(list_sort("references")) || ',' as opening
    from stg_items
),

contents as (
    select
        answers.benchmark,
        answers.item_id,
        answers.answer_id,
        answers.content_digest,
        items.opening || to_json(answers.text) || ']' as content,
        answers.source_file,
        answers.locator
    from stg_answers as answers
    inner join items on answers.benchmark = items.benchmark and answers.item_id = items.item_id
)

select
    benchmark,
    item_id,
    answer_id,
    content_digest,
    left(sha256(content), 16) as expected_digest,
    source_file,
    locator
from contents
where content_digest <> left(sha256(content), 16) and not regexp_matches(content, '\\u00[01][A-F]')
