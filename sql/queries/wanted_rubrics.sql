-- grain: one row per distinct image for which a collector is to make rubrics ($criteria names them)
select * replace ($criteria[1] as criteria, $criteria[1][1] as criterion)
from wanted_images
