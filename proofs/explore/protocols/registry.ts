import { defineScript, str } from 'luanest/script-registry';
import { Call } from '../../../libs/script-registry/src/pipe/call';
import { ScriptCodec } from '../../../libs/script-registry/src/pipe/script-codec';
import { RedisError } from '../../../libs/memory-redis/src/reply';
import type { Actors, Budgets, Move, Protocol, Step } from '../engine/protocol';
import { settle, type World } from '../engine/world';

/** As many tries as a runner has. The last one is an EVAL. */
const MAX_TRIES = 3;
const KEYS = { count: 'e:{c}:count', log: 'e:{c}:log' };
const script = defineScript({
  name: 'explore.count',
  source: `if ARGV[1] == 'bad' then return redis.error_reply('BADCALL this call changes nothing') end
local n = redis.call('INCR', KEYS[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return { n, ARGV[1] }`,
  keys: ['count', 'log'],
  args: { name: str },
  group: { maxCalls: 3 },
  reply: ([n, name]: [number, string]) => ({ n, name }),
});
const codec = new ScriptCodec(script, true);

type Outcome = 'idle' | 'waiting' | 'sent' | 'done' | 'failed' | 'unknown';

export interface RegistryState extends Actors {
  budgets: Budgets & { flush?: number };
  /** Outcome of each call, by its argument. */
  calls: Record<string, Outcome>;
  /** Number that each call got. */
  numbers: Record<string, number>;
  waiting: string[];
  /** Calls in flight, and the tries that are left. */
  group: { names: string[]; tries: number; mustLoad: boolean } | undefined;
  /** Forms that the server has, by the number of calls: alone, group. */
  loaded: [boolean, boolean];
}

function formOf(calls: number): { body: string; sha: string } {
  return codec.formFor(calls);
}

/** The digest of a state does not include the scripts of the server, so they are set here to those of the state. */
function setScripts(world: World, { loaded }: RegistryState): void {
  const { scripts } = world.redis.server;
  scripts.flush();
  loaded.forEach((isLoaded, index) => isLoaded && scripts.load(formOf(index + 1).body));
}

function send(state: RegistryState, world: World): { reply: unknown; calls: Call[] } {
  const { names, tries } = state.group as NonNullable<RegistryState['group']>;
  const calls = names.map((name) => {
    const succeed = ({ n, name: echoed }: { n: number; name: string }): void => {
      if (echoed !== name) state.wrong = `The call ${name} got the result of ${echoed}.`;
      state.calls[name] = 'done';
      state.numbers[name] = n;
    };
    const call = new Call(script, 0, undefined, succeed, () => void (state.calls[name] = 'failed'));
    codec.encode(call, { keys: KEYS, args: { name } });
    return call;
  });
  const isLast = tries === 1;
  setScripts(world, state);
  const words = codec.command(calls, isLast).map(String);
  const reply = world.command(isLast ? 'EVAL' : 'EVALSHA', ...words);
  // EVAL loads the script, too.
  if (isLast) state.loaded[names.length === 1 ? 0 : 1] = true;
  return { reply, calls };
}

function receive(state: RegistryState, world: World): void {
  const { reply, calls } = send(state, world);
  const group = state.group as NonNullable<RegistryState['group']>;
  // Nothing ran: the scripts are loaded, and the group is sent again.
  if (reply instanceof RedisError && reply.message.startsWith('NOSCRIPT')) {
    Object.assign(group, { tries: group.tries - 1, mustLoad: true });
    return;
  }
  settle(codec, calls, reply);
  state.group = undefined;
}

