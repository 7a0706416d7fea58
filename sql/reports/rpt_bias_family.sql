-- grain: one row per benchmark x judge x criterion x relation (`self`, `family`): share of the win that answers of the judge itself, or of its
-- family, get from it against others' (a tie and orders that differ are half), with the interval of rpt_metrics (`reason`: why there
-- is none). `people_share`: what people gave them on the `n_people` pairs both judged, on which the judge's share is `share_beside_people`
with families as (
    select
        benchmark,
        judge,
        judge_family,
        model,
        unnest(['self', 'family']) as relation,
        unnest([is_self, is_family]) as is_own
    from core_families
),

choices as (
    select * from core_choices
    where preference_b is not null
),

people as (
    select
        benchmark,
        item_id,
        answer_a,
        answer_b,
        criterion,
        avg(preference_b) as preference_b
    from choices
    where rater like 'human:%'
    group by benchmark, item_id, answer_a, answer_b, criterion
),

pairs as (
    select
        choices.benchmark,
        choices.rater as judge,
        a.judge_family,
        choices.criterion,
        a.relation,
        choices.cluster,
        case when a.is_own then 1 - choices.preference_b else choices.preference_b end as share,
        case when a.is_own then 1 - people.preference_b else people.preference_b end as people_share
    from choices
    inner join families as a
        on choices.benchmark = a.benchmark and choices.rater = a.judge and choices.model_a = a.model
    inner join families as b
        on
            choices.benchmark = b.benchmark
            and choices.rater = b.judge
            and choices.model_b = b.model
            and a.relation = b.relation
            and a.is_own <> b.is_own
    left join people
        on
            choices.benchmark = people.benchmark
            and choices.item_id = people.item_id
            and choices.answer_a = people.answer_a
            and choices.answer_b = people.answer_b
            and choices.criterion = people.criterion
),

clusters as (
    select
        benchmark,
        judge,
        any_value(judge_family) as judge_family,
        criterion,
        relation,
        cluster,
        count(*) as n,
        sum(share) as total,
        count(people_share) as n_people,
        sum(people_share) as people_total,
        sum(share) filter (where people_share is not null) as total_beside_people
    from pairs
    group by benchmark, judge, criterion, relation, cluster
),

weighed as (
    select
        *,
        sum(n) over judged as all_n
    from clusters
    window judged as (partition by benchmark, judge, criterion, relation)
),

shares as (
    select
        benchmark,
        judge,
        any_value(judge_family) as judge_family,
        criterion,
        relation,
        sum(n)::bigint as n,
        cluster_spread(n, total, all_n) as spread,
        sum(n_people)::bigint as n_people,
        sum(people_total) / nullif(sum(n_people), 0) as people_share,
        sum(total_beside_people) / nullif(sum(n_people), 0) as share_beside_people
    from weighed
    group by benchmark, judge, criterion, relation
),

ended as (
    select
        *,
        share_ends(spread) as ends
    from shares
)

select
    shares.benchmark,
    shares.judge,
    shares.criterion,
    shares.relation,
    shares.judge_family,
    shares.n,
    shares.spread.mean as share,
    shares.ends.low as low,
    shares.ends.high as high,
    shares.ends.reason as reason,
    shares.n_people,
    shares.people_share,
    shares.share_beside_people
from ended as shares
order by shares.benchmark, shares.judge, shares.criterion, shares.relation
