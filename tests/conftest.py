"""Settings shared by every test file."""

from hypothesis import settings

# Compiling a kernel on first use and a busy machine are no reason for a property to fail; fixed
# examples make a red test red for everybody.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("suite")
