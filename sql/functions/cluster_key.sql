-- grain: one number, what names a cluster of a benchmark where resamples are drawn: the last 64 bits of its name's MD5
create or replace macro cluster_key(benchmark, cluster) as md5_number_lower(benchmark || '/' || cluster)
