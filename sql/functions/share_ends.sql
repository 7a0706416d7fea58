-- grain: one number of three fields, the ends of the 95 % interval of a share, or of a mean of scores from 0 to 1, and why it has none
-- On the scale of log odds, so that ends stay in [0, 1]. Where all or none hold, Clopper & Pearson's interval of as many rows as there are
-- effective clusters; where all clusters have one and the same mean, Wilson's. The lambda lets Student's t stand in it once: a macro's
-- argument stands wherever it is named, and what is named often takes long to plan
create or replace macro share_ends(spread) as case
    when interval_reason(spread) is not null then struct_pack(low := null::double, high := null::double, reason := interval_reason(spread))
    when spread.mean < 1e-12 then struct_pack(low := 0.0::double, high := 1 - power(0.025, 1 / spread.effective), reason := null::varchar)
    when spread.mean > 1 - 1e-12 then struct_pack(low := power(0.025, 1 / spread.effective), high := 1.0::double, reason := null::varchar)
    else list_transform(
        [student_t(least(spread.degrees, spread.carriers))],
        lambda t: case
            when spread.variance < 1e-13 * spread.mean * (1 - spread.mean)
                then struct_pack(
                    low := wilson_end(spread.mean, spread.effective, -t),
                    high := wilson_end(spread.mean, spread.effective, t),
                    reason := null::varchar
                )
            else struct_pack(low := odds_end(spread, -t), high := odds_end(spread, t), reason := null::varchar)
        end
    )[1]
end
