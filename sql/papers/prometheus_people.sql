-- grain: one row per judge or metric x benchmark of 15 answers, and one per judge of all three (`all`): Pearson's correlation with people's mean
-- (Prometheus-Vision, Table 3 and Figure 2)
select
    alias as row_key,
    coalesce(benchmark, 'all') as column_key,
    pearson(judge, human) as value,
    count(judge + human) as n,
    case when count(judge + human) = 0 then 'no score can be read' else 'one side is the same for all' end as reason
from scores_with_people
where benchmark in ('pv15_llava_bench', 'pv15_visit_bench', 'pv15_perception_bench')
group by grouping sets ((alias), (alias, benchmark))
