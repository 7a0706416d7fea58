-- grain: one row per failure category x judge or metric: its mean score of the answers that string matching misses and of which the category
-- holds, as people labelled them (LAVE, Figure 4)
select
    found.category as row_key,
    found.metric as column_key,
    sum(found.mean * found.n) / sum(found.n) as value,
    sum(found.n)::bigint as n,
    null as reason
from rpt_failure_scores as found
where
    found.benchmark in ('vqav2', 'vg_qa', 'okvqa')
    and found.case_kind = 'missed'
    and found.labelled_by = 'imported'
    and found.metric in ('vqa_accuracy', 'soft_vqa_accuracy', 'lave-ft5', 'lave-gpt35')
group by found.category, found.metric
