-- grain: one row per benchmark x judge (`human`: all annotators) x criterion x model ('*' all pooled; each where there are several) x level: how
-- often a judge gives each rating, and how long the answers with it are, in characters (Prometheus-Vision, Figures 10 and 11). A level is a
-- rating; of judges with more than 21 of them, a tenth of the score: from `level` up to `level_to`. Hashes stand for names and lengths are
-- counted, not kept, for there are millions of scores
with judged as not materialized (
    select
        scores.benchmark,
        scores.judge,
        scores.criterion,
        hash(scores.benchmark, scores.judge, scores.criterion) as scale_hash,
        hash(scores.benchmark, scores.item_id, scores.answer_id) as answer_hash,
        scores.rating,
        scores.score_0_1
    from core_scores as scores
    where scores.status = 'ok' and scores.judge in (select judge from core_judges where kind in ('judge', 'recorded'))
    union all
    select
        benchmark,
        'human' as judge,
        criterion,
        hash(benchmark, 'human', criterion) as scale_hash,
        hash(benchmark, item_id, answer_id) as answer_hash,
        rating,
        score_0_1
    from stg_human_ratings
),

-- one cheap pass finds the raters whose ratings need no counting: an estimate is some percent off, and 1,000 is far from 21
scales as materialized (
    select
        scale_hash,
        any_value(benchmark) as benchmark,
        any_value(judge) as judge,
        any_value(criterion) as criterion,
        approx_count_distinct(rating) >= 1000 as has_many
    from judged
    group by scale_hash
),

lengths as (
    select
        hash(benchmark, item_id, answer_id) as answer_hash,
        hash(model) as model_hash,
        length(text) as n_characters
    from core_answers
),

models as (
    select distinct
        model,
        hash(model) as model_hash
    from core_answers
),

counted as materialized (
    select
        judged.scale_hash,
        case when not scales.has_many then judged.rating end as rating,
        least(floor(10 * judged.score_0_1 + 1e-9), 9) / 10 as tenth,
        lengths.model_hash,
        lengths.n_characters,
        count(*) as n
    from judged
    inner join scales on judged.scale_hash = scales.scale_hash
    left join lengths on judged.answer_hash = lengths.answer_hash
    group by all
),

fineness as (
    select
        scales.scale_hash,
        any_value(scales.has_many) or count(distinct counted.rating) > 21 as is_fine
    from scales
    inner join counted on scales.scale_hash = counted.scale_hash
    group by scales.scale_hash
),

measured as (
    select
        fineness.scale_hash,
        fineness.is_fine,
        case when fineness.is_fine then counted.tenth else counted.rating end as level,
        counted.model_hash,
        counted.n_characters,
        counted.n
    from counted
    inner join fineness on counted.scale_hash = fineness.scale_hash
    where counted.n_characters is not null
),

pooled as (
    select
        scale_hash,
        is_fine,
        level,
        model_hash,
        n_characters,
        sum(n) as n
    from measured
    group by grouping sets (
        (scale_hash, is_fine, level, n_characters),
        (scale_hash, is_fine, level, n_characters, model_hash)
    )
),

-- in the order of length the answers up to `upto`, counted from 0, are no longer than this; a quarter of the way is at 0.25 * last_place
placed as (
    select
        *,
        sum(n) over (partition by scale_hash, level, model_hash order by n_characters) - 1 as upto,
        sum(n) over (partition by scale_hash, level, model_hash) - 1.0::double as last_place
    from pooled
),

quarters as (
    select
        scale_hash,
        model_hash,
        level,
        any_value(is_fine) as is_fine,
        any_value(last_place) as last_place,
        sum(n)::bigint as n,
        sum(n * n_characters) / sum(n) as length_mean,
        min(n_characters) filter (where upto >= floor(0.25 * last_place)) as low_quarter,
        min(n_characters) filter (where upto >= ceil(0.25 * last_place)) as low_quarter_next,
        min(n_characters) filter (where upto >= floor(0.5 * last_place)) as middle,
        min(n_characters) filter (where upto >= ceil(0.5 * last_place)) as middle_next,
        min(n_characters) filter (where upto >= floor(0.75 * last_place)) as high_quarter,
        min(n_characters) filter (where upto >= ceil(0.75 * last_place)) as high_quarter_next
    from placed
    group by scale_hash, model_hash, level
),

used as (
    select
        scale_hash,
        model_hash,
        level,
        case when is_fine then level + 0.1 end as level_to,
        n,
        n / sum(n) over (partition by scale_hash, model_hash) as share,
        low_quarter + (low_quarter_next - low_quarter) * (0.25 * last_place - floor(0.25 * last_place)) as length_low_quarter,
        middle + (middle_next - middle) * (0.5 * last_place - floor(0.5 * last_place)) as length_median,
        high_quarter + (high_quarter_next - high_quarter) * (0.75 * last_place - floor(0.75 * last_place)) as length_high_quarter,
        length_mean
    from quarters
    window of_scale as (partition by scale_hash)
    qualify model_hash is null or min(model_hash) over of_scale < max(model_hash) over of_scale
)

select
    scales.benchmark,
    coalesce(models.model, '*') as model,
    scales.judge,
    scales.criterion,
    used.level,
    used.level_to,
    used.n,
    used.share,
    used.length_low_quarter,
    used.length_median,
    used.length_high_quarter,
    used.length_mean
from used
inner join scales on used.scale_hash = scales.scale_hash
left join models on used.model_hash = models.model_hash
