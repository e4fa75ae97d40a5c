import { randomUUID } from 'node:crypto';
import type { ScriptRegistry } from 'luanest/script-registry';
import { beginAction, endAction, listActions, type StoredAction } from './console.scripts';
import type { Sentence, Target } from './console.types';

const KEEP = 1_000;
const RETENTION_MS = 30 * 86_400_000;
/** Maximum length of a text in an entry, such as an input of the action, in characters. A longer text is cut. */
const MAX_TEXT_CHARS = 500;

/** First part of an entry in the log: the user, the action and its target. Written before the action runs. */
export interface Begin {
  readonly actor: string;
  readonly section: string;
  readonly action: string;
  readonly target: Target;
  readonly input?: Readonly<Record<string, string | number>>;
}

/** Second part of an entry in the log: the result. Written after the action has run. */
export interface End {
  readonly result: 'done' | 'refused' | 'failed';
  readonly count?: number;
  readonly refused?: Sentence;
  /** Message of the error if the action failed. */
  readonly message?: string;
}

/** An entry of the log of actions. The result `started` means that the action still runs, or that its result could not be written. */
export type LogEntry = { readonly atMs: number } & Begin & (End | { readonly result: 'started' });

export interface LogPage {
  readonly items: readonly LogEntry[];
  readonly nextCursor?: string;
}

/** Log of actions in Redis. It keeps the 1,000 newest entries, for up to 30 days. See DECISIONS.md: logged-before-and-after */
export class ActionLog {
  private readonly keys: { readonly order: string; readonly entries: string };

  constructor(private readonly registry: ScriptRegistry) {
    const keys = registry.keySpace('console').tag('log');
    this.keys = { order: keys.key('order'), entries: keys.key('entries') };
  }

  /**
   * Writes an action to the log before it runs.
   *
   * @returns a function that adds the result to this entry
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

  /** Reads a page of the log, newest entries first. @param cursor `nextCursor` of the page before; '' for the first page */
  async list(cursor: string, limit: number): Promise<LogPage> {
    const found = await this.registry.run(listActions, { keys: this.keys, args: { beforeUs: cursor, limit } });
    const nextCursor = found.length === limit ? found.at(-1)?.atUs : undefined;
    return { items: found.map(entryOf), ...(nextCursor !== undefined && { nextCursor }) };
  }

  /** Returns a text about the newest entry. The text changes when any process begins or ends an action. */
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
