"""For tests, ours and those of extension authors: a model that follows a script, and what a plug-in must hold.

`ScriptedModel` is an OpenAI-compatible endpoint on loopback that answers step by step as told; the real Hermes talks to
it over HTTP. `hermes_nb.testing.fixtures` has it as a pytest fixture. `assert_view_conforms` and `assert_runtime_conforms`
hold a view and a runtime to what the rest of the house relies on. Nothing here is imported by the toolkit itself.
"""

from hermes_nb.testing.runtime_check import assert_runtime_conforms
from hermes_nb.testing.scripted import ScriptedModel
from hermes_nb.testing.step import Call, Drop, Fail, Hang, Malformed, Say, Script, Step
from hermes_nb.testing.view_check import assert_view_conforms

__all__ = [
    "Call",
    "Drop",
    "Fail",
    "Hang",
    "Malformed",
    "Say",
    "Script",
    "ScriptedModel",
    "Step",
    "assert_runtime_conforms",
    "assert_view_conforms",
]
