-- grain: one row per benchmark x rater x criterion: how often the longer answer of a pair (in characters) is preferred; a tie and a pair on
-- which the judge's two orders differ are half a win, pairs of equal length and pairs with a reference are left out. The interval is that of
-- rpt_metrics, `reason` why there is none. Raters are judges and `human:<annotator>`
with lengths as (
    select
        benchmark,
        item_id,
        answer_id,
        length(text) as n_characters
    from core_answers
),

clusters as (
    select
        choices.benchmark,
        choices.rater,
        choices.criterion,
        choices.cluster,
        count(*) as n,
        sum(case when b.n_characters > a.n_characters then choices.preference_b else 1 - choices.preference_b end) as total
    from core_choices as choices
    inner join lengths as a
        on choices.benchmark = a.benchmark and choices.item_id = a.item_id and choices.answer_a = a.answer_id
    inner join lengths as b
        on choices.benchmark = b.benchmark and choices.item_id = b.item_id and choices.answer_b = b.answer_id
    where choices.preference_b is not null and a.n_characters <> b.n_characters
    group by choices.benchmark, choices.rater, choices.criterion, choices.cluster
),

weighed as (
    select
        *,
        sum(n) over of_rater as all_n
    from clusters
    window of_rater as (partition by benchmark, rater, criterion)
),

shares as (
    select
        benchmark,
        rater,
        criterion,
        sum(n)::bigint as n,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, rater, criterion
),

ended as (
    select
        *,
        share_ends(spread) as ends
    from shares
)

select
    benchmark,
    rater as judge,
    criterion,
    n,
    spread.mean as share_longer,
    ends.low as low,
    ends.high as high,
    ends.reason as reason
from ended
order by benchmark, judge, criterion
