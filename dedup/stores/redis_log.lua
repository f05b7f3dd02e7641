-- What the server does for a log of redis_log.py: one verb a call, ARGV[1], as one atomic step. All
-- of this runs at each call, and to make a function of each verb would cost more than most do.
--
-- log         list: the entries, as entries.py makes them: kind (1 byte), serial (4), run (4),
--             owner (8), when (8), and the rest
-- about       hash: made_with (format and identity, JSON), runs (their number so far)
-- open        hash: the number of an open claim -> serial, run and owner, as in its entry
-- owners      hash: owner -> end of the lease, last turn (doubles)
-- duplicates  hash: number and key of a page -> what was met
-- crawls      list: owner (8), run (4), when (8), position (8), length of the job (4), job, spider
-- ends        hash: owner -> when (8), length of the reason (4), reason, report (JSON)
--
-- All numbers in strings are little-endian. Numbers of Lua are doubles: exact up to 2^53.

local LOG, ABOUT, OPEN, OWNERS, DUPLICATES, CRAWLS, ENDS = unpack(KEYS)
local call, pack, parse, sub = redis.call, struct.pack, struct.unpack, string.sub

local time = call('TIME')
local now = time[1] + time[2] / 1000000
local at = pack('<d', now)
local news = {}
local verb = ARGV[1]

-- Call *command* with the values from *first* to *last*, an even number at a time, since the stack
-- has little room. Returns the last reply.
local function put(command, key, values, first, last)
  local reply
  for start = first, last, 1000 do
    reply = call(command, key, unpack(values, start, math.min(start + 999, last)))
  end
  return reply
end

-- The lease and the last turn of an owner.
local function state_of(owner)
  local row = call('HGET', OWNERS, owner)
  if not row then return 0, 0 end
  return parse('<dd', row)
end

local function somebody_takes_part()
  for _, row in ipairs(call('HVALS', OWNERS)) do
    if parse('<d', row) > now then return true end
  end
  return false
end

-- The claim that *claims* names at *place*, by number and serial, if it is open and the owner's.
local function open_claim(claims, place, owner)
  local number = parse('<I8', claims, place)
  local claim = call('HGET', OPEN, number)
  if not claim or sub(claim, 9) ~= owner then return nil end
  if sub(claim, 1, 4) ~= sub(claims, place + 8, place + 11) then return nil end
  return number, claim
end

