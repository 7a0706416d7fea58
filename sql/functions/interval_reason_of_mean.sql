-- grain: one text, why a mean of numbers without bounds has no interval; null where it has one
-- Of differences that are 0 nearly everywhere, five clusters have to differ; what is one and the same everywhere has no spread to go by
create or replace macro interval_reason_of_mean(spread) as case
    when interval_reason(spread) is not null then interval_reason(spread)
    when spread.n_differing < least(5, spread.n_clusters) then 'fewer than 5 clusters differ from 0'
    when spread.variance <= 1e-28 * spread.mean * spread.mean then 'all clusters have the same mean'
end
