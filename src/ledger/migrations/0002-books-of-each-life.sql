-- An activity id may be used again after its retention. The activity key names one life of the id, so payouts are unique by
-- key. The key of payouts that are booked already is unknown. They get 'legacy:<id>' (no activity key contains a colon) until
-- the ledger gets the funding of their activity, or the same payout again.
ALTER TABLE luanest.payouts ADD COLUMN activity_key text;
UPDATE luanest.payouts SET activity_key = 'legacy:' || activity_id;
ALTER TABLE luanest.payouts
  ALTER COLUMN activity_key SET NOT NULL,
  DROP CONSTRAINT payouts_activity_id_packet_id_key,
  DROP CONSTRAINT payouts_activity_id_user_id_key,
  ADD UNIQUE (activity_key, packet_id),
  ADD UNIQUE (activity_key, user_id);

ALTER TABLE luanest.payout_conflicts ADD COLUMN activity_key text;
UPDATE luanest.payout_conflicts SET activity_key = 'legacy:' || activity_id;
ALTER TABLE luanest.payout_conflicts
  ALTER COLUMN activity_key SET NOT NULL,
  DROP CONSTRAINT payout_conflicts_activity_id_packet_id_user_id_amount_cents_key,
  ADD UNIQUE (activity_key, packet_id, user_id, amount_cents);

-- Funding and refund of each activity key.
CREATE TABLE luanest.activities (
  activity_key   text        PRIMARY KEY,
  activity_id    text        NOT NULL,
  funded_cents   bigint      NOT NULL CHECK (funded_cents > 0),
  refunded_cents bigint      NOT NULL CHECK (refunded_cents BETWEEN 0 AND funded_cents),
  created_at     timestamptz NOT NULL,
  expires_at     timestamptz NOT NULL
);
CREATE INDEX ON luanest.activities (activity_id);

-- The books: funded = paid + refunded + owed. Owed cents are those of packets that are not won, not paid or not
-- noted as refunded yet.
CREATE VIEW luanest.books AS
SELECT activity_key, activity_id, created_at, expires_at, funded_cents,
  coalesce(paid.cents, 0)::bigint AS paid_cents,
  refunded_cents,
  (funded_cents - refunded_cents - coalesce(paid.cents, 0))::bigint AS owed_cents
FROM luanest.activities
LEFT JOIN (SELECT activity_key, sum(amount_cents) AS cents FROM luanest.payouts GROUP BY activity_key) AS paid
  USING (activity_key);
