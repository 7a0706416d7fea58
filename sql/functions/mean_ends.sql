-- grain: one number of three fields, the ends of a mean's 95 % interval, cut to [bottom, top], and why it has none
create or replace macro mean_ends(spread, bottom, top) as case
    when interval_reason_of_mean(spread) is not null
        then struct_pack(low := null::double, high := null::double, reason := interval_reason_of_mean(spread))
    else struct_pack(
        low := greatest(spread.mean - student_t(spread.degrees) * sqrt(spread.variance), bottom)::double,
        high := least(spread.mean + student_t(spread.degrees) * sqrt(spread.variance), top)::double,
        reason := null::varchar
    )
end
