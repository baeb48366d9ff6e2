"""What a process runs on: the opened runtime, caches, thread pools, rate limits, watchers. Use cases are next door."""
