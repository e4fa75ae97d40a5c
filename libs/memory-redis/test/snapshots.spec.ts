import { ManualClock } from '../src/clock';
import { MemoryRedis, type Snapshot } from '../src/memory-redis';
import { dumpCommands } from './dump-commands';
import { Random } from './random';
import { RandomCommands } from './random-commands';

const NOW = 1_800_000_000_000;

let clock: ManualClock;
let memory: MemoryRedis;

beforeEach(() => {
  clock = new ManualClock(NOW);
  memory = new MemoryRedis({ clock });
});

function tryRun([command = '', ...args]: readonly string[]): unknown {
  try {
    return memory.run(command, args);
  } catch (error) {
    return String(error);
  }
}

/** Returns all that can be seen, and the times of consumers, which only DUMP has. */
function contents(): string {
  const keys = memory.run('KEYS', ['*']) as string[];
  const rows = [...dumpCommands(), ...keys.map((key) => ['DUMP', key])].map((words) => {
    const reply = JSON.stringify(tryRun(words));
    // Hashes and sets have no order.
    return /^(?:HGETALL|SMEMBERS)$/.test(words[0] ?? '') ? [...reply].sort().join('') : reply;
  });
  return rows.join('\n');
}

it('returns to any snapshot, in any order', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = new Random(seed);
  const states: { snapshot: Snapshot; contents: string }[] = [];
  for (let step = 0; step < 100; step++) {
    const maker = new RandomCommands(random);
    for (let count = 0; count < 8; count++) tryRun(maker.next());
    states.push({ snapshot: memory.snapshot(), contents: contents() });
    const state = random.pick(states);
    memory.restore(state.snapshot);
    expect({ seed, step, contents: contents() }).toEqual({ seed, step, contents: state.contents });
  }
});

it('dumps equal values alike, however they were made', () => {
  const dumps = (): unknown[] => ['h', 's'].map((key) => memory.run('DUMP', [key]));
  memory.run('HSET', ['h', 'a', 1, 'b', 2]);
  memory.run('SADD', ['s', 'x', 'y']);
  const dumped = dumps();
  memory.run('FLUSHALL');
  memory.run('SADD', ['s', 'y', 'x']);
  memory.run('HSET', ['h', 'b', 2]);
  expect(dumps()).not.toEqual(dumped);
  memory.run('HSET', ['h', 'a', 1]);
  expect(dumps()).toEqual(dumped);
});

it('includes scripts and random choices', () => {
  memory.run('SADD', ['s', ...'abcdefghij']);
  const sha = memory.run('SCRIPT', ['LOAD', 'return 1']) as string;
  const loaded = memory.snapshot();
  memory.run('SCRIPT', ['FLUSH']);
  expect(() => memory.run('EVALSHA', [sha, 0])).toThrow('NOSCRIPT');
  memory.restore(loaded);
  expect(memory.run('EVALSHA', [sha, 0])).toBe(1);
  const later = memory.run('SCRIPT', ['LOAD', 'return 2']) as string;
  memory.restore(loaded);
  expect(memory.run('SCRIPT', ['EXISTS', sha, later])).toEqual([1, 0]);
  const popped = memory.run('SPOP', ['s', 3]);
  memory.restore(loaded);
  expect(memory.run('SPOP', ['s', 3])).toEqual(popped);
});

it('refuses a snapshot of another server', () => {
  const snapshot = new MemoryRedis().snapshot();
  memory.snapshot();
  expect(() => memory.restore(snapshot)).toThrow(RangeError);
});

it('keeps nothing of snapshots that nobody refers to', async () => {
  memory.run('SET', ['a', 'x']);
  const first = memory.snapshot();
  const gone = new WeakRef(later());
  memory.restore(first);
  // Objects that a WeakRef was made of live until the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  const { runInNewContext } = await import('node:vm');
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(gone.deref()).toBeUndefined();

  function later(): object {
    memory.run('SET', ['a', 'y']);
    return memory.snapshot().state.keys;
  }
});
