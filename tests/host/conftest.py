from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.host.kernels import SETUP, Kernel


@pytest.fixture(scope="module")
def kernel_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    kernel.run(SETUP)
    yield kernel
    kernel.close()


@pytest.fixture
def kernel(kernel_of_module: Kernel) -> Iterator[Kernel]:
    """A kernel with a host, shared by the tests of a module; each leaves it as it found it."""
    yield kernel_of_module
    state = kernel_of_module.value(
        "[type(sys.stdout).__name__, signal.getsignal(signal.SIGINT) is signal.default_int_handler,"
        " len(get_ipython().display_pub._hooks)]"
    )
    assert state == ["OutStream", True, 0]
