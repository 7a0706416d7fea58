-- grain: one row per answer that people rated for correctness and string matching scored, by VQA accuracy, or by exact match where a benchmark
-- has no VQA accuracy. `case_kind` as in LAVE: `missed`, the metric is below 0.5 and at least 4 of 5 people say correct; `reverse`, it is
-- above 0.5 and at most 1 of 5 says so; all else is `other`
with string_metrics as (
    select
        judge,
        alias,
        split_part(signature, '|', 1) as name,
        unnest(benchmarks) as benchmark,
        ['vqa_accuracy', 'recorded_metric:vqa_accuracy', 'exact_match'] as preferred
    from core_judges
    where kind in ('metric', 'recorded_metric')
),

chosen as (
    select
        benchmark,
        judge,
        alias
    from string_metrics
    where list_contains(preferred, name)
    qualify row_number() over (partition by benchmark order by list_position(preferred, name), judge) = 1
),

people as (
    select
        benchmark,
        item_id,
        answer_id,
        score_0_1 as human_score,
        n_annotators
    from core_human
    where criterion = 'correctness' and human_rule = 'mean'
)

select
    scores.benchmark,
    scores.item_id,
    scores.answer_id,
    scores.model,
    scores.cluster,
    chosen.alias as metric,
    scores.score_0_1 as metric_score,
    people.human_score,
    people.n_annotators,
    case
        when scores.score_0_1 < 0.5 and people.human_score >= 0.8 then 'missed'
        when scores.score_0_1 > 0.5 and people.human_score <= 0.2 then 'reverse'
        else 'other'
    end as case_kind
from core_scores as scores
inner join chosen on scores.benchmark = chosen.benchmark and scores.judge = chosen.judge
inner join people
    on
        scores.benchmark = people.benchmark
        and scores.item_id = people.item_id
        and scores.answer_id = people.answer_id
where scores.status = 'ok'
