-- grain: one row per case of a jury ($seats): a case that at least $quorum of its members were to judge, whatever they were shown, with the vote
-- of each member: the scores of its samples (of a pair the shares of b), and why there is none
with seats as (
    select unnest($seats, recursive := true)
),

members as (
    select distinct
        place,
        alias
    from seats
),

outcomes as (
    select
        judge_id,
        reading,
        benchmark,
        item_id,
        content_digest,
        '' as other_digest,
        '' as shown_first,
        context_digest,
        criterion,
        sample,
        status,
        score_0_1 as score
    from stg_verdicts
    union all
    select
        judge_id,
        reading,
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        context_digest,
        criterion,
        sample,
        status,
        preference_b as score
    from stg_duels
),

-- `rubric:<id>` is what the criterion `rubric` is called where items have several rubrics
samples as (
    select
        seats.place,
        cases.benchmark,
        cases.item_id,
        cases.content_digest,
        cases.other_digest,
        cases.shown_first,
        case when seats.own_criterion = seats.criterion then cases.criterion else seats.criterion end as criterion,
        cases.sample,
        coalesce(outcomes.status, 'not asked') as status,
        outcomes.score
    from stg_cases as cases
    inner join seats
        on
            cases.judge_id = seats.judge_id
            and (
                cases.criterion = seats.own_criterion
                or (seats.own_criterion = 'rubric' and seats.criterion = 'rubric' and starts_with(cases.criterion, 'rubric:'))
            )
    left join outcomes
        on
            cases.judge_id = outcomes.judge_id
            and seats.reading = outcomes.reading
            and cases.benchmark = outcomes.benchmark
            and cases.item_id = outcomes.item_id
            and cases.content_digest = outcomes.content_digest
            and cases.other_digest = outcomes.other_digest
            and cases.shown_first = outcomes.shown_first
            and cases.context_digest = outcomes.context_digest
            and cases.criterion = outcomes.criterion
            and cases.sample = outcomes.sample
    where list_contains($benchmarks, cases.benchmark)
),

given as (
    select
        place,
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        criterion,
        min(status) as status,
        coalesce(list(score order by sample) filter (where status = 'ok'), []) as scores
    from samples
    group by place, benchmark, item_id, content_digest, other_digest, shown_first, criterion
),

keys as (
    select distinct
        benchmark,
        item_id,
        content_digest,
        other_digest,
        shown_first,
        criterion
    from samples
)

select
    keys.benchmark,
    keys.item_id,
    keys.content_digest,
    keys.other_digest,
    keys.shown_first,
    keys.criterion,
    list(
        struct_pack(
            judge := members.alias,
            status := case when len(given.scores) > 0 then 'ok' else coalesce(given.status, 'not asked') end,
            scores := coalesce(given.scores, [])
        )
        order by members.place
    ) as votes
from keys
cross join members
left join given
    on
        members.place = given.place
        and keys.benchmark = given.benchmark
        and keys.item_id = given.item_id
        and keys.content_digest = given.content_digest
        and keys.other_digest = given.other_digest
        and keys.shown_first = given.shown_first
        and keys.criterion = given.criterion
group by keys.benchmark, keys.item_id, keys.content_digest, keys.other_digest, keys.shown_first, keys.criterion
having count(given.place) >= $quorum
