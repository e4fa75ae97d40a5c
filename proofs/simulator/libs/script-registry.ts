import type { ModuleMetadata } from '@nestjs/common';
import type * as Registry from '../../../libs/script-registry/src';
import type { Fault } from '../engine/plan';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly counters: number;
  readonly largest: number;
}

interface Operation {
  readonly counter: string;
  /** Calls that are made in one tick. */
  readonly calls: number;
  readonly deadlineMs?: number;
  /** True: the call waits for a replica. */
  readonly waits: boolean;
}

/** Adds a call to the list of those that ran. It does not know its own replays, so a second run shows. */
const ADD = `
  if ARGV[1] == 'bad' then return redis.error_reply('REFUSED by the script') end
  return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)`;

/** Checks the promises of the README of script-registry. */
class RegistryModel implements Model<Operation> {
  private readonly calls: { id: string; counter: string; outcome: string; excused: boolean }[] = [];
  private readonly scripts = new WeakMap<object, Registry.ScriptDefinition>();

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {}

  app(member: Member): ModuleMetadata {
    const { ScriptRegistryModule, defineScript, str } = this.lib(member);
    const add = defineScript({
      name: 'test.add',
      keys: ['counter'],
      args: { id: str },
      source: ADD,
      reply: (count: number) => count,
      group: { maxCalls: this.options.largest },
    });
    this.scripts.set(member.process, add);
    return { imports: [ScriptRegistryModule.forFeature([add])] };
  }

  disturbed(fault: Fault): void {
    if (fault.kind !== 'evict' && fault.kind !== 'failover') return;
    for (const call of this.calls) call.excused = true;
  }

  async perform(member: Member, { counter, calls, deadlineMs, waits }: Operation): Promise<void> {
    await Promise.all(Array.from({ length: calls }, () => this.call(member, counter, deadlineMs, waits)));
  }

  settled(): void {
    for (const call of this.calls) this.check(call);
  }

  closed(): void {
    this.settled();
  }

  lives(key: string): boolean {
    return key.includes(':test:');
  }

  private lib(member: Member): typeof Registry {
    return member.load<typeof Registry>('luanest/script-registry');
  }

  private async call(member: Member, counter: string, deadlineMs: number | undefined, waits: boolean): Promise<void> {
    const { world } = this;
    const registry = member.app?.get(this.lib(member).ScriptRegistry) as Registry.ScriptRegistry;
    const script = this.scripts.get(member.process) as Registry.ScriptDefinition<
      readonly ['counter'],
      { id: typeof Registry.str },
      number
    >;
    const id = `c${this.calls.length + 1}`;
    const call = { id, counter, outcome: 'open', excused: false };
    this.calls.push(call);
    const input = { keys: { counter: registry.keySpace('test').tag(counter).key('calls') }, args: { id } };
    const { stoppedUs } = member.process;
    const beganUs = member.nowUs;
    const limit = deadlineMs ?? world.plan.client.deadlineMs;
    const result =
      waits && limit > 60
        ? registry.runAndWait(script, input, { replicas: 1, timeoutMs: 50, deadlineMs: limit })
        : registry.run(script, input, { deadlineMs: limit });
    const outcome = await result.then(() => 'OK', codeOf);
    call.outcome = outcome;
    world.note(member.name, () => `${id} is ${outcome}`);
    const tookMs = (member.nowUs - beganUs - (member.process.stoppedUs - stoppedUs)) / 1_000;
    world.expect(tookMs <= limit + 150, () => `${id} took ${tookMs} ms, at most ${limit} is allowed`);
    const known = ['OK', 'NOT_SENT', 'SCRIPT_REFUSED', 'UNKNOWN_OUTCOME'].includes(outcome);
    world.expect(known, () => `${id} failed with ${outcome}`);
    world.expect(!world.isCalm || outcome === 'OK', () => `nothing is wrong, but ${id} is ${outcome}`);
    this.check(call);
  }

  /** Compares the result of a call with what Redis did. */
  private check({
    id,
    counter,
    outcome,
    excused,
  }: {
    id: string;
    counter: string;
    outcome: string;
    excused: boolean;
  }): void {
    if (excused || outcome === 'open' || outcome === 'UNKNOWN_OUTCOME') return;
    const { resends } = this.world.plan.client;
    const ran = Number(this.world.redis.memory.run('HGET', [`luanest:test:{${counter}}:calls`, id]) ?? 0);
    if (outcome !== 'OK') return this.world.expect(ran === 0, () => `${id} is ${outcome}, but it ran ${ran} times`);
    // ioredis sends a call again if it has lost the reply. Without that, a call that has a result ran once.
    const isRight = ran >= 1 && (ran === 1 || resends);
    this.world.expect(isRight, () => `${id} has a result, but it ran ${ran} times`);
  }
}

export const scriptRegistry: Lib<Settings, Operation> = {
  name: 'script-registry',
  faults: {
    kill: 4,
    close: 3,
    stop: 10,
    cut: 30,
    slow: 8,
    hold: 8,
    refuse: 12,
    flush: 8,
    failover: 2,
    'redis-down': 4,
  },
  together: [['cut', 'refuse'], ['cut', 'flush'], ['cut', 'flush', 'refuse'], ['cut'], ['slow']],
  settings: (random: Random) => ({ counters: random.integer(1, 3), largest: random.magnitude(2, 128) }),
  operation: (random, { counters }) => ({
    counter: `n${random.integer(1, counters)}`,
    calls: random.magnitude(1, 40),
    ...(random.chance(0.4) && { deadlineMs: random.magnitude(5, 2_000) }),
    waits: random.chance(0.15),
  }),
  scaleMs: () => 300,
  settleMs: () => 15_000,
  start: (world, settings) => new RegistryModel(world, settings),
};
