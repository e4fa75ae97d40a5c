import { type ScriptRegistry } from 'luanest/script-registry';
import { spread } from '../../internal/src';
import { END_OF_TIME_MS, type Bounds } from './civil-calendar';
import type { Periods, RewardClock } from './periods';
import { PeriodMissedError } from './read-reward.errors';
import { events } from './read-reward.events';
import { CappedUsersHint } from './capped-users-hint';
import { grantIdOf } from './grant-id';
import type { RewardKeys } from './read-reward.keys';
import type { ResolvedReadRewardModuleOptions, ResolvedRewardRule } from './read-reward.options';
import { lookUp, recordFully, recordRead, STATUSES, type Counted, type Recorded } from './read-reward.scripts';
import type { RecordResult, RecordStatus } from './read-reward.types';

/** A call is sent at most this often, if Redis' clock is outside the periods that were sent with it. */
export const MAX_TRIES = 4;

const [DUPLICATE, CAPPED] = [2, 3];

interface CheckedRead {
  readonly rule: ResolvedRewardRule;
  readonly userId: string;
  readonly itemId: string;
  readonly operationId: string | undefined;
  readonly timeZone: string | undefined;
}

/** Records that a user has read an item. First calls the cheapest script that can probably decide. If it cannot, calls another script. */
export class ReadRecorder {
  private readonly cappedUsers = new CappedUsersHint();

  /** @param token returns a text that identifies a call */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedReadRewardModuleOptions,
    private readonly keys: RewardKeys,
    private readonly clock: RewardClock,
    private readonly token: () => string,
  ) {}

  /**
   * Records one read.
   *
   * @throws InvalidInputError for an unknown zone; PeriodMissedError if the call was sent MAX_TRIES times; the errors of
   *   ScriptRegistry.run()
   */
  record(read: CheckedRead): Promise<RecordResult> {
    const { rule, userId, operationId } = read;
    const periods = this.clock.around(rule, read.timeZone);
    const hash = spread(userId);
    const partition = this.keys.partitionOf(hash);
    const state = this.keys.state(rule.name, partition, userId);
    if (operationId !== undefined || !rule.isPlain || this.options.ledgerMs > 0) {
      const token = operationId === undefined ? this.token() : `o${operationId}`;
      return this.sendUntilInside(read, periods, (now) => this.sendFully(read, partition, state, now, token));
    }
    if (this.cappedUsers.has(hash, periods.mark)) return this.look(read, hash, partition, state, periods);
    return this.decide(read, hash, partition, state, periods);
  }

  /** Records a read of a user who had reached the limit of the period at the last call. Then a script that only reads is usually enough. */
  private look(
    read: CheckedRead,
    hash: number,
    partition: number,
    state: string,
    periods: Periods,
  ): Promise<RecordResult> {
    const { rule, itemId } = read;
    const { current, gapMs: gap } = periods;
    return this.registry.run(lookUp, { keys: { state }, args: { itemId, current, gap } }).then(({ used, known }) => {
      if (used < 0 || (used < rule.maxItems && !known)) {
        this.cappedUsers.note(hash, periods.mark, false);
        return this.decide(read, hash, partition, state, periods);
      }
      return resultInCurrent(this.registry, read, periods.bounds, { status: known ? DUPLICATE : CAPPED, used, seq: 0 });
    });
  }

  private decide(
    read: CheckedRead,
    hash: number,
    partition: number,
    state: string,
    periods: Periods,
  ): Promise<RecordResult> {
    const { rule, itemId } = read;
    const { current, gapMs: gap } = periods;
    const token = this.token();
    const args = { itemId, grant: `${rule.pointsPerItem}::${token}`, limit: rule.maxItems, gap, current };
    return this.registry.run(recordRead, { keys: { state }, args }).then((counted) => {
      if (counted.status === 0)
        return this.sendUntilInside(read, periods, (now) => this.sendFully(read, partition, state, now, token));
      this.cappedUsers.note(hash, periods.mark, counted.used > 0 && counted.used >= rule.maxItems);
      return resultInCurrent(this.registry, read, periods.bounds, counted);
    });
  }

  private sendFully(
    read: CheckedRead,
    partition: number,
    state: string,
    now: Periods,
    token: string,
  ): Promise<Recorded> {
    const { rule, userId, itemId, operationId } = read;
    const { ledgerMs, operationRetentionMs } = this.options;
    const ever = rule.dedupe === 'ever';
    // The script always gets four keys. Keys that this call does not need are replaced by the key of the state, because Redis checks the
    // permissions for all keys.
    return this.registry.run(recordFully, {
      keys: {
        state,
        ever: ever ? this.keys.key(partition, 'ever', rule.name, userId) : state,
        answer: operationId === undefined ? state : this.keys.key(partition, 'answer', rule.name, userId, operationId),
        ledger: ledgerMs === 0 ? state : (this.keys.ledgers[partition] as string),
      },
      args: {
        itemId,
        token,
        rule: now.rule,
        everMs: ever ? rule.retentionMs : 0,
        answerMs: operationId === undefined ? 0 : operationRetentionMs,
        ledgerMs,
        name: ledgerMs === 0 ? '' : rule.name,
        userId: ledgerMs === 0 ? '' : userId,
      },
    });
  }

  private async sendUntilInside(
    read: CheckedRead,
    periods: Periods,
    send: (now: Periods) => Promise<Recorded>,
  ): Promise<RecordResult> {
    const answer = await send(periods);
    if (answer.status === 'outside') return this.sendAgain(read, periods, answer, send);
    return resultOf(this.registry, read, periods.bounds, answer, answer.status);
  }

  /** Sends a call again, up to MAX_TRIES - 1 times, each time with the periods around the time that Redis has returned. */
  private async sendAgain(
    read: CheckedRead,
    sent: Periods,
    outside: Recorded,
    send: (now: Periods) => Promise<Recorded>,
  ): Promise<RecordResult> {
    const { rule, timeZone } = read;
    let [periods, answer] = [sent, outside];
    for (let left = MAX_TRIES; left > 1; left--) {
      synchronize(this.clock, rule, periods.bounds[1] + answer.end);
      periods = this.clock.around(rule, timeZone);
      answer = await send(periods);
      if (answer.status !== 'outside') return resultOf(this.registry, read, periods.bounds, answer, answer.status);
    }
    throw periodMissed(rule);
  }
}

