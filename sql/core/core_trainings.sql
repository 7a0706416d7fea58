-- grain: one row per current judge that was trained in this lake: the training of the files that its signature names
select
    judges.judge,
    judges.benchmarks,
    trainings.*,
    len(trainings.losses) as n_steps
from core_judges as judges
inner join stg_trainings as trainings
    on contains(judges.signature || '|', '|revision:' || trainings.judge_digest || '|')
