"""Everything shown, as pure functions of events. A module here without an underscore is a view, found by name.

Each view module has `render(events, **options)`, documented there.
"""
