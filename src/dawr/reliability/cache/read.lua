-- What is kept under a key, if every tag that it was made under still has the generation of then.
-- If it is not fresh: the generations now, and whether the asker is to compute it.
-- KEYS  the entry; who leads; then the tags, the one of all entries first
-- ARGV  a token that was never used before; how long one leads; how long a generation lives at least (ms)
local entry, lead = KEYS[1], KEYS[2]
local token, lead_ms, life_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

local found = redis.call('HMGET', entry, 'value', 'stale', 'under')
local value = found[1]
if value then
  local under = cjson.decode(found[3])
  for i = 1, #under, 2 do
    if redis.call('GET', under[i]) ~= under[i + 1] then
      redis.call('UNLINK', entry)
      value = false
      break
    end
  end
end
if value and redis.call('PTTL', entry) > tonumber(found[2]) then
  return {1, value}
end

local since = {}
for i = 3, #KEYS do
  local generation = redis.call('GET', KEYS[i])
  if not generation then
    generation = token
    redis.call('SET', KEYS[i], generation, 'PX', life_ms)
  elseif redis.call('PTTL', KEYS[i]) < life_ms then
    redis.call('PEXPIRE', KEYS[i], life_ms)
  end
  since[#since + 1] = generation
end

-- Whoever leads since before an invalidation computes what nobody will keep: then another one leads.
local mine = token .. ' ' .. table.concat(since, ' ')
local theirs = redis.call('GET', lead)
local leads = 1
if theirs and theirs ~= mine and string.match(theirs, ' (.*)') == table.concat(since, ' ') then
  leads = 0
else
  redis.call('SET', lead, mine, 'PX', lead_ms)
end
return {0, value, leads, token, unpack(since)}
