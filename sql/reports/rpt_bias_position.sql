-- grain: one row per benchmark x rater x criterion of choices whose order is known. `share_first`: of the choices that are no tie, those for
-- the answer shown first, with the interval of rpt_metrics (`reason`: why there is none). It is the judge's doing only where
-- orders are balanced: `balance` is 1 where each pair of models was shown as often in one order as in the other, 0 where always in one.
-- Of the pairs shown in both orders, `n_inconsistent` got different choices: `n_always_first` the one shown first twice
with known as (
    select * from core_ordered_choices
    where status = 'ok' and shown_first is not null
),

clusters as (
    select
        benchmark,
        rater,
        criterion,
        cluster,
        count(*) as n_choices,
        count(*) filter (where choice <> 'tie') as n,
        count(*) filter (where choice = shown_first) as total
    from known
    group by benchmark, rater, criterion, cluster
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
        sum(n_choices)::bigint as n,
        sum(total)::bigint as first_wins,
        (sum(n) - sum(total))::bigint as second_wins,
        cluster_spread(n, total, all_n) as spread
    from weighed
    group by benchmark, rater, criterion
),

model_pairs as (
    select
        benchmark,
        rater,
        criterion,
        count(*) filter (where (shown_first = 'a') = (model_a < model_b)) as n_lesser_first,
        count(*) as n
    from known
    group by benchmark, rater, criterion, least(model_a, model_b), greatest(model_a, model_b)
),

balances as (
    select
        benchmark,
        rater,
        criterion,
        2 * sum(least(n_lesser_first, n - n_lesser_first)) / sum(n) as balance
    from model_pairs
    group by benchmark, rater, criterion
),

turned as (
    select
        benchmark,
        rater,
        criterion,
        count(distinct choice) > 1 as is_inconsistent,
        bool_and(choice = shown_first) as is_always_first,
        bool_and(choice <> shown_first and choice <> 'tie') as is_always_second
    from known
    group by benchmark, rater, criterion, sample, item_id, answer_a, answer_b
    having count(distinct shown_first) = 2
),

counted as (
    select
        benchmark,
        rater,
        criterion,
        count(*) as n_both_orders,
        count(*) filter (where is_inconsistent) as n_inconsistent,
        count(*) filter (where is_always_first) as n_always_first,
        count(*) filter (where is_always_second) as n_always_second
    from turned
    group by benchmark, rater, criterion
),

ended as (
    select
        *,
        case
            when first_wins + second_wins > 0 then share_ends(spread)
            else struct_pack(low := null::double, high := null::double, reason := 'only ties')
        end as ends
    from shares
)

select
    shares.benchmark,
    shares.rater as judge,
    shares.criterion,
    shares.n,
    shares.first_wins,
    shares.n - shares.first_wins - shares.second_wins as ties,
    shares.second_wins,
    shares.spread.mean as share_first,
    shares.ends.low as low,
    shares.ends.high as high,
    shares.ends.reason as reason,
    balances.balance,
    coalesce(counted.n_both_orders, 0) as n_both_orders,
    coalesce(counted.n_inconsistent, 0) as n_inconsistent,
    coalesce(counted.n_always_first, 0) as n_always_first,
    coalesce(counted.n_always_second, 0) as n_always_second,
    counted.n_inconsistent / counted.n_both_orders as share_inconsistent
from ended as shares
inner join balances
    on
        shares.benchmark = balances.benchmark
        and shares.rater = balances.rater
        and shares.criterion = balances.criterion
left join counted
    on
        shares.benchmark = counted.benchmark
        and shares.rater = counted.rater
        and shares.criterion = counted.criterion
order by shares.benchmark, judge, shares.criterion
