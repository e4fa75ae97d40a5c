-- IF NOT EXISTS, because a ledger that is older than the table of migrations has these tables already.
CREATE TABLE IF NOT EXISTS luanest.payouts (
  activity_id  text        NOT NULL,
  packet_id    text        NOT NULL,
  user_id      text        NOT NULL,
  amount_cents bigint      NOT NULL CHECK (amount_cents > 0),
  granted_at   timestamptz NOT NULL,
  paid_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (activity_id, packet_id),
  UNIQUE (activity_id, user_id)
);
CREATE TABLE IF NOT EXISTS luanest.accounts (
  user_id       text   PRIMARY KEY,
  balance_cents bigint NOT NULL CHECK (balance_cents > 0)
);
CREATE TABLE IF NOT EXISTS luanest.payout_conflicts (
  activity_id  text        NOT NULL,
  packet_id    text        NOT NULL,
  user_id      text        NOT NULL,
  amount_cents bigint      NOT NULL,
  granted_at   timestamptz NOT NULL,
  reason       text        NOT NULL CHECK (reason IN ('packet', 'user')),
  seen_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (activity_id, packet_id, user_id, amount_cents)
);
