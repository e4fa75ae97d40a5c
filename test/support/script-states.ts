import type { Redis } from 'ioredis';
import type { ScriptDefinition, ScriptRegistry } from 'luanest/script-registry';
import { openRegistry } from '../../libs/script-registry/test/support';
import type { LuaTable } from '../../libs/memory-redis/src/lua/table';
import type { LuaFunction } from '../../libs/memory-redis/src/lua/values';
import { ManualClock } from '../../libs/memory-redis/src/clock';
import { MemoryRedis, type CommandArgument } from '../../libs/memory-redis/src/memory-redis';

/** Time of Redis when a test begins, ms. It stands still, so each script is called in exactly the state that the test made. */
export const NOW = 1_800_000_000_000;
export const NOW_US = NOW * 1_000;

const TAG = 'states:{a}:';

/**
 * A reply, or the code of the error, and then all keys: `{ name: 'value' }`, or `'value | TTL'` with the ms that are left. If
 * messages were published, they are `published`.
 */
export type After = readonly [reply: unknown, keys: Readonly<Record<string, string>>];

/** Returns an object with the same reply for each name, as `withDenied()` and `withOtherTypes()` return them. */
export function each(names: readonly string[], reply: unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, reply]));
}

/** Calls scripts of a lib one by one on an in-memory server whose clock stands still. Opens it for each test of the block. */
export class ScriptStates {
  readonly clock = new ManualClock(NOW);
  private messages: string[] = [];
  private readonly memory = new MemoryRedis({ clock: this.clock });
  /** Commands that Redis refuses to the user of the scripts: 'HSET', or 'HSET state' for one key. */
  private readonly denied = new Set<string>();
  private client: Redis | undefined;
  private listener: Redis | undefined;
  private registry: ScriptRegistry | undefined;

  /** @param channels names of the keys that are channels, too */
  constructor(scripts: readonly ScriptDefinition[], channels: readonly string[] = []) {
    this.checkDenied();
    beforeEach(async () => {
      this.reset();
      this.client = this.memory.client();
      this.registry = await openRegistry(this.client, { prefix: 'states', preload: 'required' }, scripts);
      this.messages = [];
      if (channels.length === 0) return;
      this.listener = this.memory.client();
      this.listener.on('smessage', (_: string, text: string) => this.messages.push(text));
      for (const channel of channels) await this.listener.ssubscribe(TAG + channel);
    });
    afterEach(() => {
      this.registry?.close();
      this.client?.disconnect();
      this.listener?.disconnect();
    });
  }

  /** Runs a command. The first argument is the name of a key. */
  put(command: string, name: string, ...args: CommandArgument[]): unknown {
    return this.memory.run(command, [TAG + name, ...args]);
  }

  /** Runs a command. Words that begin with @ are names of keys. */
  run(command: string, ...args: CommandArgument[]): unknown {
    return this.memory.run(
      command,
      args.map((word) => (typeof word === 'string' && word.startsWith('@') ? TAG + word.slice(1) : word)),
    );
  }

  /** Calls a script. Its keys have the names of its definition, but for those in `names`. */
  call(
    script: ScriptDefinition,
    args: Readonly<Record<string, unknown>>,
    names: Readonly<Record<string, string | readonly string[]>> = {},
  ): Promise<unknown> {
    const keys = Object.fromEntries(
      script.keys.map((declared) => {
        // A list of keys is declared as 'keys[]'.
        const key = declared.replace('[]', '');
        const name = names[key] ?? key;
        return [key, typeof name === 'string' ? TAG + name : name.map((one) => TAG + one)];
      }),
    );
    return (this.registry as ScriptRegistry).run(script, { keys, args } as never);
  }

  /** Waits for a reply, and returns it with the state after it. */
  async after(reply: Promise<unknown>): Promise<After> {
    const settled = await reply.catch(
      (error: Error & { redisCode?: string }) => `error ${error.redisCode ?? error.message}`,
    );
    const published = (await this.published()).join(', ');
    return [settled, published === '' ? this.keys() : { ...this.keys(), published }];
  }

  /** Returns the messages that were published since the last call. */
  async published(): Promise<readonly string[]> {
    // The server sends messages before it answers this.
    await this.listener?.ping();
    const { messages } = this;
    this.messages = [];
    return messages;
  }

