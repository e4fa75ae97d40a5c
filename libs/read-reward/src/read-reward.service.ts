import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, CONSOLE, shown, spread, UniqueIds, InvalidInputError } from '../../internal/src';
import { RewardClock } from './periods';
import { events } from './read-reward.events';
import { checkId, grantIdOf, readGrantId } from './grant-id';
import type { RewardsConsole } from './read-reward.console';
import { RewardKeys } from './read-reward.keys';
import type { ResolvedReadRewardModuleOptions, ResolvedRewardRule } from './read-reward.options';
import { synchronize, ReadRecorder, endOrNull, MAX_TRIES, periodMissed } from './read-reward.recorder';
import { readItems, readStatus, refundGrant } from './read-reward.scripts';
import type { RecordRead, RecordResult, RefundResult, RewardStatus } from './read-reward.types';

const input = new Checks('ReadRewardService', (message) => new InvalidInputError(message));

/** Grants points to users for distinct items that they read, up to a limit for each day, week, month or in total. */
export class ReadRewardService {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'ReadRewardService';

  private readonly keys: RewardKeys;
  private readonly clock = new RewardClock();
  private readonly recorder: ReadRecorder;
  // By its token, Redis recognises a call that is sent again. The token is `o` and the operation id, or `c` and a new id.
  private readonly callIds = new UniqueIds('c');

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedReadRewardModuleOptions,
  ) {
    this.keys = new RewardKeys(registry.keySpace('read-reward'), options.partitions, options.rules.keys());
    this.recorder = new ReadRecorder(registry, options, this.keys, this.clock, () => this.token());
  }

  /**
   * Records that a user read an item, and grants points if the item is new and the period has room.
   *
   * @throws InvalidInputError for an invalid field; nothing was sent
   * @throws PeriodMissedError if the call was sent four times, and Redis' clock was in none of the periods that were sent with it;
   *   nothing was granted
   * @throws the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * const result = await rewards.record({ rule: 'article', userId, itemId: articleId, operationId: requestId });
   * if (result.status === 'rewarded') await show(result.points);
   * ```
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
   * Returns a user's points and remaining items, one row per rule. Grants nothing.
   *
   * @param timeZone IANA zone of the user. Default: the zone of the rule
   * @throws InvalidInputError for an invalid user id or an unknown zone; nothing was sent
   * @throws PeriodMissedError if the call was sent four times, and Redis' clock was in none of the periods that were sent with it
   * @throws the errors of ScriptRegistry.run()
   */
  async status(userId: string, { timeZone }: { readonly timeZone?: string } = {}): Promise<RewardStatus[]> {
    checkId('userId', userId);
    return Promise.all([...this.options.rules.values()].map((rule) => this.statusOf(rule, userId, timeZone)));
  }

  /**
   * Takes back the points of a grant while its period runs, so that the item can be rewarded again. A second call for the same grant
   * changes nothing.
   *
   * @param grantId the `grantId` of a result with the status `rewarded`, or of a row of the ledger
   * @throws InvalidInputError for a value that is not a grant id, or for a rule that is not in the options
   * @throws the errors of ScriptRegistry.run()
   */
  async refund(grantId: string): Promise<RefundResult> {
    const { rule: name, startsAtMs, seq, userId, itemId } = readGrantId(grantId);
    const rule = this.ruleOf(name);
    const partition = this.keys.partitionOf(spread(checkId('userId', userId)));
    const key = (kind: string, ...more: string[]) => this.keys.key(partition, kind, name, userId, ...more);
    const result = await this.registry.run(refundGrant, {
      keys: {
        state: key('state'),
        ever: key('ever'),
        receipt: key('receipt', String(startsAtMs), String(seq)),
        ledger: this.keys.ledgers[partition] as string,
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

  /**
   * Returns the keys of the ledger's streams, one for each partition. Read each stream with a consumer group of your own. Without the
   * option `ledgerRetentionMs`, the streams stay empty.
   */
  ledgerKeys(): readonly string[] {
    return [...this.keys.ledgers];
  }

  /** Returns functions for `luanest/console`. */
  [CONSOLE](): RewardsConsole {
    return {
      ledger: this.options.ledgerMs > 0,
      rules: () => [...this.options.rules.values()],
      items: async (name, userId, { limit, cursor = '0' }) => {
        const rule = this.ruleOf(name).name;
        const partition = this.keys.partitionOf(spread(checkId('userId', userId)));
        const keys = { state: this.keys.state(rule, partition, userId) };
        input.text('cursor', cursor, /^\d{1,20}$/, 'the nextCursor of the page before');
        const { items, next, startsAtMs } = await this.registry.run(readItems, {
          keys,
          args: { cursor, count: limit },
        });
        const rows = items.map(({ itemId, seq, points }) => {
          return { itemId, points, grantId: grantIdOf(rule, startsAtMs, seq, userId, itemId) };
        });
        return next === '0' ? { items: rows } : { items: rows, nextCursor: next };
      },
      parse: (grantId) => readGrantId(grantId),
    };
  }

  private async statusOf(rule: ResolvedRewardRule, userId: string, timeZone?: string): Promise<RewardStatus> {
    const state = this.keys.state(rule.name, this.keys.partitionOf(spread(userId)), userId);
    for (let left = MAX_TRIES; left > 0; left--) {
      const { bounds, rule: settings } = this.clock.around(rule, timeZone);
      const answer = await this.registry.run(readStatus, { keys: { state }, args: { rule: settings } });
      const { open, points, used, remaining } = answer;
      const at = bounds[1] + answer.end;
      if (open) return { rule: rule.name, points, used, remaining, resetsAtMs: endOrNull(at) };
      synchronize(this.clock, rule, at);
    }
    throw periodMissed(rule);
  }

  private token(): string {
    return this.callIds.next();
  }

  private ruleOf(name: string): ResolvedRewardRule {
    const rule = this.options.rules.get(name);
    if (rule !== undefined) return rule;
    const known = [...this.options.rules.keys()].join(', ');
    throw new InvalidInputError(`ReadRewardModule has no rule named ${shown(name)}. Its rules: ${known}.`);
  }
}
