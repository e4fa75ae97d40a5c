import type { ActivityStatus, Grant } from 'luanest/red-packet';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerAnswer } from '../../ledger/ledger.controller';
import type { AppClient } from './app-client';
import type { CrowdResult, Player } from './crowd';
import type { RainOptions } from './rain-options';

/** Result of a rain. Money in integer cents, durations in ms. */
export interface Audit {
  readonly ok: boolean;
  /** Differences, in words. */
  readonly problems: readonly string[];
  readonly activityId: string;
  readonly users: number;
  readonly packets: number;
  readonly totalCents: number;
  /** Taps with a response. */
  readonly taps: number;
  /** Granted packets in the records. */
  readonly grants: number;
  /** Different users in the records. */
  readonly winners: number;
  readonly grantedCents: number;
  /** Users in the ledger. */
  readonly paidUsers: number;
  /** Cents in the ledger. */
  readonly paidCents: number;
  /** Cents that are left: in pools, or moving between them. */
  readonly leftCents: number;
  readonly leftPackets: number;
  readonly latencyP50Ms: number;
  readonly latencyP99Ms: number;
  readonly grabsPerSecond: number;
  /** Attempts that were repeated because the app was unavailable. */
  readonly retries: number;
}

/** Status, records and ledger, which must agree with each other and with the results that the users got. */
export interface Books {
  readonly status: ActivityStatus;
  readonly records: readonly Grant[];
  readonly ledger: LedgerAnswer;
}

/** Waits until all grants are paid or refused, or `patienceMs` (default 60,000) is over. Returns status, records and ledger. */
export async function readBooks(app: AppClient, activityId: string, patienceMs = 60_000): Promise<Books> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const status = await app.status(activityId);
    const ledger = await app.ledger(status.activityKey);
    const settled = status.openPayouts === 0 && ledger.rows + ledger.conflicts >= status.grantedPackets;
    if (settled || Date.now() > deadline) return { status, ledger, records: await app.records(activityId) };
    await sleep(200);
  }
}

/** Compares the results of the users with status, records and ledger. */
export function auditRain(options: RainOptions, crowd: CrowdResult, books: Books, retries: number): Audit {
  const { status, records, ledger } = books;
  const grantedCents = sum(records.map((record) => record.amountCents));
  const problems = [
    ...crowd.oddities,
    ...checkGrants(options, records, crowd.players),
    ...checkBooks(options, books, grantedCents),
  ];
  return {
    ok: problems.length === 0,
    problems,
    activityId: options.activityId,
    users: options.users,
    packets: options.packets,
    totalCents: options.totalCents,
    taps: sum(crowd.players.map((player) => player.taps)),
    grants: records.length,
    winners: new Set(records.map((record) => record.userId)).size,
    grantedCents,
    paidUsers: ledger.users,
    paidCents: ledger.cents,
    leftCents: status.remainingCents,
    leftPackets: status.remainingPackets,
    latencyP50Ms: percentile(crowd.latenciesMs, 50),
    latencyP99Ms: percentile(crowd.latenciesMs, 99),
    grabsPerSecond: Math.round((crowd.latenciesMs.length * 1_000) / Math.max(crowd.tookMs, 1)),
    retries,
  };
}

/**
 * The value that `percent` of the samples do not exceed (nearest rank), with three decimals; 0 without samples.
 *
 * @param sorted ascending
 */
export function percentile(sorted: Float64Array, percent: number): number {
  const rank = Math.max(Math.ceil((sorted.length * percent) / 100), 1);
  return Math.round((sorted[rank - 1] ?? 0) * 1_000) / 1_000;
}

function checkGrants(options: RainOptions, records: readonly Grant[], players: readonly Player[]): string[] {
  const byUser = new Map(records.map((record) => [record.userId, record]));
  const packetOf = new Map(players.map((player) => [player.userId, player.packet]));
  const packetIds = new Set(records.map((record) => record.packetId)).size;
  const problems = [
    ...expectEqual('different winners', byUser.size, 'grants', records.length),
    ...expectEqual('different packets', packetIds, 'grants', records.length),
    ...expectEqual(
      'grants',
      records.length,
      'packets that this crowd can win',
      Math.min(options.users, options.packets),
    ),
  ];
  for (const [userId, packet] of packetOf) {
    const record = byUser.get(userId);
    if (packet?.packetId !== record?.packetId || packet?.amountCents !== record?.amountCents) {
      problems.push(`user ${JSON.stringify(userId)} got ${describe(packet)}, but the records have ${describe(record)}`);
    }
  }
  for (const userId of byUser.keys()) {
    if (!packetOf.has(userId))
      problems.push(`the records name a user who is not in the crowd: ${JSON.stringify(userId)}`);
  }
  return problems;
}

function checkBooks(options: RainOptions, { status, records, ledger }: Books, grantedCents: number): string[] {
  return [
    ...expectEqual('cents granted and left', grantedCents + status.remainingCents, 'total cents', options.totalCents),
    ...expectEqual('packets granted and left', records.length + status.remainingPackets, 'packets', options.packets),
    ...expectEqual('cents granted by the status', status.grantedCents, 'cents granted by the records', grantedCents),
    ...expectEqual('packets granted by the status', status.grantedPackets, 'grants', records.length),
    ...expectEqual('payouts in the ledger', ledger.rows, 'grants', records.length),
    ...expectEqual('users in the ledger', ledger.users, 'grants', records.length),
    ...expectEqual('cents in the ledger', ledger.cents, 'cents granted', grantedCents),
    ...expectEqual('contradicting payouts', ledger.conflicts, 'allowed', 0),
    ...expectEqual('payouts still in the outbox', status.openPayouts, 'allowed', 0),
  ];
}

function expectEqual(what: string, seen: number, other: string, expected: number): string[] {
  return seen === expected ? [] : [`${what}: ${seen}, but ${other}: ${expected}`];
}

function describe(packet: { readonly packetId: string; readonly amountCents: number } | undefined): string {
  return packet === undefined ? 'no packet' : `packet ${packet.packetId} of ${packet.amountCents} cents`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
