"""The image of a promoted agent has what the notebook has; nothing here builds it (that takes a builder and a registry)."""

from __future__ import annotations

import sys
from importlib.metadata import version

from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.spec import Spec
from hermes_nb.flyte.task.definition import default_image


def test_it_has_the_notebooks_python_and_the_versions_of_what_runs_there() -> None:
    spec = Spec(
        agent="analyst",
        instructions="",
        model={"id": "m", "provider": "custom", "base_url": None},
        key_variable="",
        versions=_sdk.versions(),
        packages=[f"pandas=={version('pandas')}"],
    )
    image = default_image(spec)
    assert image.python_version == sys.version_info[:2]
    assert f"py{sys.version_info.major}.{sys.version_info.minor}-v{version('flyte')}" in str(image.base_image)
    installed = {package for layer in image._layers for package in layer.packages}  # the SDK tells them nowhere else
    assert installed == {
        f"hermes-agent=={version('hermes-agent')}",
        f"flyteplugins-agents-hermes=={version('flyteplugins-agents-hermes')}",
        f"pandas=={version('pandas')}",
    }
