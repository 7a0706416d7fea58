-- warning: replies came from the model that was asked for, or from a snapshot of it (an Azure deployment's name says nothing about its model)
-- grain: one row per judge x requested model x model that answered where neither name holds the other
with counted as (
    select
        judge_id,
        requested_model,
        resolved_model,
        count(*) as n_replies,
        min(replied_at) as first_replied_at,
        max(replied_at) as last_replied_at
    from raw_replies
    where resolved_model <> '' and not starts_with(requested_model, 'azure/')
    group by judge_id, requested_model, resolved_model
),

named as (
    select
        *,
        regexp_replace(lower(requested_model), '^.*/|-latest$', '', 'g') as asked,
        lower(resolved_model) as answered
    from counted
)

select
    judge_id,
    requested_model,
    resolved_model,
    n_replies,
    first_replied_at,
    last_replied_at
from named
where not contains(answered, asked) and not contains(asked, regexp_replace(answered, '^.*/', ''))
order by judge_id, requested_model, resolved_model
