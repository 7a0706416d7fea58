-- grain: one row per suite x benchmark x item x content x failure category x rules: the last report's
select
    suite,
    benchmark,
    item_id,
    content_digest,
    labeller,
    category,
    holds,
    reported_at
from raw_rule_labels
qualify rank() over (partition by suite order by reported_at desc) = 1