  /** Returns all keys. Fields and members are sorted. */
  keys(): Readonly<Record<string, string>> {
    const names = (this.memory.run('KEYS', ['*']) as string[]).sort();
    return Object.fromEntries(
      names.map((name) => {
        const ttl = this.memory.run('PTTL', [name]) as number;
        return [name.replace(TAG, ''), `${this.valueOf(name)}${ttl === -1 ? '' : ` | ${ttl}`}`];
      }),
    );
  }

  /** Returns replies of calls each of which finds one key with a value of another type; and says if the call changed a key. */
  async withOtherTypes(names: readonly string[], setUp: () => void, call: () => Promise<unknown>) {
    return this.each(names, setUp, call, (name) => {
      const type = this.put('TYPE', name);
      this.put('DEL', name);
      if (type === 'list') this.put('HSET', name, 'f', 'v');
      else this.put('RPUSH', name, 'other');
    });
  }

  /** Returns replies of calls for each of which Redis refuses one command to the user; and says if the call changed a key. */
  async withDenied(commands: readonly string[], setUp: () => void, call: () => Promise<unknown>) {
    return this.each(commands, setUp, call, (command) => this.denied.add(command));
  }

  private async each(
    items: readonly string[],
    setUp: () => void,
    call: () => Promise<unknown>,
    change: (item: string) => unknown,
  ): Promise<Record<string, unknown>> {
    const replies: Record<string, unknown> = {};
    for (const item of items) {
      this.reset();
      setUp();
      change(item);
      await this.published();
      const before = this.keys();
      const [reply, keys] = await this.after(call());
      replies[item] = JSON.stringify(before) === JSON.stringify(keys) ? reply : `${String(reply)}, and keys changed`;
    }
    this.denied.clear();
    return replies;
  }

  private reset(): void {
    this.clock.set(NOW);
    this.denied.clear();
    this.memory.run('FLUSHALL');
  }

  /** Lets acl_check_cmd() of the server refuse what is denied. */
  private checkDenied(): void {
    const { runtime } = this.memory.server.scripts as unknown as {
      runtime: { globals: ReadonlyMap<string, LuaTable> };
    };
    const library = runtime.globals.get('redis') as LuaTable;
    const check = library.get('acl_check_cmd') as LuaFunction;
    const isDenied = (command: string, key: string): boolean =>
      this.denied.has(command) || this.denied.has(`${command} ${key.slice(TAG.length)}`);
    library.set('acl_check_cmd', (...words) => {
      const [command = '', key = ''] = words.map(String);
      return check(...words) === true && !isDenied(command, key);
    });
  }

  private valueOf(key: string): string {
    const run = (command: string, ...args: CommandArgument[]): unknown => this.memory.run(command, [key, ...args]);
    const pairs = (flat: unknown, sign: string): string[] =>
      (flat as string[]).flatMap((one, at, all) => (at % 2 === 0 ? [`${one}${sign}${all[at + 1]}`] : []));
    switch (run('TYPE')) {
      case 'string':
        return String(run('GET'));
      case 'hash':
        return pairs(run('HGETALL'), '=').sort().join(', ');
      case 'set':
        return (run('SMEMBERS') as string[]).sort().join(', ');
      case 'zset':
        return pairs(run('ZRANGE', 0, -1, 'WITHSCORES'), '@').join(', ');
      case 'list':
        return (run('LRANGE', 0, -1) as string[]).join(', ');
      default:
        return [
          ...(run('XRANGE', '-', '+') as [string, string[]][]).map(
            ([id, fields]) => `${id} ${pairs(fields, '=').join(' ')}`,
          ),
          ...this.groupsOf(key),
        ].join(', ');
    }
  }

  /** Texts of the groups of a stream: `[name after its last read id; consumer: id x deliveries ...]`. */
  private groupsOf(key: string): string[] {
    const groups = this.memory.run('XINFO', ['GROUPS', key]) as string[][];
    return groups.map((group) => {
      const [name = '', last = ''] = [group[1], group[group.indexOf('last-delivered-id') + 1]];
      const consumers = (this.memory.run('XINFO', ['CONSUMERS', key, name]) as string[][]).map((row) => row[1] ?? '');
      const pending = this.memory.run('XPENDING', [key, name, '-', '+', 1_000]) as [string, string, number, number][];
      const held = consumers.map((consumer) => {
        const ids = pending.filter((row) => row[1] === consumer).map(([id, , , count]) => `${id} x${count}`);
        return `${consumer}: ${ids.join(' ') || '-'}`;
      });
      return `[${[`${name} after ${last}`, ...held].join('; ')}]`;
    });
  }
}
