-- grain: one number, a mean of ratings as it is compared, so that equal means of other terms or in another order are equal
create or replace macro round_mean(mean) as round(mean, 12)
