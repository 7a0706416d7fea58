-- question: Which judges prefer the answer that they are shown first, and contradict themselves when the order is turned?
-- grain: one row per benchmark x rater x criterion of the choices whose order is known; the interval is Wilson's at 95 %
-- option benchmark: only this benchmark
with duels as (
    select
        benchmark,
        judge as rater,
        criterion,
        sample,
        item_id,
        answer_a,
        answer_b,
        shown_first,
        choice
    from core_duels
    where status = 'ok'
    union all
    select
        benchmark,
        judge as rater,
        criterion,
        sample,
        item_id,
        answer_a,
        answer_b,
        shown_first,
        choice
    from stg_recorded_duels
    where status = 'ok' and shown_first is not null
    union all
    select
        benchmark,
        'human:' || annotator as rater,
        criterion,
        0 as sample,
        item_id,
        answer_a,
        answer_b,
        shown_first,
        choice
    from stg_human_preferences
    where choice is not null and shown_first is not null
),

named as (
    select
        benchmark,
        rater,
        criterion,
        sample,
        item_id,
        least(answer_a, answer_b) as one,
        greatest(answer_a, answer_b) as other,
        case shown_first when 'a' then answer_a else answer_b end as first_shown,
        case choice when 'a' then answer_a when 'b' then answer_b else 'tie' end as winner
    from duels
    where $benchmark::varchar is null or benchmark = $benchmark
),

turned as (
    select
        benchmark,
        rater,
        criterion,
        count(*) as n_both_orders,
        count(*) filter (where n_winners > 1) as n_inconsistent,
        count(*) filter (where always_first) as n_always_first
    from (
        select
            benchmark,
            rater,
            criterion,
            count(distinct winner) as n_winners,
            bool_and(winner = first_shown) as always_first
        from named
        group by benchmark, rater, criterion, sample, item_id, one, other
        having count(distinct first_shown) = 2
    ) as pairs
    group by benchmark, rater, criterion
),

counted as (
    select
        benchmark,
        rater,
        criterion,
        count(*) as n,
        count(*) filter (where winner = first_shown) as first_wins,
        count(*) filter (where winner not in (first_shown, 'tie')) as second_wins,
        count(*) filter (where winner = 'tie') as ties
    from named
    group by benchmark, rater, criterion
),

shares as (
    select
        *,
        first_wins + second_wins as decided,
        first_wins / nullif(first_wins + second_wins, 0) as share_first,
        power(1.959963984540054, 2) as z2
    from counted
)

select
    shares.benchmark,
    shares.rater,
    shares.criterion,
    shares.n,
    shares.first_wins,
    shares.ties,
    shares.second_wins,
    shares.share_first,
    (share_first + z2 / (2 * decided) - sqrt(z2 * (share_first * (1 - share_first) + z2 / (4 * decided)) / decided))
    / (1 + z2 / decided) as low,
    (share_first + z2 / (2 * decided) + sqrt(z2 * (share_first * (1 - share_first) + z2 / (4 * decided)) / decided))
    / (1 + z2 / decided) as high,
    coalesce(turned.n_both_orders, 0) as n_both_orders,
    coalesce(turned.n_inconsistent, 0) as n_inconsistent,
    coalesce(turned.n_always_first, 0) as n_always_first
from shares
left join turned
    on shares.benchmark = turned.benchmark and shares.rater = turned.rater and shares.criterion = turned.criterion
order by shares.benchmark asc, shares.rater asc, shares.criterion asc
