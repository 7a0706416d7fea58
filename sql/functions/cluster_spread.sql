-- grain: one number of several fields, over clusters: a mean or a slope as the sum of their parts, with its variance and what is known of it
-- `part` is a cluster's part of all rows (of a slope, of the squares), `share` what it adds to the mean. The variance is bias-reduced
-- (CR2; Bell & McCaffrey 2002), `degrees` are Satterthwaite's for it (Pustejovsky & Tipton 2018), `effective` is Kish's number of clusters
create or replace macro cluster_spread(part, share) as struct_pack(
    mean := sum(share),
    variance := greatest(
        sum(share * share / nullif(1 - part, 0))
        - 2 * sum(share) * sum(share * part / nullif(1 - part, 0))
        + sum(share) * sum(share) * sum(part * part / nullif(1 - part, 0)),
        0
    ),
    degrees := 1 / (
        sum(part * part)
        + power(sum(part * part / nullif(1 - part, 0)), 2)
        - sum(power(part, 4) / power(nullif(1 - part, 0), 2))
    ),
    effective := 1 / sum(part * part),
    n_clusters := count(*) filter (where part > 0)
)
