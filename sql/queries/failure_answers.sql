-- grain: one row per content on which people and string matching differ, in $benchmarks
select distinct
    cases.benchmark,
    cases.item_id,
    answers.content_digest,
    answers.text,
    answers.references
from core_failure_cases as cases
inner join core_answers as answers
    on
        cases.benchmark = answers.benchmark
        and cases.item_id = answers.item_id
        and cases.answer_id = answers.answer_id
where cases.case_kind <> 'other' and list_contains($benchmarks, cases.benchmark)
order by cases.benchmark, cases.item_id, answers.content_digest
