-- grain: one number, an end of a share's interval on the scale of log odds, z standard errors from its middle
create or replace macro odds_end(spread, z) as
1 / (1 + (1 - spread.mean) / spread.mean * exp(-z * sqrt(spread.variance) / (spread.mean * (1 - spread.mean))))
