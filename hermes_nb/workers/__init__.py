"""A worker as the kernel sees it: its client, its journal, its folder and the locks that show who is alive."""
