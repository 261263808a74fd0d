"""What specifications of written ports share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def remembered() -> Iterator[None]:
    """The first call of each layer of a class of the user's is remembered, as in the worker."""
    from tf_reference import _traced_calls

    with _traced_calls.remembering():
        yield
