import { CONSOLE, messageOf, NotSentError, SetupError } from '../../../internal/src';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { ListQuery, Sentence } from '../console.types';
import { say } from './sentences';

/** A master of Redis, as ScriptRegistry describes it to the console. */
export type Master = ReturnType<ReturnType<ScriptRegistry[typeof CONSOLE]>['nodes']>[number];

/** Maximum number of keys that one SCAN visits, so that one SCAN blocks Redis for less than a millisecond. */
const MOST_PER_SCAN = 500;
/** Maximum number of keys that all SCANs for one page visit: about 2 ms of work for Redis. See DECISIONS.md: pages-of-a-scan */
const MOST_PER_PAGE = 5_000;
/** A page also ends after this share of `mostVisited` matching keys (1,000 of 5,000 keys), because the value of each is read as well. */
const SHARE_READ = 1 / 5;
/** Maximum number of keys that a search visits: about 40 ms of work for Redis, in steps of less than 1 ms. */
export const MOST_OF_SEARCH = 100_000;

export interface ScanPage<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; undefined if this is the last page. */
  readonly nextCursor?: string;
}

/**
 * Reads one page of the keys that match a pattern. Scans the masters one after the other. A page may be short or empty although more pages
 * follow, because many keys in Redis may not match. A key that exists during the whole scan is on at least one page.
 *
 * @param pattern pattern for MATCH; its fixed parts come from `globOf`
 * @param mostVisited maximum number of keys that the SCANs visit; default 5,000, for a page of a list
 * @param read reads the items of the keys that one SCAN found; may return no item for a key
 */
export async function scanPage<T>(
  registry: ScriptRegistry,
  pattern: string,
  {
    cursor = '|0',
    limit,
    mostVisited = MOST_PER_PAGE,
  }: Pick<ListQuery, 'cursor' | 'limit'> & { readonly mostVisited?: number },
  read: (keys: readonly string[], node: Master) => Promise<readonly T[]>,
): Promise<ScanPage<T>> {
  const [, from = '', begun = '0'] = /^(.*)\|(\d{1,20})$/s.exec(cursor) ?? [];
  const masters = registry[CONSOLE]()
    .nodes()
    .filter(({ role }) => role === 'master')
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .filter(({ id }) => id >= from);
  const items: T[] = [];
  let [visited, matched, count] = [0, 0, Math.min(limit, MOST_PER_SCAN)];
  for (const node of masters) {
    let at = node.id === from ? begun : '0';
    do {
      const full = items.length >= limit || visited >= mostVisited || matched >= mostVisited * SHARE_READ;
      if (full) return { items, nextCursor: `${node.id}|${at}` };
      const reply = await ask(node, 'SCAN', [at, 'MATCH', pattern, 'COUNT', String(count)]);
      const [next, keys] = reply as [Buffer, Buffer[]];
      at = String(next);
      visited += count;
      matched += keys.length;
      if (keys.length > 0) items.push(...(await read(keys.map(String), node)));
      // Estimates how many more keys must be visited until the page is full, from the share of items among the keys visited so far.
      const missing = (visited / Math.max(items.length, 1)) * (limit - items.length);
      count = Math.max(10, Math.min(MOST_PER_SCAN, Math.ceil(missing)));
    } while (at !== '0');
  }
  return { items };
}

/**
 * Sends a command that only reads. Scripts are not sent in this way.
 *
 * @throws SetupError if the Redis user may not send the command; NotSentError for any other failure
 */
export async function ask(node: Master, command: string, args: readonly string[]): Promise<unknown> {
  try {
    return await node.send(command, [...args]);
  } catch (cause) {
    const reason = messageOf(cause);
    if (!reason.startsWith('NOPERM')) throw new NotSentError(`${command} on ${node.id} failed: ${reason}`, { cause });
    const allow = `+${command.toLowerCase()}`;
    throw new SetupError(
      `The console needs ${command}, which the Redis user may not run. Allow this command: ACL SETUSER <user> ${allow}.`,
      { cause },
    );
  }
}

/** Returns a pattern for MATCH that matches only this text. */
export function globOf(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

/** Returns the original text of a part of a key. KeySpace escapes some characters in keys. */
export function unescaped(part: string): string {
  return part.replace(/%(25|7B|7D|3A)/g, (escaped) => decodeURIComponent(escaped));
}

/**
 * Returns a pattern that matches the keys `<prefix>:<lib>:{<tag>}:<name>` of all tags, and a function that returns the tag of such a key.
 *
 * @param name last part of the keys, such as `lock`
 */
export function taggedKeys(
  registry: ScriptRegistry,
  lib: string,
  name: string,
): { readonly pattern: string; readonly tagOf: (key: string) => string } {
  const [start, end] = [`${registry[CONSOLE]().prefix}:${lib}:{`, `}:${name}`];
  return {
    pattern: `${globOf(start)}*${end}`,
    tagOf: (key) => unescaped(key.slice(start.length, -end.length)),
  };
}

/** Returns a sentence if a page of a scan is not full although more pages follow; otherwise an empty list. */
export function scanSentences(rows: readonly unknown[], nextCursor: string | undefined, limit: number): Sentence[] {
  return nextCursor === undefined || rows.length >= limit ? [] : [say('scan-goes-on')];
}
