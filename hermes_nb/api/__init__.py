"""What people hold: `Hermes`, `Instance`, `BoundAgent`, `Turn`. Nothing below imports this room when it runs."""
