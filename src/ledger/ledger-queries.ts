/**
 * Makes sessions that book the same activity take turns. Without these locks, two sessions with contradicting rows can wait
 * for each other in a deadlock, also if the rows are sorted, because there are two UNIQUE keys. The locks are taken in the order
 * of their numbers, because two activities may have the same number.
 */
export const LOCK_ACTIVITIES = `
  SELECT pg_advisory_xact_lock(locks.key) FROM (
    SELECT DISTINCT hashtextextended(activity_id, 1) AS key FROM unnest($1::text[]) AS activity_id ORDER BY key
  ) AS locks`;

export const INSERT_PAYOUTS = `
  INSERT INTO luanest.payouts (activity_key, activity_id, packet_id, user_id, amount_cents, granted_at)
  SELECT activity_key, activity_id, packet_id, user_id, amount_cents, to_timestamp(granted_ms / 1000.0)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS input (activity_key, activity_id, packet_id, user_id, amount_cents, granted_ms, index)
  ORDER BY index
  ON CONFLICT DO NOTHING
  RETURNING activity_key, packet_id, user_id, amount_cents`;

export const RAISE_BALANCES = `
  INSERT INTO luanest.accounts AS account (user_id, balance_cents)
  SELECT user_id, sum(cents)::bigint FROM unnest($1::text[], $2::bigint[]) AS input (user_id, cents)
  GROUP BY user_id ORDER BY user_id
  ON CONFLICT (user_id) DO UPDATE SET balance_cents = account.balance_cents + EXCLUDED.balance_cents`;

export const FIND_PAYOUTS = `
  SELECT DISTINCT payout.activity_key, payout.packet_id, payout.user_id, payout.amount_cents
  FROM unnest($1::text[], $2::text[]) AS input (activity_key, packet_id)
  JOIN luanest.payouts AS payout USING (activity_key, packet_id)`;

export const FIND_PAID_USERS = `
  SELECT payout.activity_key, payout.user_id, payout.packet_id, payout.amount_cents,
    round(extract(epoch FROM payout.granted_at) * 1000)::bigint AS granted_ms
  FROM (SELECT DISTINCT activity_key, user_id FROM unnest($1::text[], $2::text[]) AS input (activity_key, user_id)) AS asked
  JOIN luanest.payouts AS payout USING (activity_key, user_id)`;

export const RECORD_CONFLICTS = `
  INSERT INTO luanest.payout_conflicts
    (activity_key, activity_id, packet_id, user_id, amount_cents, granted_at, reason)
  SELECT activity_key, activity_id, packet_id, user_id, amount_cents, to_timestamp(granted_ms / 1000.0), reason
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
    AS input (activity_key, activity_id, packet_id, user_id, amount_cents, granted_ms, reason)
  ON CONFLICT DO NOTHING`;

export const TOTALS = `
  SELECT count(*) AS rows, count(DISTINCT user_id) AS users, coalesce(sum(amount_cents), 0)::bigint AS cents,
    (SELECT count(*) FROM luanest.payout_conflicts WHERE activity_key = $1) AS conflicts,
    (SELECT to_json(book) FROM luanest.books AS book WHERE activity_key = $1) AS book
  FROM luanest.payouts WHERE activity_key = $1`;

/** Adds the entry of an activity key. If there is one, sets its refund if the new refund is larger. */
export const NOTE_ACTIVITY = `
  INSERT INTO luanest.activities AS known (activity_key, activity_id, funded_cents, refunded_cents, created_at, expires_at)
  VALUES ($1, $2, $3, $4, to_timestamp($5::bigint / 1000.0), to_timestamp($6::bigint / 1000.0))
  ON CONFLICT (activity_key) DO UPDATE SET refunded_cents = EXCLUDED.refunded_cents
  WHERE known.refunded_cents < EXCLUDED.refunded_cents`;

/**
 * Sets the activity key of payouts that were booked before there were activity keys, when the same grant arrives again. Without
 * this, the grant would be paid a second time under its key. The caller holds the lock of LOCK_ACTIVITIES.
 */
export const ADOPT_PAYOUTS = `
  UPDATE luanest.payouts AS payout SET activity_key = input.activity_key
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    AS input (activity_key, activity_id, packet_id, user_id, amount_cents, granted_ms)
  WHERE payout.activity_key = 'legacy:' || input.activity_id AND payout.packet_id = input.packet_id
    AND payout.user_id = input.user_id AND payout.amount_cents = input.amount_cents
    AND payout.granted_at = to_timestamp(input.granted_ms / 1000.0)
    AND NOT EXISTS (SELECT FROM luanest.payouts AS other WHERE other.activity_key = input.activity_key
      AND (other.packet_id = input.packet_id OR other.user_id = input.user_id))`;

/**
 * Sets the activity key, as ADOPT_PAYOUTS does, of payouts that were granted between an activity's creation and expiry. Skips
 * those that contradict a payout under this key.
 */
export const ADOPT_ACTIVITY = `
  UPDATE luanest.payouts AS payout SET activity_key = $1
  WHERE payout.activity_key = 'legacy:' || $2::text
    AND payout.granted_at >= to_timestamp($3::bigint / 1000.0) AND payout.granted_at < to_timestamp($4::bigint / 1000.0)
    AND NOT EXISTS (SELECT FROM luanest.payouts AS other WHERE other.activity_key = $1
      AND (other.packet_id = payout.packet_id OR other.user_id = payout.user_id))`;

/** As ADOPT_ACTIVITY, for refused payouts. Skips those that are already recorded under this key. */
export const ADOPT_CONFLICTS = `
  UPDATE luanest.payout_conflicts AS conflict SET activity_key = $1
  WHERE conflict.activity_key = 'legacy:' || $2::text
    AND conflict.granted_at >= to_timestamp($3::bigint / 1000.0) AND conflict.granted_at < to_timestamp($4::bigint / 1000.0)
    AND NOT EXISTS (SELECT FROM luanest.payout_conflicts AS other WHERE other.activity_key = $1
      AND other.packet_id = conflict.packet_id AND other.user_id = conflict.user_id
      AND other.amount_cents = conflict.amount_cents)`;

export const PAYOUTS = `
  SELECT packet_id, user_id, amount_cents FROM luanest.payouts
  WHERE activity_key = $1 AND packet_id > $2 ORDER BY packet_id LIMIT $3`;

/** Returns true if the balances of all accounts add up to what all payouts add up to. */
export const ACCOUNTS_ADD_UP = `
  SELECT (SELECT coalesce(sum(balance_cents), 0) FROM luanest.accounts) =
    (SELECT coalesce(sum(amount_cents), 0) FROM luanest.payouts) AS equal`;

/** Users whose balance differs from the sum of their payouts, of all users, or of the users in `$1`. */
const wrongAccounts = (where: string): string => `
  SELECT user_id, account.balance_cents::text AS balance_cents, coalesce(paid.cents, 0)::text AS paid_cents
  FROM (SELECT user_id, balance_cents FROM luanest.accounts ${where}) AS account
  FULL JOIN (SELECT user_id, sum(amount_cents) AS cents FROM luanest.payouts ${where} GROUP BY user_id) AS paid
    USING (user_id)
  WHERE account.balance_cents IS DISTINCT FROM paid.cents
  ORDER BY user_id`;

export const WRONG_ACCOUNTS = `${wrongAccounts('')} LIMIT $1`;
export const WRONG_ACCOUNTS_OF = wrongAccounts('WHERE user_id = ANY($1::text[])');
