"""A pytest plugin that runs the collected tests in reverse order.

Validation uses it once per task: a test whose verdict depends on the order of
its neighbours is no measure of anybody's work.
"""


def pytest_collection_modifyitems(items):
    items.reverse()
