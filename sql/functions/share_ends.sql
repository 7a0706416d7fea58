-- grain: one number of three fields, the ends of the 95 % interval of a share, or of a mean of scores from 0 to 1, and why it has none
-- On the scale of log odds, so that ends stay in [0, 1]. Where all or none hold, Clopper & Pearson's interval of as many rows as there are
-- effective clusters; where all clusters have one and the same mean, Wilson's
create or replace macro share_ends(spread) as case
    when interval_reason(spread) is not null then struct_pack(low := null::double, high := null::double, reason := interval_reason(spread))
    when spread.mean < 1e-12 then struct_pack(low := 0.0::double, high := 1 - power(0.025, 1 / spread.effective), reason := null::varchar)
    when spread.mean > 1 - 1e-12 then struct_pack(low := power(0.025, 1 / spread.effective), high := 1.0::double, reason := null::varchar)
    when spread.variance < 1e-13 * spread.mean * (1 - spread.mean)
        then struct_pack(
            low := wilson_end(spread.mean, spread.effective, -student_t(least(spread.degrees, spread.carriers))),
            high := wilson_end(spread.mean, spread.effective, student_t(least(spread.degrees, spread.carriers))),
            reason := null::varchar
        )
    else struct_pack(
        low := odds_end(spread, -student_t(least(spread.degrees, spread.carriers))),
        high := odds_end(spread, student_t(least(spread.degrees, spread.carriers))),
        reason := null::varchar
    )
end
