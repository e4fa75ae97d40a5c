import { Injectable } from '@nestjs/common';
import type { AuditResult } from 'luanest/red-packet';

/** A number of packets and their sum. */
type Amount = AuditResult['total'];
import { defineScript, int, ScriptRegistry, str } from 'luanest/script-registry';

/** Result of one count of the packets of a rain (a red-packet activity of this app): in the pool, won, refunded and paid. */
export interface CountRecord {
  /** Time of the count, ms since 1970, by the clock of the process that counted. */
  readonly atMs: number;
  /** Process that counted, `<host>:<pid>`. */
  readonly node: string;
  /** Fencing token of the lock under which the records were counted. */
  readonly fence: number;
  /** Duration of the count, ms. */
  readonly tookMs: number;
  readonly ok: boolean;
  /** True if nothing changed during the count. Records and counters are compared only then. */
  readonly quiet: boolean;
  /** Differences, in words; the first 20. */
  readonly problems: readonly string[];
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** Payouts in the ledger; undefined if the ledger was not read. */
  readonly paid: Amount | undefined;
  /** Payouts in the outbox (the stream of packets that are won and not paid yet). */
  readonly outboxRows: number;
}

// See DECISIONS.md: count-noted-under-its-fence
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
  group: false,
  reply: (noted: number) => noted === 1,
});

const readCount = defineScript({
  name: 'app.read-count',
  keys: ['count'],
  args: {},
  source: `return redis.call('HGET', KEYS[1], 'record') or ''`,
  group: false,
  reply: (record: string) => record,
});

export const countScripts = [noteCount, readCount] as const;

const KEPT_MS = 7 * 86_400_000;

/** Stores the last count of each rain in Redis for seven days, so that every process can show it. */
@Injectable()
export class CountRecords {
  constructor(private readonly registry: ScriptRegistry) {}

  /** Stores a count. Returns false, and changes nothing, if the stored count has a higher fencing token. */
  note(activityKey: string, record: CountRecord): Promise<boolean> {
    const args = { fence: record.fence, record: JSON.stringify(record), keptMs: KEPT_MS };
    return this.registry.run(noteCount, { keys: this.keys(activityKey), args });
  }

  async last(activityKey: string): Promise<CountRecord | undefined> {
    const text = await this.registry.run(readCount, { keys: this.keys(activityKey), args: {} });
    return text === '' ? undefined : (JSON.parse(text) as CountRecord);
  }

  private keys(activityKey: string): { count: string } {
    return { count: this.registry.keySpace('app').tag(activityKey).key('count') };
  }
}