function resultOf(
  registry: ScriptRegistry,
  { rule, userId }: CheckedRead,
  bounds: Bounds,
  { points, used, remaining, seq, start, end, itemId }: Recorded,
  status: RecordStatus,
): RecordResult {
  publishRecorded(registry, rule, status, points);
  const grantId = seq === 0 ? null : grantIdOf(rule.name, bounds[1] + start, seq, userId, itemId);
  return { status, points, used, remaining, resetsAtMs: endOrNull(bounds[1] + end), grantId };
}

/** Returns the result of a read in the current period, which the script `record` or `look` has decided. */
function resultInCurrent(
  registry: ScriptRegistry,
  { rule, userId, itemId }: CheckedRead,
  bounds: Bounds,
  { status: code, used, seq }: Counted,
): RecordResult {
  const status = STATUSES[code] as RecordStatus;
  const points = seq === 0 ? 0 : rule.pointsPerItem;
  publishRecorded(registry, rule, status, points);
  return {
    status,
    points,
    used,
    remaining: used < rule.maxItems ? rule.maxItems - used : 0,
    resetsAtMs: bounds[2],
    grantId: seq === 0 ? null : grantIdOf(rule.name, bounds[1], seq, userId, itemId),
  };
}

function publishRecorded(
  registry: ScriptRegistry,
  rule: ResolvedRewardRule,
  status: RecordStatus,
  points: number,
): void {
  // Without subscribers, this check saves creating a function per call.
  if (!events.readRecorded.hasSubscribers) return;
  events.readRecorded.publish(() => ({ rule: rule.name, status, points }), registry);
}

/** Corrects the estimate of Redis' clock, and publishes `periodMissed`. Called if Redis' clock was outside the periods of a call. */
export function synchronize(clock: RewardClock, rule: ResolvedRewardRule, redisNowMs: number): void {
  const skewMs = clock.synchronize(redisNowMs);
  events.periodMissed.publish(() => ({ rule: rule.name, skewMs }));
}

export function endOrNull(endMs: number): number | null {
  return endMs >= END_OF_TIME_MS ? null : endMs;
}

export function periodMissed(rule: ResolvedRewardRule): PeriodMissedError {
  return new PeriodMissedError(
    `ReadRewardService: Nothing was granted for rule "${rule.name}", because the clock of Redis differs from that of this app by more ` +
      `than a period, ${MAX_TRIES} times in a row. Correct the clocks of the Redis nodes and of this machine, then repeat the call.`,
  );
}
