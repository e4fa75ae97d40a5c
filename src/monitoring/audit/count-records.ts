import { Injectable } from '@nestjs/common';
import type { Amount } from 'luanest/red-packet';
import { defineScript, int, ScriptRegistry, str } from 'luanest/script-registry';

/** What the last count of all records of a rain found. */
export interface CountRecord {
  /** When it was done, ms since the epoch, by the clock of the node that did it. */
  readonly atMs: number;
  readonly node: string;
  /** Fence of the lock under which it was done. */
  readonly fence: number;
  readonly tookMs: number;
  readonly ok: boolean;
  /** Whether nothing changed meanwhile; only then are records and counters compared. */
  readonly quiet: boolean;
  /** What does not add up, in words. */
  readonly problems: readonly string[];
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** Payouts that the ledger has; undefined where it was not asked. */
  readonly paid: Amount | undefined;
  readonly outboxRows: number;
}

/** Notes a count, unless one under a later lock is there: whoever lost the lock has nothing to say any more. */
const noteCount = defineScript({
  name: 'app.note-count',
  keys: ['count'],
  args: { fence: int, record: str, keptMs: int },
  source: `
    local fence = redis.call('HGET', KEYS[1], 'fence')
    if fence and tonumber(fence) > tonumber(ARGV[1]) then return 0 end
    redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'record', ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return 1`,
  reply: (noted: number) => noted === 1,
});

/** Reads the last count; '' for none. */
const readCount = defineScript({
  name: 'app.read-count',
  keys: ['count'],
  args: {},
  source: `return redis.call('HGET', KEYS[1], 'record') or ''`,
  reply: (record: string) => record,
});

export const countScripts = [noteCount, readCount] as const;

const KEPT_MS = 7 * 86_400_000;

/** The last count of each rain, in Redis, so that every process can show it. */
@Injectable()
export class CountRecords {
  constructor(private readonly registry: ScriptRegistry) {}

  /** Notes a count. Answers false when one under a later lock is there. */
  note(activityKey: string, record: CountRecord): Promise<boolean> {
    const args = { fence: record.fence, record: JSON.stringify(record), keptMs: KEPT_MS };
    return this.registry.run(noteCount, { keys: this.keys(activityKey), args });
  }

  /** The last count; undefined for none. */
  async last(activityKey: string): Promise<CountRecord | undefined> {
    const text = await this.registry.run(readCount, { keys: this.keys(activityKey), args: {} });
    return text === '' ? undefined : (JSON.parse(text) as CountRecord);
  }

  private keys(activityKey: string): { count: string } {
    return { count: this.registry.keySpace('app').tag(activityKey).key('count') };
  }
}
