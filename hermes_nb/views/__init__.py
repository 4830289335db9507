"""Everything shown, as pure functions of events. A module here without an underscore is a view, found by name.

Each view has `render(source, **options)`, documented there; a source is a log's events, or the `Folder` that a live
display keeps (a page takes events: it holds them). `_bundle.bundle` makes the three forms a cell keeps at once.
What comes from a log is foreign text: each view escapes it for where it goes.
"""
