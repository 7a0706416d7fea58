-- grain: one row per benchmark x judge (`human`: all annotators) x criterion x model ('*' all pooled; each where there are several) x level: how
-- often a judge gives each rating, and how long the answers with it are, in characters (Prometheus-Vision, Figures 10 and 11). A level is a
-- rating; of judges with more than 21 of them, a tenth of the score: from `level` up to `level_to`
select * from core_scale_use
order by benchmark, judge, criterion, model, level
