-- grain: one row per benchmark x judge x criterion x pair of its samples (sample_a < sample_b) of the answers that both scored
select * from core_self_consistency
order by benchmark, judge, criterion, sample_a, sample_b
