std = "lua51"
max_line_length = 140
read_globals = { "redis", "KEYS", "ARGV" }
-- Scripts that share code see its locals as if they were their own.
files["libs/rate-limit/src/scripts"] = {
  read_globals = { "algorithms", "keep_ttl", "now_ms", "now_us", "rule_of", "until_of", "LONGEST_MS" },
}
files["libs/rate-limit/src/scripts/shared"] = { globals = { "algorithms" } }
files["libs/rate-limit/src/scripts/shared/state.lua"] = { ignore = { "211" } }
files["libs/rate-limit/src/scripts/shared/clock.lua"] = { ignore = { "211" } }
files["libs/rate-limit/src/scripts/shared/penalty.lua"] = { ignore = { "211" } }
files["libs/lock/src/scripts"] = {
  read_globals = { "time", "now_ms", "now_us", "value_of", "record_of", "no_lock" },
  globals = { "fresh", "fresh_owner", "fresh_lease", "judged_raw", "judged_owner", "verdict", "waits" },
}
files["libs/lock/src/scripts/shared"] = { ignore = { "211", "221" } }
