-- check: who is preferred has the higher score and not the lesser share of the win
-- grain: one row per pair judged by a judge of our own whose choice contradicts its scores or its share
select
    judge_id,
    benchmark,
    item_id,
    content_digest,
    other_digest,
    shown_first,
    criterion,
    choice,
    preference_b,
    score_a,
    score_b,
    run_id
from raw_duels
where
    status = 'ok'
    and case choice
        when 'a' then score_a <= score_b or preference_b > 0.5
        when 'b' then score_b <= score_a or preference_b < 0.5
        else score_a <> score_b
    end
