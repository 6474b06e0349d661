-- Keep a value and its tags in one step, unless a tag was invalidated since its generation was taken.
-- KEYS  the entry; who leads; then the tags, the one of all entries first
-- ARGV  the value; fresh for; then served while it is computed anew (ms); by how much a tag outlives it (ms);
--       the token of a lead, or of a new generation; then the generations, or none: whatever they are now
local entry, lead = KEYS[1], KEYS[2]
local value, stale_ms, token = ARGV[1], tonumber(ARGV[3]), ARGV[5]
local life_ms = tonumber(ARGV[2]) + stale_ms
local tag_ms = life_ms + tonumber(ARGV[4])

local theirs = redis.call('GET', lead)
if theirs and string.match(theirs, '(.-) ') == token then
  redis.call('DEL', lead)
end

local under = {}
for i = 3, #KEYS do
  local generation = redis.call('GET', KEYS[i])
  if #ARGV > 5 and generation ~= ARGV[i + 3] then
    return 0
  end
  under[#under + 1] = KEYS[i]
  under[#under + 1] = generation or token
end
for i = 1, #under, 2 do
  if not redis.call('SET', under[i], under[i + 1], 'NX', 'PX', tag_ms) and redis.call('PTTL', under[i]) < tag_ms then
    redis.call('PEXPIRE', under[i], tag_ms)
  end
end
redis.call('HSET', entry, 'value', value, 'stale', stale_ms, 'under', cjson.encode(under))
redis.call('PEXPIRE', entry, life_ms)
return 1