function stepsOf(state: RegistryState): Step<RegistryState>[] {
  const steps = Object.keys(state.calls)
    .filter((name) => state.calls[name] === 'idle')
    .map((name): Step<RegistryState> => ({
      actor: name,
      name: 'call',
      done: (to) => {
        to.calls[name] = 'waiting';
        to.waiting.push(name);
      },
    }));
  const { group, waiting } = state;
  if (group === undefined && waiting.length > 0) {
    const begin = (to: RegistryState): void => {
      const names = to.waiting.splice(0, codec.maxCalls);
      for (const name of names) to.calls[name] = 'sent';
      to.group = { names, tries: MAX_TRIES, mustLoad: false };
    };
    steps.push({
      actor: 'runner',
      name: `make a group of ${Math.min(waiting.length, codec.maxCalls)}`,
      done: begin,
    });
  }
  if (group?.mustLoad === true) {
    const load = (to: RegistryState, _reply: never, world: World): void => {
      setScripts(world, to);
      for (const { body } of codec.forms) world.command('SCRIPT', 'LOAD', body);
      to.loaded = [true, true];
      (to.group as NonNullable<RegistryState['group']>).mustLoad = false;
    };
    steps.push({ actor: 'runner', name: 'load the scripts', done: load });
  } else if (group !== undefined) {
    steps.push({ actor: 'runner', name: 'send the group', done: (to, _reply, world) => receive(to, world) });
  }
  return steps;
}

function movesOf({ group, budgets }: RegistryState): Move<RegistryState>[] {
  const moves: Move<RegistryState>[] = [];
  if ((budgets.flush ?? 0) > 0) {
    moves.push({
      name: 'a stranger flushes the scripts',
      run: (world, next) => {
        next.budgets.flush = (next.budgets.flush ?? 0) - 1;
        setScripts(world, next);
        world.command('SCRIPT', 'FLUSH');
        next.loaded = [false, false];
      },
    });
  }
  if (group !== undefined && !group.mustLoad && (budgets.lost ?? 0) > 0) {
    moves.push({
      name: 'runner: send the group, and the connection is lost',
      run: (world, next) => {
        next.budgets.lost = (next.budgets.lost ?? 0) - 1;
        send(next, world);
        for (const name of group.names) next.calls[name] = 'unknown';
        next.group = undefined;
      },
    });
  }
  return moves;
}

const logOf = (world: World): string[] => world.read('LRANGE', KEYS.log, '0', '-1') as string[];

export function registry(
  scenario: string,
  names: readonly string[],
  budgets: RegistryState['budgets'],
): Protocol<RegistryState> {
  return {
    name: 'registry',
    scenario,
    depth: 30,
    about: `Calls of one script wait, are sent as one group, and get their results; a group that finds no script loads it and is \
sent again, at last as EVAL. Forms, commands and results are those of the library. The model begins where a Lane decides \
to send, to load and to send again. Redirections need a Cluster, which the in-memory server is not: they are not explored.`,
    begin: (world) => {
      world.command('SCRIPT', 'FLUSH');
      return {
        budgets: { ...budgets },
        late: [],
        disturbed: false,
        calls: Object.fromEntries(names.map((name): [string, Outcome] => [name, 'idle'])),
        numbers: {},
        waiting: [],
        group: undefined,
        loaded: [false, false],
      };
    },
    steps: stepsOf,
    moves: movesOf,
    invariants: [
      {
        words:
          'No call runs twice. A call that has a result ran, and its number is its position; one that failed did not.',
        broken: ({ calls, numbers }, world) => {
          const log = logOf(world);
          const twice = log.find((name, index) => log.indexOf(name) < index);
          if (twice !== undefined) return `${twice} ran twice.`;
          for (const [name, outcome] of Object.entries(calls)) {
            if (outcome === 'done' && log[(numbers[name] ?? 0) - 1] !== name)
              return `${name} has the number ${numbers[name]}.`;
            if (outcome === 'failed' && log.includes(name)) return `${name} failed, and ran.`;
            if (outcome === 'failed' && name !== 'bad') return `${name} failed because of another call.`;
            if ((outcome === 'idle' || outcome === 'waiting') && log.includes(name))
              return `${name} ran before it was sent.`;
          }
          return undefined;
        },
      },
      {
        words: 'The count is the number of calls that ran.',
        broken: (_state, world) => {
          const log = logOf(world);
          return world.read('GET', KEYS.count) === null || Number(world.read('GET', KEYS.count)) === log.length
            ? undefined
            : `${log.length} calls ran.`;
        },
      },
    ],
    unsettled: ({ calls }) => {
      const open = Object.entries(calls).find(([, outcome]) => ['idle', 'waiting', 'sent'].includes(outcome));
      return open && `The call ${open[0]} is ${open[1]}.`;
    },
  };
}

export const registryScenarios = [registry('groups and heals', ['a', 'b', 'c', 'bad', 'd'], { flush: 4, lost: 2 })];
