-- grain: one number, an end of Wilson's interval (1927) of a share of n, z standard errors from its middle
create or replace macro wilson_end(share, n, z) as
(share + z * z / (2 * n) + z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)
