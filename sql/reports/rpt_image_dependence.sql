-- grain: one row per benchmark x criterion x pair of judges that differ only in the image they are shown: how far the verdict rests on looking.
-- `image_a` is true; same answers, sample by sample. `changed`: share of verdicts that differ; `mean_change`: mean absolute difference of
-- scores; on pairs of answers `changed` compares choices, and `mean_change` shares of the win
with judges as (
    select
        judge,
        regexp_extract(signature, '\|image:([^|]*)', 1) as image,
        regexp_replace(regexp_replace(signature, '\|image:[^|]*', ''), '\|image_max_side:[^|]*', '') as without_image,
        reading
    from core_judges
    where kind = 'judge' and signature like '%|image:%'
),

controls as (
    select
        shown.judge as judge_a,
        other.judge as judge_b,
        other.image as image_b
    from judges as shown
    inner join judges as other on shown.without_image = other.without_image and shown.reading = other.reading
    where shown.image = 'true' and other.image <> 'true'
),

compared as (
    select judge_a as judge
    from controls
    union
    select judge_b as judge
    from controls
),

verdicts as (
    select
        benchmark,
        item_id,
        answer_id as subject,
        criterion,
        sample,
        judge,
        score_0_1 as score
    from core_scores
    where status = 'ok' and judge in (select judge from compared)
    union all
    select
        benchmark,
        item_id,
        answer_a || ' / ' || answer_b || ' / ' || shown_first as subject,
        criterion,
        sample,
        judge,
        preference_b as score
    from core_duels
    where status = 'ok' and judge in (select judge from compared)
)

select
    a.benchmark,
    controls.judge_a,
    controls.judge_b,
    controls.image_b,
    a.criterion,
    count(*) as n,
    avg((a.score <> b.score)::int) as changed,
    avg(abs(a.score - b.score)) as mean_change,
    avg(a.score) as mean_a,
    avg(b.score) as mean_b,
    corr(a.score, b.score) as pearson
from controls
inner join verdicts as a on controls.judge_a = a.judge
inner join verdicts as b
    on
        controls.judge_b = b.judge
        and a.benchmark = b.benchmark
        and a.item_id = b.item_id
        and a.subject = b.subject
        and a.criterion = b.criterion
        and a.sample = b.sample
group by a.benchmark, controls.judge_a, controls.judge_b, controls.image_b, a.criterion
order by a.benchmark, controls.judge_a, controls.judge_b, a.criterion
