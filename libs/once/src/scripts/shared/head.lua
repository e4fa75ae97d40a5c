-- Head of a new claim, its TTL, and what both were made of. Calls of a group mostly have the same, so they are made once.
local head, ttl, head_lease, head_retention, head_kind, head_token, head_fingerprint
