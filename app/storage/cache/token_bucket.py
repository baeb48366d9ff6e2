"""A token bucket that many processes share, counted inside Redis by Redis's own clock.

The bucket holds at most `burst` tokens and gains `rate_per_s` of them a second; absent means full. It lives for as
long as it takes to fill up again, after which absence says the same, and a second more. A value of another type or
of nonsense counts as absent: at worst somebody gets one burst twice. Whoever asks gets a sixteenth of what is there, and
no fewer than it says while there are as many: nobody takes all of a full bucket, and the last tokens go in few steps.
"""

from typing import NamedTuple


class Tokens(NamedTuple):
    """What was given, and what the bucket holds afterwards; both whole numbers."""

    granted: int
    left: int


TAKE = """
local rate, burst, least = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local held = redis.pcall('HMGET', KEYS[1], 'tokens', 'at')
if held.err then
  redis.call('DEL', KEYS[1])
  held = {}
end
local tokens, at = tonumber(held[1] or ''), tonumber(held[2] or '')
if not tokens or not at or tokens ~= tokens or at ~= at or tokens < 0 then
  tokens, at = burst, now
end
tokens = math.min(burst, tokens + math.max(0, now - at) * rate / 1000000)
local granted = math.min(math.floor(tokens), math.max(least, math.floor(tokens / 16)))
tokens = tokens - granted
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return {granted, math.floor(tokens)}
"""
