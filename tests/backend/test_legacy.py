"""Names that K does not have: the errors of programs that use them."""

from __future__ import annotations

import pytest

from dovetail import backend as K
from dovetail.backend.legacy import ABSENT


@pytest.mark.parametrize("name", ABSENT)
def test_a_name_of_old_times_says_what_to_write(name):
    assert not hasattr(K, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .*") as caught:
        getattr(K, name)
    assert str(caught.value).endswith(ABSENT[name])


def test_any_other_name_is_told_as_python_does():
    with pytest.raises(AttributeError, match=r"module 'dovetail.backend' has no attribute 'squre'$") as caught:
        _ = K.squre
    assert (caught.value.name, caught.value.obj) == ("squre", K)  # Python finds similar names by these
