-- grain: one number of three fields, the ends of the 95 % interval of a mean of differences of two scores from 0 to 1, and why it has none
-- `above` and `below` are the spreads of what differences have above and below 0: two shares, whose intervals know of rare rows that a
-- sample did not hold. Their difference's (Zou & Donner 2008, Statistics in Medicine 27; Newcombe 1998 of Wilson's intervals), or Student's
-- where that is wider
create or replace macro signed_ends(spread, above, below) as case
    when interval_reason(spread) is not null then struct_pack(low := null::double, high := null::double, reason := interval_reason(spread))
    else list_transform(
        [
            struct_pack(
                student := student_t(spread.degrees) * sqrt(spread.variance),
                above := share_ends(above),
                below := share_ends(below)
            )
        ],
        lambda ends: struct_pack(
            low := greatest(
                spread.mean - greatest(ends.student, sqrt(power(above.mean - ends.above.low, 2) + power(ends.below.high - below.mean, 2))), -1
            )::double,
            high := least(
                spread.mean + greatest(ends.student, sqrt(power(ends.above.high - above.mean, 2) + power(below.mean - ends.below.low, 2))), 1
            )::double,
            reason := null::varchar
        )
    )[1]
end
