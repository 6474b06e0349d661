-- Charges to several logs in one step, by the server's clock: those of the callers may differ.
-- A log is a list of the microseconds of what was charged, oldest first.
-- KEYS[1]  the register: which life of the store this is
-- ARGV[1]  the life that the caller knows
-- ARGV[2]  four for each log, packed: its name, quota, window in microseconds, and how many more.
--          A number below 0 gives back instead: it is the time of that charge, negated
-- Returns  the time, and three for each log: how many there were, how many were charged,
--          microseconds until there is room for one more; nothing at all in another life
if redis.call('HGET', KEYS[1], 'life') ~= ARGV[1] then
  return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', now)
local answer = {now}

-- The clock was set back: the log goes back with it, so that it stays in order and nobody waits longer than a window.
local function set_back(log, ahead)
  local moved = redis.call('LRANGE', log, 0, -1)
  redis.call('DEL', log)
  for _, at in ipairs(moved) do
    redis.call('RPUSH', log, string.format('%.0f', at - ahead))
  end
end

local function forget_what_is_gone(log, gone)
  local oldest = redis.call('LINDEX', log, 0)
  while oldest and tonumber(oldest) <= gone do
    redis.call('LPOP', log)
    oldest = redis.call('LINDEX', log, 0)
  end
end

local function charge(log, quota, window, wanted)
  local newest = redis.call('LINDEX', log, -1)
  if newest and tonumber(newest) > now then
    set_back(log, newest - now)
    redis.call('PEXPIRE', log, math.ceil(window / 1000) + 1000)
  end
  forget_what_is_gone(log, now - window)
  local there = redis.call('LLEN', log)
  local charged = math.max(0, math.min(wanted, quota - there))
  for _ = 1, charged do
    redis.call('RPUSH', log, stamp)
  end
  if charged > 0 then
    redis.call('PEXPIRE', log, math.ceil(window / 1000) + 1000)
  end
  local next_to_go = redis.call('LINDEX', log, math.max(0, there + charged - quota))
  local wait = next_to_go and next_to_go + window - now or window
  return there, charged, wait
end

local asked = cmsgpack.unpack(ARGV[2])
for n = 1, #asked, 4 do
  local log, quota, window, wanted = asked[n], asked[n + 1], asked[n + 2], asked[n + 3]
  local there, charged, wait = 0, 0, 0
  if wanted < 0 then
    redis.call('LREM', log, -1, string.format('%.0f', -wanted))
  else
    there, charged, wait = charge(log, quota, window, wanted)
  end
  answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = there, charged, wait
end
return answer
