"""The index of all sessions: one sqlite file, read and written through aiosqlite. It can be rebuilt from journals."""
