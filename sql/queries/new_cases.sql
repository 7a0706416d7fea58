-- grain: one row per wanted case that the lake does not hold as current yet
select wanted.*
from wanted_cases as wanted
anti join stg_cases as cases
    on
        cases.judge_id = $judge_id
        and wanted.benchmark = cases.benchmark
        and wanted.item_id = cases.item_id
        and wanted.content_digest = cases.content_digest
        and wanted.context_digest = cases.context_digest
        and wanted.criterion = cases.criterion
        and wanted.sample = cases.sample