-- Note that a claim is committed (S) or released (R), with what is behind the head of the entry.
local function finish(kind, number, claim, tail)
  call('HDEL', OPEN, number)
  news[#news + 1] = kind .. claim .. at .. pack('<I8', number) .. (tail or '')
end

-- How many of the keys are there, what the log was made with, and whether somebody takes part.
if verb == 'open' then
  local made_with = call('HGET', ABOUT, 'made_with')
  return {call('EXISTS', unpack(KEYS)), made_with or '', somebody_takes_part() and 1 or 0}
end

-- Run, whether its job goes on, whether all was forgotten, and the position at which the process
-- began, or its job that goes on; or what the log was made with.
if verb == 'join' then
  local made_with, owner, job, spider, reset, lease = unpack(ARGV, 2)
  local rows = call('LRANGE', CRAWLS, 0, -1)
  local run, is_resumed, position, own_row
  local of_job = pack('<I4', #job) .. job
  for i, row in ipairs(rows) do
    if sub(row, 1, 8) == owner then own_row = i - 1 end
    if job ~= '' and sub(row, 29, 32 + #job) == of_job then
      local ending = call('HGET', ENDS, sub(row, 1, 8))
      is_resumed = not ending or sub(ending, 9, 20) ~= pack('<I4', 8) .. 'finished'
      run = is_resumed and parse('<I4', row, 9)
      position = is_resumed and parse('<I8', row, 21)
    end
  end
  local is_alone = not somebody_takes_part()
  local is_reset = reset == '1' and is_alone and not is_resumed
  local there = call('HGET', ABOUT, 'made_with')
  if there and there ~= made_with and not is_reset then return there end
  if is_reset then
    call('UNLINK', unpack(KEYS))
    own_row = nil
  end
  call('HSET', ABOUT, 'made_with', made_with)
  for i = #rows, 1, -1 do
    if run or is_alone then break end
    if state_of(sub(rows[i], 1, 8)) > now then run = parse('<I4', rows[i], 9) end
  end
  run = run or call('HINCRBY', ABOUT, 'runs', 1)
  position = position or call('LLEN', LOG)
  local _, turn = state_of(owner)
  call('HSET', OWNERS, owner, pack('<dd', now + lease, turn))
  local row = owner .. pack('<I4', run) .. at .. pack('<I8', position) .. of_job .. spider
  if own_row then call('LSET', CRAWLS, own_row, row) else call('RPUSH', CRAWLS, row) end
  call('HDEL', ENDS, owner)
  return {run, is_resumed and 1 or 0, is_reset and 1 or 0, position}
end

-- The length of the log, the serials of lost commits, entries; or 'late', or what the log was
-- made with.
if verb == 'exchange' then
  local made_with, owner, turn, run, seen, most, lease, commits, releases = unpack(ARGV, 2, 10)
  local tails, claims = unpack(ARGV, 11, 12)
  local _, last_turn = state_of(owner)
  if tonumber(turn) <= last_turn then return 'late' end
  if made_with ~= '' then
    local there = call('HGET', ABOUT, 'made_with')
    if there and there ~= made_with then return there end
    -- A server that has forgotten all goes on with those that take part.
    if not there then call('HSET', ABOUT, 'made_with', made_with, 'runs', run) end
  end
  call('HSET', OWNERS, owner, pack('<dd', now + lease, turn))
  local lost, tail = {}, 1
  for place = 1, #commits, 12 do
    local number, claim = open_claim(commits, place, owner)
    local first = tail + 4
    tail = first + parse('<I4', tails, tail)
    if number then
      finish('S', number, claim, sub(tails, first, tail - 1))
    else
      lost[#lost + 1] = parse('<I4', commits, place + 8)
    end
  end
  for place = 1, #releases, 12 do
    local number, claim = open_claim(releases, place, owner)
    if number then finish('R', number, claim) end
  end
  local first_claim = 13
  local first_note = first_claim + claims
  for i = first_claim, first_note - 1 do
    news[#news + 1] = sub(ARGV[i], 1, 17) .. at .. sub(ARGV[i], 26)
  end
  local length = put('RPUSH', LOG, news, 1, #news) or 0
  local opened = {}
  for i = first_claim, first_note - 1 do
    opened[#opened + 1] = length - first_note + 1 + i
    opened[#opened + 1] = sub(ARGV[i], 2, 17)
  end
  put('HSET', OPEN, opened, 1, #opened)
  put('HSET', DUPLICATES, ARGV, first_note, #ARGV)
  local first = math.max(seen, 1) - 1
  return {length, lost, call('LRANGE', LOG, first, first + most - 1)}
end

if verb == 'expire' then
  local claims = ARGV[2]
  for place = 1, #claims, 20 do
    local owner = sub(claims, place + 12, place + 19)
    local number, claim = open_claim(claims, place, owner)
    if number and state_of(owner) <= now then finish('R', number, claim) end
  end
  put('RPUSH', LOG, news, 1, #news)
  return 1
end

if verb == 'leave' then
  local owner, ending = ARGV[2], ARGV[3]
  local _, turn = state_of(owner)
  call('HSET', OWNERS, owner, pack('<dd', 0, turn))
  call('HSET', ENDS, owner, at .. ending)
  local open = call('HGETALL', OPEN)
  local own = {}
  for i = 1, #open, 2 do
    if sub(open[i + 1], 9) == owner then own[#own + 1] = {tonumber(open[i]), open[i + 1]} end
  end
  table.sort(own, function(one, other) return one[1] < other[1] end)
  for _, claim in ipairs(own) do finish('R', unpack(claim)) end
  put('RPUSH', LOG, news, 1, #news)
  return 1
end
