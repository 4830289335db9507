"""How an error ends a cell: without the folder names of a machine, which would be saved with the notebook."""

from pathlib import Path

import pytest
from IPython.core.error import UsageError as ShellUsageError

from hermes_nb.errors import StoreError, UsageError
from hermes_nb.magics._outcome import translated


@pytest.mark.parametrize(("kind", "shown_as"), [(StoreError, StoreError), (UsageError, ShellUsageError)])
def test_an_error_names_paths_relative_to_the_notebook(
    kind: type[Exception], shown_as: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(shown_as, match=r"^The store \.hermes-nb/store\.db is locked\.$") as caught, translated():
        raise kind(f"The store {tmp_path}/.hermes-nb/store.db is locked.")
    told = getattr(caught.value, "_render_traceback_", lambda: [str(caught.value)])()
    assert str(tmp_path) not in str(told)
