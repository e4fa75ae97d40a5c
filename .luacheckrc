std = "lua51"
max_line_length = 140
read_globals = { "redis", "KEYS", "ARGV" }
-- Scripts that share code see its locals as if they were their own.
files["libs/rate-limit/src/scripts"] = {
  read_globals = { "algorithms", "figures_of", "keep_ttl", "number", "numbers", "now_ms", "now_us", "rule_of", "until_of", "LONGEST_MS" },
}
-- What they share is used elsewhere.
files["libs/rate-limit/src/scripts/shared"] = { globals = { "algorithms" }, ignore = { "211", "241" } }
files["libs/read-reward/src/scripts"] = {
  read_globals = {
    "REWARDED", "DUPLICATE", "CAPPED", "OUTSIDE", "DENIED", "rule_of", "period_of", "room_in", "first_answer",
    "stored_answer", "head_of", "grant_of", "is_brief", "keep_ttl", "now_ms", "figure_of",
  },
  globals = { "permitted" },
}
files["libs/read-reward/src/scripts/shared"] = { ignore = { "211" } }
files["libs/once/src/scripts"] = { read_globals = { "redis_time" } }
files["libs/once/src/scripts/shared"] = { ignore = { "211" } }
files["libs/lock/src/scripts"] = {
  read_globals = { "time", "now_ms", "now_us", "value_of", "record_of", "no_lock", "queue_of", "ticket_of", "most_tickets" },
  globals = { "fresh", "fresh_owner", "fresh_lease", "judged_raw", "judged_owner", "verdict", "waits" },
}
files["libs/lock/src/scripts/shared"] = { ignore = { "211", "221" } }
files["libs/red-packet/src/scripts"] = {
  read_globals = { "now_ms", "now_us", "now_text", "stretch_cents", "digits", "forbidden", "gate_of",
    "misfit" },
  globals = { "gates" },
}
files["libs/red-packet/src/scripts/shared"] = { ignore = { "211", "221" } }
files["libs/delayed-task/src/scripts"] = {
  read_globals = {
    "time", "now", "run_text", "run_of", "due_of", "NEW_RUN", "NEVER", "LEASE_ENDED", "DENIED", "may_write",
    "rank_after", "name_of", "fitting", "note_buried",
  },
}
files["libs/delayed-task/src/scripts/shared"] = { ignore = { "211" } }
files["libs/stream-consumer/src/scripts"] = {
  read_globals = {
    "now", "WAITING", "FOR_GROUP", "PACKED", "packed", "few_of", "key_of", "fields_of", "tries_of", "tries_text", "failed", "is_gone", "add_fresh", "add_again", "rows_after",
    "missing_in", "ms_until", "parking_of", "parked_key", "MAX_GONE", "settlers_of", "comes_after",
  },
}
files["libs/stream-consumer/src/scripts/shared"] = { ignore = { "211" } }
