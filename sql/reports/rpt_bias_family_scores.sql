-- grain: one row per benchmark x judge x its criterion x human criterion x relation (`self`, `family`), on answers that people scored too:
-- mean scores of answers of the judge itself, or of its family, and of others'. `excess`: by how much more it overrates its own than
-- others', people being the measure, with a cluster-robust 95 % interval (`reason`: why there is none)
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

clusters as (
    select
        scores.benchmark,
        scores.judge,
        any_value(families.judge_family) as judge_family,
        scores.judge_criterion,
        scores.human_criterion,
        families.relation,
        scores.cluster,
        count(*) filter (where families.is_own) as n_own,
        count(*) filter (where not families.is_own) as n_other,
        coalesce(sum(scores.judge_score) filter (where families.is_own), 0) as own_total,
        coalesce(sum(scores.judge_score) filter (where not families.is_own), 0) as other_total,
        coalesce(sum(scores.human_score) filter (where families.is_own), 0) as people_own_total,
        coalesce(sum(scores.human_score) filter (where not families.is_own), 0) as people_other_total
    from core_rated_scores as scores
    inner join families
        on scores.benchmark = families.benchmark and scores.judge = families.judge and scores.model = families.model
    group by
        scores.benchmark, scores.judge, scores.judge_criterion, scores.human_criterion, families.relation, scores.cluster
),

summed as (
    select
        *,
        sum(n_own) over judged as all_own,
        sum(n_other) over judged as all_other,
        sum(own_total - people_own_total) over judged / sum(n_own) over judged as own_gap,
        sum(other_total - people_other_total) over judged / sum(n_other) over judged as other_gap
    from clusters
    window judged as (partition by benchmark, judge, judge_criterion, human_criterion, relation)
    qualify all_own > 0 and all_other > 0
),

means as (
    select
        benchmark,
        judge,
        any_value(judge_family) as judge_family,
        judge_criterion,
        human_criterion,
        relation,
        sum(n_own)::bigint as n_own,
        sum(n_other)::bigint as n_other,
        sum(own_total) / sum(n_own) as own_mean,
        sum(other_total) / sum(n_other) as other_mean,
        sum(people_own_total) / sum(n_own) as people_own_mean,
        sum(people_other_total) / sum(n_other) as people_other_mean,
        any_value(own_gap) - any_value(other_gap) as excess,
        count(*) filter (
            where abs(own_total - people_own_total) > 1e-12 or abs(other_total - people_other_total) > 1e-12
        ) as n_differing,
        cluster_spread(
            (n_own / all_own + n_other / all_other) / 2,
            (own_total - people_own_total - own_gap * n_own) / all_own
            - (other_total - people_other_total - other_gap * n_other) / all_other,
            1
        ) as spread
    from summed
    group by benchmark, judge, judge_criterion, human_criterion, relation
),

bounded as (
    select
        *,
        mean_ends(
            struct_pack(
                mean := excess,
                variance := spread.variance,
                degrees := spread.degrees,
                effective := spread.effective,
                n_clusters := spread.n_clusters,
                n_differing := n_differing
            ),
            -2,
            2
        ) as ends
    from means
)

select
    benchmark,
    judge,
    judge_criterion,
    human_criterion,
    relation,
    judge_family,
    n_own,
    n_other,
    own_mean,
    other_mean,
    people_own_mean,
    people_other_mean,
    excess,
    ends.low as low,
    ends.high as high,
    ends.reason as reason
from bounded
order by benchmark, judge, judge_criterion, human_criterion, relation
