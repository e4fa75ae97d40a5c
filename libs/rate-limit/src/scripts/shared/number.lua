-- A text's number. Calls of one rule have the same arguments, and to find a number again costs less than to read it.
local number = setmetatable({}, {
  __index = function(known, text)
    local value = tonumber(text)
    known[text] = value
    return value
  end,
})
