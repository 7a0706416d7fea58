"""Reference metrics: answers scored against lists of references."""
