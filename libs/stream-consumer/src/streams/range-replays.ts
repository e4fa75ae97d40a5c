import type { ScriptRegistry } from 'luanest/script-registry';
import { Checks, InvalidInputError, type KnownOptions, Steps, UniqueIds } from '../../../internal/src';
import type { ReplayRange } from '../stream-consumer.types';
import { LAST_SEQ, LATEST_MS } from './dead-letters';
import type { Partition } from './partitions';
import { MAX_TEXT, OWN_TTL_MS } from './publisher';
import type { Stream } from './stream-catalog';
import { replayRange } from './streams.scripts';

const ENTRIES_A_CALL = 100;
const LAST_ID = `${LAST_SEQ}-${LAST_SEQ}`;
const KNOWN: KnownOptions<ReplayRange> = { fromAtMs: true, beforeAtMs: true, limit: true, operationId: true };
const checks = new Checks('StreamConsumerService.replayRange', (message) => new InvalidInputError(message));

interface Range {
  /** Id of the message before the range. */
  readonly after: string;
  readonly until: string;
  readonly limit: number;
  readonly operationId: string | undefined;
}

/** Checks a range. @throws InvalidInputError */
function rangeOf(range: ReplayRange): Range {
  const { fromAtMs, beforeAtMs, limit, operationId } = checks.options('range', range, KNOWN);
  const where = checks.in('range');
  const fromMs = where.integer('fromAtMs', fromAtMs, 0, LATEST_MS);
  const toMs = beforeAtMs === undefined ? Infinity : where.integer('beforeAtMs', beforeAtMs, 0, LATEST_MS);
  if (toMs <= fromMs) {
    throw checks.error(
      'range.beforeAtMs is not later than range.fromAtMs, so the range has no messages. Set beforeAtMs to a later time.',
    );
  }
  return {
    after: fromMs === 0 ? '0-0' : `${fromMs - 1}-${LAST_SEQ}`,
    until: toMs === Infinity ? LAST_ID : `${toMs - 1}-${LAST_SEQ}`,
    limit: limit === undefined ? Infinity : where.integer('limit', limit, 1, Number.MAX_SAFE_INTEGER),
    operationId: operationId === undefined ? undefined : where.id('operationId', operationId, MAX_TEXT),
  };
}

/** Delivers messages of a time range again to a group that has finished them. */
export class RangeReplays {
  private readonly operationIds = new UniqueIds('r');

  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Publishes the messages of a range again, for one group only, partition by partition, 100 messages per call.
   *
   * @returns the number of messages that all calls with this operation id have published
   * @throws InvalidInputError for an invalid range, and if the stream has no such group; the errors of ScriptRegistry.run()
   */
  async replay(stream: Stream, group: string, given: ReplayRange): Promise<number> {
    const range = rangeOf(given);
    const again =
      range.operationId === undefined
        ? 'Some messages may have been replayed, and a repeat would replay them twice. Pass an operationId next time: then the call ' +
          'can be repeated.'
        : 'Repeat the call with the same operationId: it continues where it ended.';
    const steps = new Steps('StreamConsumerService.replayRange', again);
    // Prefixes keep operation ids apart: g for ids that callers of replayRange give, r for ids that luanest makes for it, and c or p for
    // ids of a publish.
    const isOwn = range.operationId === undefined;
    const operation = isOwn ? this.operationIds.next() : `g${group} ${range.operationId}`;
    const { operationRetentionMs } = stream.options;
    const retainMs = isOwn ? Math.min(operationRetentionMs, OWN_TTL_MS) : operationRetentionMs;
    let [replayed, isThere] = [0, false];
    for (const partition of await steps.read(stream.all())) {
      const limit = range.limit - replayed;
      if (limit <= 0) break;
      const ofPartition = await this.replayPartition(partition, group, { ...range, limit }, operation, retainMs, steps);
      replayed += ofPartition ?? 0;
      isThere ||= ofPartition !== undefined;
    }
    if (!isThere)
      throw checks.error(
        `Stream ${stream.name} has no group ${group}, so nothing was replayed. Correct the name of the group, or start a consumer of it first.`,
      );
    return replayed;
  }

  /** @returns the number of messages that were published again; undefined if this partition has no such group */
  private async replayPartition(
    partition: Partition,
    group: string,
    { after: first, until, limit: most }: Range,
    operation: string,
    retainMs: number,
    steps: Steps,
  ): Promise<number | undefined> {
    const { stream, unsettled, woken } = partition.of(group);
    const keys = { stream, unsettled, woken, operation: partition.operation(operation) };
    const limit = Math.min(most, Number.MAX_SAFE_INTEGER);
    let replayed: number | undefined;
    for (let [after, more] = [first, true]; more;) {
      const args = { group, after, until, size: ENTRIES_A_CALL, limit, retainMs };
      const answer = await steps.one(this.registry.run(replayRange, { keys, args }));
      if (answer.state !== 'no-group') ({ after, replayed } = answer);
      more = answer.state === 'more';
    }
    return replayed;
  }
}
