import { processClock } from '../src/clock';
import { encode } from '../src/resp';
import { Server } from '../src/server';
import { dumpCommands } from './dump-commands';
import { Random } from './random';
import { RandomCommands } from './random-commands';
import type { RawRedis } from './raw-redis';

const BATCH = 300;
const UNORDERED = /^(?:SMEMBERS|SUNION|SINTER|SDIFF|KEYS)$/i;
const HAS_IDLE = /^(?:XPENDING|XINFO)$/i;

export interface Difference {
  readonly command: readonly string[];
  readonly memory: string;
  readonly real: string;
}

/**
 * Runs the same random commands on a Redis server and on the one in memory, in rounds that begin with no keys. After each
 * round it compares all keys.
 *
 * @returns how many commands it compared, and where the replies differ: at most one difference for each round
 */
export async function compareServers(
  real: RawRedis,
  commands: number,
  seed: number,
): Promise<{ count: number; differences: Difference[] }> {
  const differences: Difference[] = [];
  const random = new Random(seed);
  let count = 0;
  while (count < commands) {
    const maker = new RandomCommands(random);
    const batch = [['FLUSHALL'], ...Array.from({ length: BATCH }, () => maker.next()), ...dumpCommands()];
    const memory = new Server(processClock);
    const session = memory.open(
      () => undefined,
      () => undefined,
    );
    // Half of the rounds with RESP3. HELLO's own reply names the connection.
    const hello = ['HELLO', random.pick(['2', '3'])];
    await real.send([hello]);
    memory.execute(session, hello);
    const replies = batch.map((words) => encode(memory.execute(session, words), session.protocol));
    const expected = await real.send(batch);
    // SORT looks at the errno of an earlier command, too, so it may refuse any number.
    const isRefused = (index: number): boolean =>
      (expected[index] ?? '').includes("scores can't be converted into double");
    // It compares texts up to the first zero byte, and leaves those of a set that are equal there in the order of its hash table.
    const hasTies = (words: readonly string[], reply: string): boolean =>
      words.some((word) => /^SORT/i.test(word)) && words.includes('ALPHA') && reply.includes('\0');
    const isChance = (index: number): boolean => {
      const [words, ours, theirs] = [batch[index] ?? [], replies[index] ?? '', expected[index] ?? ''];
      return isRefused(index) || (hasTies(words, ours + theirs) && words.includes('LIMIT'));
    };
    // If it would have stored its result, the two servers have different keys from then on.
    const until = batch.findIndex(
      (words, index) => words.includes('STORE') && (isRefused(index) || hasTies(words, expected[index] ?? '')),
    );
    const at = batch.slice(0, until < 0 ? undefined : until).findIndex((words, index) => {
      const [ours, theirs] = [replies[index] ?? '', expected[index] ?? ''];
      if (isChance(index)) return false;
      if (hasTies(words, ours + theirs)) return sortedLines(ours) !== sortedLines(theirs);
      return comparable(words, ours) !== comparable(words, theirs);
    });
    if (at >= 0) differences.push({ command: batch[at] ?? [], memory: replies[at] ?? '', real: expected[at] ?? '' });
    count += batch.length;
  }
  return { count, differences };
}

/** Removes from a reply what depends on the time, on chance or on memory. */
function comparable(words: readonly string[], reply: string): string {
  const command = /^EVAL/i.test(words[0] ?? '') ? (words[3] ?? '') : (words[0] ?? '');
  if (/^TTL$/i.test(command)) return reply.replace(/^:\d{9,}/, ':?');
  if (UNORDERED.test(command) || words.includes('nosort')) return sortedLines(reply);
  // A score of -0 is 0 in a small sorted set, but SORT makes Redis keep one as it keeps a large one.
  if (/^Z/i.test(command)) return reply.replace(/\$2\r\n-0\r\n/g, '$$1\r\n0\r\n').replace(/,-0\r\n/g, ',0\r\n');
  if (!HAS_IDLE.test(command)) return reply;
  return reply
    .replace(/(radix-tree-\w+\r\n:)\d+/g, '$1?')
    .replace(/(idle\r\n:)\d+/g, '$1?')
    .replace(/(\*4\r\n\$\d+\r\n\d+-\d+\r\n\$\d+\r\n\w+\r\n:)\d+/g, '$1?');
}

function sortedLines(reply: string): string {
  return reply.split('\r\n').sort().join('\r\n');
}
