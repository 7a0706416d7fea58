-- grain: one text, why a mean has no interval; null where it has one
create or replace macro interval_reason(spread) as case
    when spread.n_clusters < 3 then 'fewer than 3 clusters'
    when not (spread.degrees >= 1.4) then 'almost all rows are in one cluster'
end
