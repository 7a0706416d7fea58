-- grain: one row per benchmark x grader of 0 or 1 x criteria: its accuracy against people, as last reported
select
    benchmark,
    judge,
    judge_criterion,
    human_criterion,
    n,
    n_left_out,
    n_clusters,
    true_positives,
    false_positives,
    true_negatives,
    false_negatives,
    accuracy,
    accuracy_low,
    accuracy_high,
    accuracy_reason,
    false_positive_rate,
    false_positive_low,
    false_positive_high,
    false_positive_reason,
    false_negative_rate,
    false_negative_low,
    false_negative_high,
    false_negative_reason,
    n_undefined,
    resamples,
    seed,
    reported_at
from stg_grader_accuracy
qualify rank() over (partition by benchmark, judge order by reported_at desc) = 1
order by benchmark, judge, judge_criterion, human_criterion
