-- grain: one number of three fields, the ends of a mean's 95 % interval, cut to [least, most], and why it has none
create or replace macro mean_ends(spread, least, most) as struct_pack(
    low := case
        when interval_reason(spread) is null then greatest(spread.mean - student_t(spread.degrees) * sqrt(spread.variance), least)
    end,
    high := case
        when interval_reason(spread) is null then least(spread.mean + student_t(spread.degrees) * sqrt(spread.variance), most)
    end,
    reason := interval_reason(spread)
)
