"""The one exception of the data room: a sentence for the person at the keyboard."""


class DataError(ValueError):
    """Bad or missing input; the message names the file, the place and what to do."""

    def __init__(self, sentence: str) -> None:
        # Reasons of other libraries are quoted in it and may run over several lines.
        super().__init__(" ".join(sentence.split()))
