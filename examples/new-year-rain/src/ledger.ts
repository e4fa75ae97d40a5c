import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Packet, Payout } from 'luanest/red-packet';
import { Pool } from 'pg';

const TABLES = `
  SELECT pg_advisory_xact_lock(1);
  CREATE TABLE IF NOT EXISTS payouts (
    activity text, packet text, "user" text, cents bigint, granted_at_ms bigint,
    UNIQUE (activity, packet), UNIQUE (activity, "user")
  );
  CREATE TABLE IF NOT EXISTS refunds (activity text PRIMARY KEY, cents bigint);
`;

interface Row {
  readonly packet: string;
  readonly user: string;
  readonly cents: string;
  readonly granted_at_ms: string;
}

/** Who got which packet. Its two unique keys decide: a packet is paid once, and a user is paid once for each rain. */
@Injectable()
export class Ledger implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Ledger.name);
  private readonly pool = new Pool({
    connectionString: process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  });

  constructor() {
    // Without these two listeners, a connection that breaks would end the process.
    this.pool.on('error', ({ message }) => this.logger.warn(message));
    this.pool.on('connect', (client) => client.on('error', ({ message }) => this.logger.warn(message)));
  }

  async onModuleInit(): Promise<void> {
    await this.pool.query(TABLES);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /** Books a payout. If it was booked before, nothing changes. Returns what the ledger has paid instead, if it must not pay. */
  async book(payout: Payout): Promise<'booked' | 'packet-paid' | Packet> {
    const { activityKey, packetId, userId, amountCents, grantedAtMs } = payout;
    await this.pool.query('INSERT INTO payouts VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING', [
      activityKey,
      packetId,
      userId,
      amountCents,
      grantedAtMs,
    ]);
    const { rows } = await this.pool.query<Row>(
      'SELECT * FROM payouts WHERE activity = $1 AND (packet = $2 OR "user" = $3)',
      [activityKey, packetId, userId],
    );
    if (rows.some(({ packet, user }) => packet === packetId && user === userId)) return 'booked';
    const paid = rows.find(({ user }) => user === userId);
    if (paid === undefined || rows.some(({ packet }) => packet === packetId)) return 'packet-paid';
    return { packetId: paid.packet, amountCents: Number(paid.cents), grantedAtMs: Number(paid.granted_at_ms) };
  }

  /** Books what is left of a rain. It may be called again, also with a larger sum. */
  async giveBack(activityId: string, cents: number): Promise<void> {
    await this.pool.query(
      `INSERT INTO refunds AS booked VALUES ($1, $2)
       ON CONFLICT (activity) DO UPDATE SET cents = greatest(booked.cents, excluded.cents)`,
      [activityId, cents],
    );
  }

  /** Sums of a rain. Together they are its total when it is over. */
  async sums(activityId: string, activityKey: string) {
    const { rows } = await this.pool.query<Record<'payouts' | 'paid' | 'refunded', string>>(
      `SELECT count(*) AS payouts, coalesce(sum(cents), 0) AS paid,
         (SELECT coalesce(sum(cents), 0) FROM refunds WHERE activity = $1) AS refunded
       FROM payouts WHERE activity = $2`,
      [activityId, activityKey],
    );
    const { payouts, paid, refunded } = rows[0] as (typeof rows)[number];
    return { payouts: Number(payouts), paidCents: Number(paid), refundedCents: Number(refunded) };
  }
}
