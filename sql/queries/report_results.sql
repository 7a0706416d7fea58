-- grain: one row per figure that a report states first: agreement of a judge with people, mean or rating of a model, coverage of a judge
with stated as (
    select
        'agreement' as figure,
        benchmark,
        judge,
        '*' as model,
        judge_criterion || ' with ' || human_criterion || ', ' || human_rule as criterion,
        value,
        low,
        high,
        n
    from rpt_judge_comparison
    where coefficient = 'spearman' and model = '*' and human_rule in ('mean', 'lave')
    union all
    select
        'agreement' as figure,
        benchmark,
        if(rater_a like 'human:%', rater_b, rater_a) as judge,
        '*' as model,
        'choices, ' || criterion || ', ' || if(rater_a like 'human:%', rater_a, rater_b) as criterion,
        kappa as value,
        kappa_low as low,
        kappa_high as high,
        n
    from rpt_kappas
    where
        kind = 'choice'
        and chance = 'nominal'
        and (task, category, style) = ('*', '*', '*')
        and (rater_a like 'human:%') <> (rater_b like 'human:%')
    union all
    select
        'mean' as figure,
        benchmark,
        metric as judge,
        coalesce(model, '(unnamed)') as model,
        if(judge = 'metric:' || signature, signature, '*') as criterion,
        mean as value,
        low,
        high,
        n
    from rpt_metrics
    union all
    select
        'rating' as figure,
        benchmark,
        rater as judge,
        model,
        criterion,
        rating as value,
        low,
        high,
        n
    from rpt_rankings
    where category = '*' and method = 'bradley_terry'
    union all
    select
        'coverage' as figure,
        benchmark,
        judge,
        '*' as model,
        '*' as criterion,
        sum(n) filter (where status in ('ok', 'inconsistent')) / sum(n) as value,
        null as low,
        null as high,
        sum(n) as n
    from rpt_coverage
    group by benchmark, judge
)

select
    figure,
    benchmark,
    judge,
    model,
    criterion,
    any_value(value) as value,
    any_value(low) as low,
    any_value(high) as high,
    any_value(n)::bigint as n
from stated
where $benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark)
group by figure, benchmark, judge, model, criterion
order by figure, benchmark, judge, model, criterion
