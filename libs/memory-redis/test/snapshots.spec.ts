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

/** Returns all that can be seen. */
function contents(): string {
  const rows = dumpCommands().map((words) => {
    const reply = JSON.stringify(tryRun(words));
    // Hashes and sets have no order.
    return /^(?:HGETALL|SMEMBERS)$/.test(words[0] ?? '') ? [...reply].sort().join('') : reply;
  });
  return rows.join('\n');
}

it('returns to any snapshot, in any order, and a digest is equal if and only if the state is', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = new Random(seed);
  const states: { snapshot: Snapshot; digest: string; contents: string }[] = [];
  for (let step = 0; step < 100; step++) {
    const maker = new RandomCommands(random);
    for (let count = 0; count < 8; count++) tryRun(maker.next());
    const digest = memory.digest();
    states.push({ snapshot: memory.snapshot(), digest, contents: contents() });
    const state = random.pick(states);
    memory.restore(state.snapshot);
    expect({ seed, step, digest: memory.digest(), contents: contents() }).toEqual({
      seed,
      step,
      digest: state.digest,
      contents: state.contents,
    });
  }
  for (const one of random.list(300, 300, () => random.pick(states))) {
    const same = random.pick(states);
    // A digest covers a little more than the commands show: times of consumers, and random choices.
    if (one.digest === same.digest) expect({ seed, contents: one.contents }).toEqual({ seed, contents: same.contents });
  }
});

it('gives equal digests to equal states that were reached in another way', () => {
  const before = memory.digest();
  memory.run('HSET', ['h', 'a', 1, 'b', 2]);
  memory.run('SADD', ['s', 'x', 'y']);
  memory.run('PEXPIRE', ['s', 50]);
  const digest = memory.digest();
  memory.run('FLUSHALL');
  expect(memory.digest()).toBe(before);
  memory.run('SADD', ['s', 'y', 'x']);
  memory.run('PEXPIREAT', ['s', NOW + 50]);
  memory.run('HSET', ['h', 'b', 2]);
  expect(memory.digest()).not.toBe(digest);
  memory.run('HSET', ['h', 'a', 1]);
  expect(memory.digest()).toBe(digest);
  memory.run('HSET', ['h', 'a', 2]);
  expect(memory.digest()).not.toBe(digest);
});

it('leaves keys that have expired out of the digest', () => {
  const before = memory.digest();
  memory.run('SET', ['a', 1, 'PX', 10]);
  expect(memory.digest()).not.toBe(before);
  clock.advance(11);
  expect(memory.digest()).toBe(before);
  clock.set(NOW);
  expect(memory.digest()).not.toBe(before);
});

it('includes scripts and random choices', () => {
  memory.run('SADD', ['s', ...'abcdefghij']);
  const sha = memory.run('SCRIPT', ['LOAD', 'return 1']) as string;
  const [loaded, digest] = [memory.snapshot(), memory.digest()];
  memory.run('SCRIPT', ['FLUSH']);
  expect(memory.digest()).not.toBe(digest);
  expect(() => memory.run('EVALSHA', [sha, 0])).toThrow('NOSCRIPT');
  memory.restore(loaded);
  expect(memory.run('EVALSHA', [sha, 0])).toBe(1);
  memory.run('SCRIPT', ['LOAD', 'return 2']);
  memory.restore(loaded);
  expect(memory.digest()).toBe(digest);
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
