std = "lua51"
max_line_length = 140
read_globals = { "redis", "cjson", "KEYS", "ARGV" }
