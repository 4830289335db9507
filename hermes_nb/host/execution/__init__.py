"""Where and how a tool's function runs: threads, the kernel's loop, interrupts and time limits."""
