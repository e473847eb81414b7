"""The special functions are scipy's own, without the rest of its package."""

from __future__ import annotations

import subprocess
import sys

import pytest
import scipy.special

from overread.stats import special


@pytest.mark.parametrize("name", special.__all__)
def test_a_function_is_scipys_own(name):
    assert getattr(special, name) is getattr(scipy.special, name)


def test_neither_loads_the_other_and_both_can_be_had():
    done = (
        "import sys; from overread.stats import special; "
        "assert not {'scipy.special', 'numpy.f2py'} & set(sys.modules); "
        "import scipy.special; assert scipy.special.stdtrit is special.stdtrit; "
        "assert scipy.special.expit(0.0) == 0.5"
    )
    subprocess.run([sys.executable, "-c", done], check=True)
