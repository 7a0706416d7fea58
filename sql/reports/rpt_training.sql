-- grain: one row per judge that was trained in this lake: from what, how, and how its loss fell
-- (`first_loss`, `last_loss`: mean over the first and the last tenth of the steps, nats a token)
select
    judge,
    benchmarks,
    teacher,
    base,
    base_digest,
    judge_digest,
    train,
    learnt_part,
    lora_rank,
    lora_alpha,
    epochs,
    batch_size,
    learning_rate,
    warmup,
    seed,
    n_examples,
    n_held_out,
    coalesce(list_sum(list_transform(left_out, lambda one: one.n)), 0)::bigint as n_left_out,
    n_steps,
    n_trained_weights,
    list_avg(losses[1:greatest(1, n_steps // 10)]) as first_loss,
    list_avg(losses[n_steps - greatest(1, n_steps // 10) + 1:n_steps]) as last_loss,
    held_out_loss,
    seconds,
    trained_at
from core_trainings
order by judge
