"""judgelake: judges the judges of vision-language models."""
