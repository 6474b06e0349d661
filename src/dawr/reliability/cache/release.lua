-- Whoever led gives up, if nobody else leads by now.
-- KEYS[1]  who leads
-- ARGV[1]  the token of the lead
local theirs = redis.call('GET', KEYS[1])
if theirs and string.match(theirs, '(.-) ') == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
