-- Beginning of the text of a new claim, its TTL, and the arguments from which both were made. Calls that are sent as a group mostly have
-- the same arguments, so the text is reused.
local head, ttl, head_lease, head_retention, head_kind, head_token, head_fingerprint
