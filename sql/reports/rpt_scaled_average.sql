-- grain: one row per benchmark x model: mean over published benchmarks of (score - least) / (most - least) among its models (CHIRP, section 4).
-- A published benchmark on which all models score the same separates none and is left out; a model that lacks one of the others has no average
with scores as (
    select
        benchmark,
        model,
        published_benchmark,
        score,
        min(score) over (partition by benchmark, published_benchmark) as least,
        max(score) over (partition by benchmark, published_benchmark) as most
    from stg_benchmark_scores
),

used as (
    select
        benchmark,
        count(distinct published_benchmark) as n_benchmarks
    from scores
    where most > least
    group by benchmark
)

select
    scores.benchmark,
    scores.model,
    used.n_benchmarks,
    count(*) as n_scores,
    case when count(*) = used.n_benchmarks then avg((scores.score - scores.least) / (scores.most - scores.least)) end as scaled_average
from scores
inner join used on scores.benchmark = used.benchmark
where scores.most > scores.least
group by scores.benchmark, scores.model, used.n_benchmarks
order by scores.benchmark, scores.model
