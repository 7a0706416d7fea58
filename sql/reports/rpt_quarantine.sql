-- grain: one row per benchmark x file x column x reason: how many input rows did not pass, with one of them
select
    benchmark,
    source_file,
    reason,
    column_name,
    count(*) as n,
    min_by(locator, locator) as example_locator,
    min_by(value, locator) as example_value,
    any_value(remedy) as remedy
from stg_quarantine
group by benchmark, source_file, reason, column_name
order by benchmark asc, source_file asc, n desc
