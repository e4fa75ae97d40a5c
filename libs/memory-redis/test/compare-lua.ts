import { processClock } from '../src/clock';
import { encode } from '../src/resp';
import { Server } from '../src/server';
import type { Difference } from './compare-servers';
import { Random } from './random';
import { broken, bytesOf } from './broken-lua';
import { RandomLua } from './random-lua';
import type { RawRedis } from './raw-redis';

const BATCH = 100;
/** Addresses of tables and functions differ. */
const ADDRESS = /0x[\da-f]{6,}/g;

/** Opens a server in memory. @returns a function that runs a command and returns the reply in RESP2 */
export function openMemory(protocol: 2 | 3 = 2): { run(command: readonly string[]): string } {
  const memory = new Server(processClock);
  const session = memory.open(
    () => undefined,
    () => undefined,
  );
  return { run: (command) => encode(memory.execute(session, command), protocol) };
}

/** Runs random Lua programs on a Redis server and on the one in memory. @returns where the replies differ */
export async function compareLua(real: RawRedis, programs: number, seed: number): Promise<Difference[]> {
  const random = new Random(seed);
  const lua = new RandomLua(random);
  const memory = openMemory();
  const differences: Difference[] = [];
  for (let count = 0; count < programs; count += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => {
      const source = bytesOf(lua.program());
      // A broken program may not end, so it is only loaded.
      return index % 3 === 0 ? ['SCRIPT', 'LOAD', broken(source, random)] : ['EVAL', source, '0'];
    });
    const runs = batch
      .map((command) => ({ command, ours: memory.run(command) }))
      // A text that doubles again and again: a server would take the memory of the machine for it.
      .filter(({ ours }) => !ours.includes('not enough memory'));
    const expected = await real.send(runs.map(({ command }) => command));
    for (const [index, { command, ours }] of runs.entries()) {
      const theirs = expected[index] ?? '';
      if (comparable(ours) !== comparable(theirs)) differences.push({ command, memory: ours, real: theirs });
    }
    memory.run(['SCRIPT', 'FLUSH']);
    await real.send([['SCRIPT', 'FLUSH']]);
  }
  return differences;
}

function comparable(text: string): string {
  // JavaScript does not show the sign of NaN. See DECISIONS.md: what-differs
  const reply = text.includes('nan') ? text.replaceAll('-nan', 'nan').replace(/\$\d+/g, '$?') : text;
  if (!reply.includes('0x')) return reply;
  // `pairs` goes through keys that are tables or functions in the order of their addresses.
  const sorted = (shown: string, parts: string): string =>
    shown.includes('?=') ? `{${parts.split(',').sort().join()}}` : shown;
  return reply
    .replace(ADDRESS, '?')
    .replace(/\$\d+/g, '$?')
    .replace(/\{([^{}]*)\}/g, sorted);
}
