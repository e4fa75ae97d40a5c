import { randomBytes } from 'node:crypto';
import { Logger, type OnModuleInit } from '@nestjs/common';
import { NotSentError, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { ActivityConflictError, ActivityIncompleteError, MissingPermissionError } from './red-packet.errors';
import {
  checkActivity,
  checkActivityId,
  checkCursor,
  checkEntryId,
  checkInteger,
  checkUserId,
  checkWorker,
} from './red-packet.input';
import type { ResolvedRedPacketOptions } from './red-packet.options';
import {
  beginActivity,
  checkPermissions,
  CHUNK_PACKETS,
  claimPayoutRows,
  fillPool,
  grabPacket,
  indexActivity,
  listActivities,
  openActivity,
  readRecords,
  readStatus,
  settlePayoutRows,
} from './red-packet.scripts';
import type {
  ActivityStatus,
  CreateActivity,
  CreatedActivity,
  GrabResult,
  PayoutRow,
  RecordsPage,
} from './red-packet.types';
import { seededDraws, splitDoubleMean } from './split';

const PAYOUT_GROUP = 'payouts';
const BOOT_DEADLINE_MS = 1_000;

/** What a payout worker asks for. */
export interface ClaimPayouts {
  /** Names the worker; unique among those that live. 1 to 256 characters. */
  readonly worker: string;
  /** Most rows; integer of 1 to 500. Default 100. */
  readonly count?: number;
  /** Age from which a row that another worker took and never settled is taken over, ms; integer >= 1. Default 30,000. */
  readonly leaseMs?: number;
}

interface ActivityKeys {
  readonly meta: string;
  readonly pool: string;
  readonly grants: string;
  readonly outbox: string;
}

/** Red packets: a total split into packets, each handed to one user, with a payout row for every one. */
export class RedPacketService implements OnModuleInit {
  private readonly logger = new Logger(RedPacketService.name);

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedRedPacketOptions, 'retentionMs'>,
  ) {}

  /** Checks that the Redis user may run every command of the scripts. @throws MissingPermissionError naming those it may not */
  async onModuleInit(): Promise<void> {
    const sample = this.registry.keySpace('red-packet').tag('permission-check').key('meta');
    let missing: string[];
    try {
      missing = await this.registry.run(
        checkPermissions,
        { keys: { sample }, args: {} },
        { deadlineMs: BOOT_DEADLINE_MS },
      );
    } catch (error) {
      if (!(error instanceof NotSentError || error instanceof UnknownOutcomeError)) throw error;
      this.logger.warn('Redis is away, so the permissions of its user were not checked.');
      return;
    }
    if (missing.length > 0) {
      throw new MissingPermissionError(
        `The Redis user may not run ${missing.join(', ')}. Grant them: +${missing.join(' +').toLowerCase()}.`,
      );
    }
  }

  /**
   * Splits a total into packets and opens the activity when its pool is complete.
   *
   * Safe to repeat: the same figures resume a creation that was cut off, or find the activity open.
   *
   * @throws InvalidRedPacketInputError for figures that no split can meet
   * @throws ActivityConflictError when the id is taken by other figures
   */
  async create(input: CreateActivity): Promise<CreatedActivity> {
    const { activityId, ...figures } = checkActivity(input);
    const { retentionMs } = this.options;
    const keys = this.keysOf(activityId);
    // Before the activity itself: a crash in between leaves a name that leads nowhere, not money that nobody finds.
    await this.registry.run(indexActivity, { keys: { index: this.indexKey() }, args: { activityId, retentionMs } });
    const seed = randomBytes(16).toString('hex');
    const begun = await this.registry.run(beginActivity, {
      keys,
      args: { ...figures, retentionMs, seed },
    });
    if (begun.status === 'conflict') {
      throw new ActivityConflictError(
        `Activity ${JSON.stringify(activityId)} exists with other figures. Choose another id, or repeat the first figures.`,
      );
    }
    if (begun.status === 'orphaned') {
      throw new ActivityConflictError(
        `Activity ${JSON.stringify(activityId)} has lost its figures while other keys of it remain. Choose another id, and set maxmemory-policy to noeviction.`,
      );
    }
    if (begun.state === 'draft') await this.fill(keys, splitDoubleMean(figures, seededDraws(begun.seed)));
    const opened = await this.registry.run(openActivity, { keys, args: { group: PAYOUT_GROUP } });
    if (opened === 'incomplete' || opened === 'missing') {
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} is ${opened} and was not opened. Create it again to resume.`,
      );
    }
    const { totalCents, packets } = figures;
    return { activityId, totalCents, packets, created: opened === 'opened' };
  }

  /**
   * Hands the user a packet, once: a repeat answers the same packet.
   *
   * @throws InvalidRedPacketInputError for an id that is none
   */
  async grab(activityId: string, userId: string): Promise<GrabResult> {
    return this.registry.run(grabPacket, {
      keys: this.keysOf(checkActivityId(activityId)),
      args: { userId: checkUserId(userId) },
    });
  }

  /** Where the activity stands, at one instant; undefined when Redis holds none of this id. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    const { state, pooled, granted, ...read } = await this.registry.run(readStatus, {
      keys: this.keysOf(checkActivityId(activityId)),
      args: {},
    });
    if (state === '') return undefined;
    const { totalCents, packets, grantedCents, outboxLength, createdAtMs, expiresAtMs } = read;
    const remainingPackets = state === 'draft' ? packets : pooled;
    const remainingCents = totalCents - grantedCents;
    return {
      activityId,
      state,
      totalCents,
      packets,
      remainingPackets,
      remainingCents,
      grantedPackets: granted,
      grantedCents,
      outboxLength,
      createdAtMs,
      expiresAtMs,
    };
  }

  /**
   * A page of grants. A small activity may come as one page, whatever the limit.
   *
   * @param page cursor of the page before; limit of 1 to 1,000, default 100
   */
  async records(
    activityId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<RecordsPage> {
    const count = checkInteger('limit', page.limit ?? 100, 1, 1_000);
    const asked = checkCursor(page.cursor ?? '0');
    const { grants } = this.keysOf(checkActivityId(activityId));
    const { cursor, records } = await this.registry.run(readRecords, {
      keys: { grants },
      args: { cursor: asked, count },
    });
    return { records, nextCursor: cursor === '0' ? null : cursor };
  }

  /** Ids of the activities that Redis may still hold, drafts too. */
  activities(): Promise<string[]> {
    return this.registry.run(listActivities, { keys: { index: this.indexKey() }, args: {} });
  }

  /** Takes payout rows for a worker: those that a dead worker left, then new ones. Pay each once per (activity, packet). */
  async claimPayouts(activityId: string, options: ClaimPayouts): Promise<PayoutRow[]> {
    const count = checkInteger('count', options.count ?? 100, 1, 500);
    const leaseMs = checkInteger('leaseMs', options.leaseMs ?? 30_000, 1, 2 ** 31 - 1);
    const { outbox } = this.keysOf(checkActivityId(activityId));
    const args = { group: PAYOUT_GROUP, worker: checkWorker(options.worker), leaseMs, count };
    const rows = await this.registry.run(claimPayoutRows, { keys: { outbox }, args });
    const payable = rows.filter(isPayable);
    if (payable.length < rows.length) {
      this.logger.warn(
        `${rows.length - payable.length} entries in the outbox of ${JSON.stringify(activityId)} are no payout rows; they stay there.`,
      );
    }
    return payable.map((row) => ({ activityId, ...row }));
  }

  /** Acknowledges and deletes rows whose money is booked. Answers how many were still there; harmless twice. */
  async settlePayouts(activityId: string, entryIds: readonly string[]): Promise<number> {
    const { outbox } = this.keysOf(checkActivityId(activityId));
    const ids = entryIds.map(checkEntryId);
    let settled = 0;
    for (let at = 0; at < ids.length; at += CHUNK_PACKETS) {
      const args = { group: PAYOUT_GROUP, entryIds: ids.slice(at, at + CHUNK_PACKETS) };
      settled += await this.registry.run(settlePayoutRows, { keys: { outbox }, args });
    }
    return settled;
  }

  /** Appends what the pool lacks; where another creator is ahead, goes on from where that one stands. */
  private async fill({ meta, pool }: ActivityKeys, amounts: readonly number[]): Promise<void> {
    let offset = 0;
    while (offset < amounts.length) {
      const chunk = amounts.slice(offset, offset + CHUNK_PACKETS).map((cents, i) => `${offset + i + 1}:${cents}`);
      const { status, length } = await this.registry.run(fillPool, { keys: { meta, pool }, args: { offset, chunk } });
      if (status === 'closed') return;
      offset = length;
    }
  }

  private keysOf(activityId: string): ActivityKeys {
    const tag = this.registry.keySpace('red-packet').tag(activityId);
    return { meta: tag.key('meta'), pool: tag.key('pool'), grants: tag.key('grants'), outbox: tag.key('outbox') };
  }

  /** A tag of its own, which no activity's id can equal: those carry no name but `meta`, `pool`, `grants`, `outbox`. */
  private indexKey(): string {
    return this.registry.keySpace('red-packet').tag('activities').key('index');
  }
}

/** Whether a row is one that a grab wrote. */
function isPayable({ userId, packetId, amountCents, grantedAtMs }: Omit<PayoutRow, 'activityId'>): boolean {
  return userId !== '' && packetId !== '' && Number.isSafeInteger(amountCents) && amountCents > 0 && grantedAtMs > 0;
}
