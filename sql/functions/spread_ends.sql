-- grain: one number of three fields, the ends of the 95 % interval of a mean of scores, and why it has none
-- Of scores from 0 to 1 that of share_ends; of a metric with scores beyond them (CIDEr, log-likelihoods) that of a mean, which has no ends
create or replace macro spread_ends(spread, are_0_1) as case
    when are_0_1 then share_ends(spread)
    else mean_ends(spread, '-infinity'::double, 'infinity'::double)
end
