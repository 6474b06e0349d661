-- The heartbeat of one process, which hears how many live. By the server's clock: theirs may be wrong.
-- KEYS[1]  the living, each with the time of its last heartbeat
-- ARGV     whose heartbeat it is; after how many milliseconds of silence one is taken for gone
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local silence = tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - silence)
-- After a clock that ran ahead was set right.
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + silence, '+inf')
redis.call('PEXPIRE', KEYS[1], silence)
return redis.call('ZCARD', KEYS[1])
