-- grain: one row per category of CHIRP's questions: how many there are (CHIRP, Figure 18)
select
    lower(category) as row_key,
    'questions' as column_key,
    count(*)::double as value,
    count(*) as n,
    null as reason
from items
where benchmark = 'chirp_all_robin'
group by lower(category)
