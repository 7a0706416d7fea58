-- grain: one row per survey x what is counted of it (CHIRP, Table 15)
with pairs as (
    select
        benchmark,
        item_id,
        count(distinct least(answer_a, answer_b) || ' ' || greatest(answer_a, answer_b)) as n_pairs
    from human_preferences
    where benchmark in ('chirp_llm_size', 'chirp_ve_size', 'chirp_all_robin')
    group by benchmark, item_id
),

pairs_of as (
    select
        benchmark,
        count(*) as questions,
        avg(n_pairs) as sampled
    from pairs
    group by benchmark
),

people as (
    select
        benchmark,
        count(distinct annotator) as participants,
        count(distinct criterion) as criteria
    from human_preferences
    group by benchmark
),

models_of as (
    select
        benchmark,
        count(distinct model) * (count(distinct model) - 1) / 2 as matchups
    from core_answers
    group by benchmark
),

counted as (
    select
        pairs_of.benchmark,
        pairs_of.questions::double as questions,
        models_of.matchups::double as matchups,
        pairs_of.sampled::double as sampled,
        people.participants::double as participants,
        people.criteria::double as criteria
    from pairs_of
    inner join models_of on pairs_of.benchmark = models_of.benchmark
    inner join people on pairs_of.benchmark = people.benchmark
)

select
    benchmark as row_key,
    counted_what as column_key,
    how_many as value,
    1 as n,
    null as reason
from counted
unpivot (how_many for counted_what in (questions, matchups, sampled, participants, criteria))
