import { randomUUID } from 'node:crypto';
import type { ScriptRegistry } from 'luanest/script-registry';
import { beginAction, endAction, listActions, type StoredAction } from './console.scripts';
import type { Sentence, Target } from './console.types';

const KEEP = 1_000;
const RETENTION_MS = 30 * 86_400_000;
/** Length of a text in an entry, such as an input of the action. */
const MAX_TEXT_CHARS = 500;

/** Person, action and target. */
export interface Begin {
  readonly actor: string;
  readonly section: string;
  readonly action: string;
  readonly target: Target;
  readonly input?: Readonly<Record<string, string | number>>;
}

/** Result of an action. */
export interface End {
  readonly result: 'done' | 'refused' | 'failed';
  readonly count?: number;
  readonly refused?: Sentence;
  /** Text of the error of an action that failed. */
  readonly message?: string;
}

/** An entry of the log. `started`: the action runs, or the process ended before it wrote what came out. */
export type LogEntry = { readonly atMs: number } & Begin & (End | { readonly result: 'started' });

export interface LogPage {
  readonly items: readonly LogEntry[];
  readonly nextCursor?: string;
}

/** Log of actions in Redis, with the 1,000 newest entries of the last 30 days. See DECISIONS.md: logged-before-and-after */
export class ActionLog {
  private readonly keys: { readonly order: string; readonly entries: string };

  constructor(private readonly registry: ScriptRegistry) {
    const keys = registry.keySpace('console').tag('log');
    this.keys = { order: keys.key('order'), entries: keys.key('entries') };
  }

  /**
   * Writes down an action before it runs.
   *
   * @returns a function that writes down what came out
   * @throws errors of ScriptRegistry.run
   */
  async begin(entry: Begin): Promise<(end: End) => Promise<boolean>> {
    const token = randomUUID();
    const text = JSON.stringify(entry, shortened);
    await this.registry.run(beginAction, {
      keys: this.keys,
      args: { token, text, keep: KEEP, retentionMs: RETENTION_MS },
    });
    return (end) =>
      this.registry.run(endAction, { keys: this.keys, args: { token, text: JSON.stringify(end, shortened) } });
  }

  /** Reads a page, the newest entries first. @param cursor `nextCursor` of the page before; '' for the first page */
  async list(cursor: string, limit: number): Promise<LogPage> {
    const found = await this.registry.run(listActions, { keys: this.keys, args: { beforeUs: cursor, limit } });
    const nextCursor = found.length === limit ? found.at(-1)?.atUs : undefined;
    return { items: found.map(entryOf), ...(nextCursor !== undefined && { nextCursor }) };
  }

  /** Returns a text that differs if an action was begun or has ended since. */
  async newest(): Promise<string> {
    const [newest] = await this.registry.run(listActions, { keys: this.keys, args: { beforeUs: '', limit: 1 } });
    return newest === undefined ? '' : newest.atUs + newest.end;
  }
}

function entryOf({ atUs, begin, end }: StoredAction): LogEntry {
  const outcome = end === '' ? { result: 'started' } : (JSON.parse(end) as End);
  return { atMs: Math.floor(Number(atUs) / 1_000), ...(JSON.parse(begin) as Begin), ...outcome } as LogEntry;
}

function shortened(_name: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > MAX_TEXT_CHARS ? `${value.slice(0, MAX_TEXT_CHARS)}…` : value;
}
