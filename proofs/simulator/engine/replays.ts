import { canonicalText } from '../../../libs/memory-redis/src/canonical';
import type { Keyspace } from '../../../libs/memory-redis/src/keyspace';
import { RedisError, type Reply } from '../../../libs/memory-redis/src/reply';

/** Header of a script. */
interface Header {
  readonly name: string;
  /** True if it says "Replay: ... changes nothing": a second run of the same call leaves all keys as they are. */
  readonly isQuiet: boolean;
}

/** Scripts whose calls have an argument of their own each, such as a token. So equal calls are one call that Redis has run twice. */
const OWN_ARGUMENT = new Set(
  'acknowledge bury-payout cancel clear-dead complete confirm-transfer release replay-range reschedule retry settle-payout void-grant'.split(
    ' ',
  ),
);

/** Headers by the SHA1 of their scripts. A script is the same in all runs of this process. */
const headers = new Map<string, Header>();

/** The name of a script that a server has loaded, such as `take`. */
export function nameOfScript(sha: string): string | undefined {
  return headers.get(sha)?.name;
}

/** Checks that calls that Redis runs a second time change nothing, if the header of their script says so. */
export class Replays {
  /** Calls that have succeeded: SHA1, keys and arguments. */
  private readonly ran = new Set<string>();

  /** @param violate called with a script whose second run has changed something */
  constructor(
    private readonly db: Keyspace,
    private readonly violate: (name: string) => void,
  ) {}

  /** Watches a command that runs next. @returns what to call with its reply */
  watch(words: readonly string[]): (reply: Reply) => void {
    const [command = '', first = '', second = ''] = words;
    if (/^script$/i.test(command) && /^load$/i.test(first)) return (reply) => learn(reply, second);
    const header = /^evalsha$/i.test(command) ? headers.get(first) : undefined;
    if (header?.isQuiet !== true) return () => undefined;
    const call = words.join('\n');
    const before = this.ran.has(call) ? this.keysOf(words) : undefined;
    return (reply) => {
      if (reply instanceof RedisError) return;
      this.ran.add(call);
      if (before !== undefined && this.keysOf(words) !== before) this.violate(header.name);
    };
  }

  private keysOf(words: readonly string[]): string {
    const values = words.slice(3, 3 + Number(words[2])).map((key) => this.db.get(key));
    return values.map((value) => (value === undefined ? '' : canonicalText(value))).join('\n');
  }
}

function learn(sha: Reply, source: string): void {
  if (typeof sha !== 'string' || headers.has(sha)) return;
  // Shared code may come before the header. The form of a script that runs several calls at once has the header, too.
  const [, name, text = ''] = /--\[\[\n([\w-]+):([^]*?)\]\]/.exec(source) ?? [];
  if (name === undefined || source.includes('luanest_keys')) return;
  headers.set(sha, { name, isQuiet: OWN_ARGUMENT.has(name) && /Replay:[^.;]*changes\s+nothing/.test(text) });
}
