-- These functions return fields of a task's record, the text in which Redis stores a task:
-- '<attempts>\n<keepResultMs>\n<backoff>\n<name>\n<payload>\n<due>'.
local function name_of(record)
  return string.match(record, '^[^\n]*\n[^\n]*\n[^\n]*\n([^\n]*)')
end
local function attempts_of(record)
  return tonumber(string.match(record, '^%d+') or 0)
end
