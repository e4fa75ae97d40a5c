-- The audit compares the balance of each user with the sum of their payouts.
CREATE INDEX ON luanest.payouts (user_id);
