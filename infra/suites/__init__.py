"""The ready suites, as they ship in the wheel. Listing and reading them is
`tasks.suite.examples`.
"""
