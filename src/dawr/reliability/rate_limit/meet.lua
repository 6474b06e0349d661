-- A process finds the store, and hears which life of it this is and whether to judge by it.
-- A store that lost what it knew begins a new life: it judges when all processes have reported what
-- they had charged, or have had the time to.
-- KEYS[1]  the register
-- ARGV     the server that the caller has found, or empty if it knows a life already; the life to which the
--          caller has just reported everything, or empty; how many processes there are; the time they have, in
--          microseconds; how long an unused register is kept, in milliseconds
-- Returns  the life, and 1 if it judges
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local life = redis.call('HGET', KEYS[1], 'life')
if ARGV[1] == '' and not life then
  return {'', 0}
end
if ARGV[1] ~= '' and ARGV[1] ~= redis.call('HGET', KEYS[1], 'server') then
  life = string.format('%.0f', now)
  redis.call('HSET', KEYS[1], 'life', life, 'server', ARGV[1], 'here', 0)
end
if ARGV[2] == life then
  redis.call('HINCRBY', KEYS[1], 'here', 1)
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
local here = tonumber(redis.call('HGET', KEYS[1], 'here'))
local age = now - life
local judges = here >= tonumber(ARGV[3]) or age < 0 or age >= tonumber(ARGV[4])
return {life, judges and 1 or 0}
