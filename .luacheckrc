std = "lua51"
max_line_length = 140
read_globals = { "redis", "KEYS", "ARGV" }
-- Scripts that share code see its locals as if they were their own.
files["libs/rate-limit/src/scripts"] = {
  read_globals = { "algorithms", "figures_of", "keep_ttl", "number", "now_ms", "now_us", "rule_of", "until_of", "LONGEST_MS" },
}
-- What they share is used elsewhere.
files["libs/rate-limit/src/scripts/shared"] = { globals = { "algorithms" }, ignore = { "211" } }
