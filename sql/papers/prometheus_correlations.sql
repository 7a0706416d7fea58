-- grain: one row per judge x benchmark x coefficient (Pearson, Kendall's tau-b, Spearman): the mean of its first three scores of an answer with
-- the mean of GPT-4V's first three; for GPT-4V itself its next three (Prometheus-Vision, section 3.3)
with scores as (
    select
        benchmark,
        alias,
        item_id,
        answer_id,
        criterion,
        round_mean(avg(score_0_1) filter (where sample < 3)) as first_three,
        round_mean(avg(score_0_1) filter (where sample between 3 and 5)) as next_three
    from core_scores
    where benchmark like 'pv\_%' escape '\' and status = 'ok'
    group by benchmark, alias, item_id, answer_id, criterion
),

compared as (
    select
        scores.alias,
        scores.benchmark,
        case when scores.alias = 'gpt-4v' then scores.next_three else scores.first_three end as own,
        gpt4v.first_three as gpt4v
    from scores
    inner join scores as gpt4v
        on
            scores.benchmark = gpt4v.benchmark
            and scores.item_id = gpt4v.item_id
            and scores.answer_id = gpt4v.answer_id
            and scores.criterion = gpt4v.criterion
            and gpt4v.alias = 'gpt-4v'
),

measured as (
    select
        alias,
        benchmark,
        pearson(own, gpt4v) as pearson,
        kendall_tau_b(own, gpt4v) as kendall,
        spearman(own, gpt4v) as spearman,
        count(own + gpt4v) as n
    from compared
    group by alias, benchmark
)

select
    alias as row_key,
    benchmark || '/' || coefficient as column_key,
    correlation as value,
    n,
    case when n = 0 then 'fewer samples than are compared' else 'one side is the same for all' end as reason
from measured
unpivot include nulls (correlation for coefficient in (pearson, kendall, spearman))
