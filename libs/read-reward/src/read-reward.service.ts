import { type ScriptRegistry } from 'luanest/script-registry';
import { shown, spread, UniqueIds } from '../../internal/src';
import { RewardClock } from './periods';
import { InvalidReadRewardInputError } from './read-reward.errors';
import { events } from './read-reward.events';
import { checkId, readGrantId } from './grant-id';
import { RewardKeys } from './read-reward.keys';
import type { ResolvedReadRewardModuleOptions, ResolvedRewardRule } from './read-reward.options';
import { missed, ReadRecorder, shownEnd, TRIES, unsettled } from './read-reward.recorder';
import { readStatus, refundGrant } from './read-reward.scripts';
import type { RecordRead, RecordResult, RefundResult, RewardStatus } from './read-reward.types';

/** Points for distinct items, at most so many a civil period. */
export class ReadRewardService {
  private readonly keys: RewardKeys;
  private readonly clock = new RewardClock();
  private readonly recorder: ReadRecorder;
  // Operation ids and our own tokens must never meet: each kind has a first letter of its own.
  private readonly callIds = new UniqueIds('c');

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedReadRewardModuleOptions,
  ) {
    this.keys = new RewardKeys(registry.keySpace('read-reward'), options.shards, options.rules.keys());
    this.recorder = new ReadRecorder(registry, options, this.keys, this.clock, () => this.token());
  }

  /**
   * Records that a user read an item, and grants its points when it counts.
   *
   * @throws InvalidReadRewardInputError when a field cannot be what it is given as; nothing was sent
   * @throws PeriodUnsettledError when Redis' clock kept leaving the periods; nothing was written
   */
  record({ rule, userId, itemId, operationId, timeZone }: RecordRead): Promise<RecordResult> {
    try {
      return this.recorder.record({
        rule: this.ruleOf(rule),
        userId: checkId('userId', userId),
        itemId: checkId('itemId', itemId),
        operationId: operationId === undefined ? undefined : checkId('operationId', operationId),
        timeZone,
      });
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
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
    const { rule: name, startsAtMs, seq, userId, itemId } = readGrantId(grantId);
    const rule = this.ruleOf(name);
    const shard = this.keys.shardOf(spread(checkId('userId', userId)));
    const key = (kind: string, ...more: string[]) => this.keys.key(shard, kind, name, userId, ...more);
    const result = await this.registry.run(refundGrant, {
      keys: {
        items: key('items'),
        state: key('state'),
        ever: key('ever'),
        receipt: key('receipt', String(startsAtMs), String(seq)),
        ledger: this.keys.ledgers[shard] as string,
      },
      args: {
        itemId: checkId('itemId', itemId),
        start: startsAtMs,
        seq,
        token: this.token(),
        answerMs: this.options.operationRetentionMs,
        everMs: rule.dedupe === 'ever' ? rule.retentionMs : 0,
        ledgerMs: this.options.ledgerMs,
        name: rule.name,
        userId,
      },
    });
    events.grantRefunded.publish(() => ({ rule: name, status: result.status, points: result.points }));
    return result;
  }

  /** Keys of the ledger's streams, one a shard; read each with a consumer group of yours. */
  ledgerKeys(): readonly string[] {
    return [...this.keys.ledgers];
  }

  private async statusOf(rule: ResolvedRewardRule, userId: string, timeZone?: string): Promise<RewardStatus> {
    const keys = this.keys.of(rule.name, this.keys.shardOf(spread(userId)));
    const call = { items: keys.items(userId), state: keys.state(userId) };
    for (let left = TRIES; left > 0; left--) {
      const { bounds, rule: figures } = this.clock.around(rule, timeZone);
      const answer = await this.registry.run(readStatus, { keys: call, args: { rule: figures } });
      const { open, points, used, remaining } = answer;
      const at = bounds[1] + answer.resetsAtMs;
      if (open) return { rule: rule.name, points, used, remaining, resetsAtMs: shownEnd(at) };
      missed(this.clock, rule, at);
    }
    throw unsettled(rule);
  }

  private token(): string {
    return this.callIds.next();
  }

  private ruleOf(name: string): ResolvedRewardRule {
    const rule = this.options.rules.get(name);
    if (rule !== undefined) return rule;
    const known = [...this.options.rules.keys()].join(', ');
    throw new InvalidReadRewardInputError(`rule is ${shown(name)}. Known rules: ${known}.`);
  }
}
