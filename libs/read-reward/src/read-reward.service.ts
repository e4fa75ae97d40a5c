import { randomBytes } from 'node:crypto';
import type { ScriptRegistry } from 'luanest/script-registry';
import { END_OF_TIME_MS } from './civil-calendar';
import { RewardClock } from './read-reward.clock';
import { InvalidReadRewardInputError, PeriodUnsettledError } from './read-reward.errors';
import { publish } from './read-reward.events';
import { checkId, grantIdOf, readGrantId } from './read-reward.grants';
import { RewardKeys } from './read-reward.keys';
import type { ResolvedReadRewardOptions, ResolvedRewardRule } from './read-reward.options';
import { readStatus, recordRead, refundGrant } from './read-reward.scripts';
import type { RecordRead, RecordResult, RefundResult, RewardStatus } from './read-reward.types';

/** How often a call is sent with new periods, when Redis' clock is in none of those that it was sent with. */
const TRIES = 4;

/** Points for distinct items, at most so many a civil period. */
export class ReadRewardService {
  private readonly keys: RewardKeys;
  private readonly clock = new RewardClock();
  private readonly origin = randomBytes(9).toString('base64url');
  private calls = 0;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedReadRewardOptions,
  ) {
    this.keys = new RewardKeys(registry.keySpace('read-reward'), options.shards);
  }

  /**
   * Records that a user read an item, and grants its points when it counts.
   *
   * @throws InvalidReadRewardInputError when a field cannot be what it is given as; nothing was sent
   * @throws PeriodUnsettledError when Redis' clock kept leaving the periods; nothing was written
   */
  async record(read: RecordRead): Promise<RecordResult> {
    const rule = this.ruleOf(read.rule);
    const userId = checkId('userId', read.userId);
    const itemId = checkId('itemId', read.itemId);
    const operation = read.operationId === undefined ? undefined : checkId('operationId', read.operationId);
    const shard = this.keys.shardOf(userId);
    const keys = this.recordKeys(rule, shard, userId, operation);
    const { ledgerMs, operationRetentionMs } = this.options;
    // Operation ids and our own tokens must never meet: a caller's has the mark that ours has not.
    const token = operation === undefined ? this.token() : `o${operation}`;
    for (let left = TRIES; left > 0; left--) {
      const [b0, b1, b2, b3, b4] = this.clock.bounds(rule, read.timeZone);
      const answer = await this.registry.run(recordRead, {
        keys,
        args: {
          itemId,
          token,
          limit: rule.limit,
          points: rule.pointsPerItem,
          cap: rule.capPoints,
          totalMs: rule.period === 'total' ? rule.retentionMs : 0,
          everMs: rule.dedupe === 'ever' ? rule.retentionMs : 0,
          answerMs: operation === undefined ? 0 : operationRetentionMs,
          ledgerMs,
          b0,
          b1,
          b2,
          b3,
          b4,
          rule: ledgerMs === 0 ? '' : rule.name,
          userId: ledgerMs === 0 ? '' : userId,
        },
      });
      const { status, points, used, remaining, seq } = answer;
      if (status === 'outside') {
        this.missed(rule, answer.resetsAt);
        continue;
      }
      publish('readRecorded', () => ({ rule: rule.name, status, points }));
      const grantId = seq === 0 ? null : grantIdOf(rule.name, answer.start, seq, userId, answer.itemId);
      return { status, points, used, remaining, resetsAt: shownEnd(answer.resetsAt), grantId };
    }
    throw this.unsettled(rule);
  }

  /**
   * Where a user stands with every rule, in the order of the options; changes nothing.
   *
   * @param timeZone the user's zone, as `record` takes it
   * @throws InvalidReadRewardInputError for a user or a zone that cannot be one
   */
  async status(userId: string, { timeZone }: { readonly timeZone?: string } = {}): Promise<RewardStatus[]> {
    checkId('userId', userId);
    return Promise.all([...this.options.rules.values()].map((rule) => this.statusOf(rule, userId, timeZone)));
  }

  /**
   * Takes a grant back, once: while its period runs, the item and the points have room again.
   *
   * @param grantId as a rewarded answer gave it
   * @throws InvalidReadRewardInputError for text that is no grant id, or whose rule is none of the options
   */
  async refund(grantId: string): Promise<RefundResult> {
    const { rule: name, startMs, seq, userId, itemId } = readGrantId(grantId);
    const rule = this.ruleOf(name);
    const shard = this.keys.shardOf(checkId('userId', userId));
    const key = (kind: string, ...more: string[]) => this.keys.key(shard, kind, name, userId, ...more);
    const result = await this.registry.run(refundGrant, {
      keys: {
        items: key('items'),
        state: key('state'),
        ever: key('ever'),
        receipt: key('receipt', String(startMs), String(seq)),
        ledger: this.keys.ledgers[shard] as string,
      },
      args: {
        itemId: checkId('itemId', itemId),
        start: startMs,
        seq,
        token: this.token(),
        answerMs: this.options.operationRetentionMs,
        ledgerMs: this.options.ledgerMs,
        rule: rule.name,
        userId,
      },
    });
    publish('grantRefunded', () => ({ rule: name, status: result.status, points: result.points }));
    return result;
  }

  /** Keys of the ledger's streams, one a shard; read each with a consumer group of yours. */
  ledgerKeys(): readonly string[] {
    return [...this.keys.ledgers];
  }

  private async statusOf(rule: ResolvedRewardRule, userId: string, timeZone?: string): Promise<RewardStatus> {
    const shard = this.keys.shardOf(userId);
    const keys = {
      items: this.keys.key(shard, 'items', rule.name, userId),
      state: this.keys.key(shard, 'state', rule.name, userId),
    };
    for (let left = TRIES; left > 0; left--) {
      const [b0, b1, b2, b3, b4] = this.clock.bounds(rule, timeZone);
      const figures = { limit: rule.limit, points: rule.pointsPerItem, cap: rule.capPoints };
      const answer = await this.registry.run(readStatus, { keys, args: { ...figures, b0, b1, b2, b3, b4 } });
      const { status, points, used, remaining, resetsAt } = answer;
      if (status === 'open') return { rule: rule.name, points, used, remaining, resetsAt: shownEnd(resetsAt) };
      this.missed(rule, resetsAt);
    }
    throw this.unsettled(rule);
  }

  /** A key that the call does not need is the state's, so that no further one is sent. */
  private recordKeys(rule: ResolvedRewardRule, shard: number, userId: string, operation: string | undefined) {
    const state = this.keys.key(shard, 'state', rule.name, userId);
    return {
      items: this.keys.key(shard, 'items', rule.name, userId),
      state,
      ever: rule.dedupe === 'ever' ? this.keys.key(shard, 'ever', rule.name, userId) : state,
      answer: operation === undefined ? state : this.keys.key(shard, 'answer', rule.name, userId, operation),
      ledger: this.options.ledgerMs === 0 ? state : (this.keys.ledgers[shard] as string),
    };
  }

  private token(): string {
    return `c${this.origin}${(this.calls++).toString(36)}`;
  }

  private ruleOf(name: string): ResolvedRewardRule {
    const rule = this.options.rules.get(name);
    if (rule !== undefined) return rule;
    const known = [...this.options.rules.keys()].join(', ');
    throw new InvalidReadRewardInputError(`rule is ${String(name).slice(0, 80)}. Known rules: ${known}.`);
  }

  private missed(rule: ResolvedRewardRule, redisNowMs: number): void {
    const skewMs = this.clock.learn(redisNowMs);
    publish('periodMissed', () => ({ rule: rule.name, skewMs }));
  }

  private unsettled(rule: ResolvedRewardRule): PeriodUnsettledError {
    return new PeriodUnsettledError(
      `Redis' clock was outside the periods of rule "${rule.name}" ${TRIES} times. Check the clocks of the Redis nodes.`,
    );
  }
}

function shownEnd(endMs: number): number | null {
  return endMs >= END_OF_TIME_MS ? null : endMs;
}
