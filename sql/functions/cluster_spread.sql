-- grain: one number of several fields, over clusters: a mean or a slope, with its variance and what is known of it
-- `n` are a cluster's rows (of a slope, its squares), `total` their sum (its products), `whole` the n of all clusters. The variance is
-- bias-reduced (CR2; Bell & McCaffrey 2002), `degrees` are Satterthwaite's for it (Pustejovsky & Tipton 2018), `effective` is Kish's number
-- of clusters. `carriers` is how many clusters hold the rows of a share's rarer side, on which its variance rests: three times Kish's number
-- of the squares of these rows, which is all clusters where they are normal. `n_differing` clusters have a sum other than 0.
-- Values that lie far from 0 (1e9 -+ 6) lose their digits in squares: `middle` is a number near their mean, which squares are taken from
create or replace macro cluster_spread(n, total, whole, middle := 0) as struct_pack(
    mean := sum(total) / nullif(max(whole), 0),
    variance := greatest(
        sum((total - middle * n) * (total - middle * n) / nullif(whole - n, 0)) / nullif(max(whole), 0)
        - 2 * (sum(total - middle * n) / nullif(max(whole), 0)) * (sum((total - middle * n) * n / nullif(whole - n, 0)) / nullif(max(whole), 0))
        + power(sum(total - middle * n) / nullif(max(whole), 0), 2) * (sum(n * n / nullif(whole - n, 0)) / nullif(max(whole), 0)),
        0
    ),
    degrees := 1 / (
        sum(n * n) / nullif(power(max(whole), 2), 0)
        + power(sum(n * n / nullif(whole - n, 0)) / nullif(max(whole), 0), 2)
        - sum(power(n, 4) / power(nullif(whole - n, 0), 2)) / nullif(power(max(whole), 2), 0)
    ),
    carriers := 3 * case
        when sum(total) <= max(whole) / 2 then power(sum(total * total), 2) / nullif(sum(total * total * total * total), 0)
        else power(sum((n - total) * (n - total)), 2) / nullif(sum((n - total) * (n - total) * (n - total) * (n - total)), 0)
    end,
    effective := power(max(whole), 2) / nullif(sum(n * n), 0),
    n_clusters := count(*) filter (where n > 0),
    n_differing := count(*) filter (where abs(total) > 1e-12)
)
