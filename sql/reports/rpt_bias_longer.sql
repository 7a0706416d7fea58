-- grain: one row per benchmark x rater x criterion: how often the longer answer of a pair (in characters) is preferred; a tie and a pair on
-- which the judge's two orders differ are half a win, pairs of equal length and pairs with a reference are left out. The interval is that of
-- rpt_metrics, cut at 0 and 1; none where no longer answer or every longer one wins. Raters are judges and `human:<annotator>`
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

shares as (
    select
        benchmark,
        rater,
        criterion,
        sum(n)::bigint as n,
        sum(total) / sum(n) as share_longer,
        sqrt(
            greatest(sum(total * total) - 2 * share_longer * sum(total * n) + share_longer * share_longer * sum(n * n), 0)
            * count(*) / nullif(count(*) - 1, 0)
        ) / sum(n) as raw_error,
        case when share_longer > 0 and share_longer < 1 then raw_error end as standard_error
    from clusters
    group by benchmark, rater, criterion
)

select
    benchmark,
    rater as judge,
    criterion,
    n,
    share_longer,
    case when standard_error is not null then greatest(share_longer - 1.959963984540054 * standard_error, 0) end as low,
    case when standard_error is not null then least(share_longer + 1.959963984540054 * standard_error, 1) end as high
from shares
order by benchmark, judge, criterion
