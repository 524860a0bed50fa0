"""Settings shared by every test file."""

from hypothesis import settings

# Compiling a kernel on first use and a busy machine are no reason for a property to fail; fixed
# examples make a red test red for everybody.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("suite")

# Each file is one worker's: the longest come first, so that none is left to one worker at the end.
LONGEST = ("test_workflow", "test_report_page", "test_report_figures", "test_light_install")


def pytest_collection_modifyitems(items):
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
