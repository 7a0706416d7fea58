-- grain: one row per language model x vision encoder of the Robin suite, as its models' names say them: the training loss (CHIRP, Figure 8)
select
    split_part(model, '_', 1) as row_key,
    split_part(model, '_', 2) as column_key,
    training_loss as value,
    1 as n,
    'its training loss is not known' as reason
from models
where benchmark = 'chirp_all_robin'
