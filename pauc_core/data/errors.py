"""The one exception of the data room: a sentence for the person at the keyboard."""


class DataError(ValueError):
    """Bad or missing input; the message names the file, the place and what to do."""
