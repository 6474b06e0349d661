-- Puts what a process has charged by itself into the logs, where it belongs by its age.
-- KEYS[1]  the register
-- ARGV[1]  the life that the caller knows
-- ARGV[2]  three for each log, packed: its name, window in microseconds, and their ages, oldest first
-- Returns  1, or 0 in another life
if redis.call('HGET', KEYS[1], 'life') ~= ARGV[1] then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function insert(log, window, times)
  local newest = redis.call('LINDEX', log, -1)
  while newest and tonumber(newest) > times[1] do
    times[#times + 1] = tonumber(redis.call('RPOP', log))
    newest = redis.call('LINDEX', log, -1)
  end
  table.sort(times)
  for _, at in ipairs(times) do
    redis.call('RPUSH', log, string.format('%.0f', at))
  end
  redis.call('PEXPIRE', log, math.ceil(window / 1000) + 1000)
end

local given = cmsgpack.unpack(ARGV[2])
for n = 1, #given, 3 do
  local log, window, ages = given[n], given[n + 1], given[n + 2]
  local times = {}
  for _, age in ipairs(ages) do
    if age < window then
      times[#times + 1] = now - age
    end
  end
  if #times > 0 then
    insert(log, window, times)
  end
end
return 1
