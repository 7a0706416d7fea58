-- grain: one row per sampled case that is wanted and not pending, so that its replies are in the lake; $n of them by $seed
select wanted.*
from wanted_cases as wanted
anti join pending
    on
        wanted.benchmark = pending.benchmark
        and wanted.item_id = pending.item_id
        and wanted.content_digest = pending.content_digest
        and wanted.other_digest = pending.other_digest
        and wanted.shown_first = pending.shown_first
        and wanted.context_digest = pending.context_digest
        and wanted.criterion = pending.criterion
        and wanted.sample = pending.sample
order by hash(wanted.item_id, wanted.content_digest, wanted.other_digest, wanted.criterion, wanted.sample, $seed)
limit $n
