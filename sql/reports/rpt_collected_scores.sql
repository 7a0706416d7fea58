-- grain: one row per collector of responses x benchmark x score: how many responses are kept, their share, and their lengths in words
-- (Prometheus-Vision, Table 2 and Figure 5: equally many, equally long)
select
    judge_id,
    benchmark,
    score,
    count(*) as n,
    count(*) / sum(count(*)) over (partition by judge_id, benchmark) as share,
    avg(n_words) as mean_words,
    median(n_words) as median_words,
    quantile_cont(n_words, 0.05) as low_words,
    quantile_cont(n_words, 0.95) as high_words,
    avg(n_words / nullif(n_reference_words, 0)) as mean_ratio
from stg_collected_responses
where status = 'ok'
group by judge_id, benchmark, score
order by judge_id, benchmark, score
