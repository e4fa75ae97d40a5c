import { encode } from '../../../libs/memory-redis/src/resp';
import { typeOfValue, type Value } from '../../../libs/memory-redis/src/values';
import type { Deed, World } from '../engine/world';
import type { Actors } from '../engine/protocol';
import type { Replay } from '../engine/replay';
import type { ClockedRedis } from './clocked-redis';

type Words = readonly string[];

/** Does to a real server what was done to the in-memory one, and compares all replies, and all keys at the end. */
export class Comparison {
  private readonly loaded = new Set<string>();
  private replica: { key: string; expiresAtMs: string; dump: string }[] = [];

  constructor(private readonly real: ClockedRedis) {}

  /** @returns the first difference; undefined if both did the same */
  async difference<State extends Actors>({ deeds, world, moves }: Replay<State>): Promise<string | undefined> {
    await this.real.connection.send([['FLUSHALL']]);
    let batch: (Deed & { kind: 'command' })[] = [];
    const flush = async (): Promise<string | undefined> => {
      const sent = batch;
      batch = [];
      if (sent.length === 0) return undefined;
      this.real.setTime((sent[0] as (typeof sent)[number]).atUs);
      const replies = await this.real.connection.send(sent.map(({ words }) => words));
      for (const [index, { words, reply, move }] of sent.entries()) {
        if (encode(reply, 2) === replies[index]) continue;
        const shown = words.map((word) => (word.length > 80 ? `${word.slice(0, 80)}...` : word)).join(' ');
        return `at "${moves[move - 1] ?? 'the begin'}", ${shown}: ${JSON.stringify(encode(reply, 2))} in memory, ${JSON.stringify(replies[index])} in Redis`;
      }
      return undefined;
    };
    for (const deed of deeds) {
      if (deed.kind === 'command') {
        if (this.isLoaded(deed.words)) continue;
        if (batch.length > 0 && batch[0]?.atUs !== deed.atUs) {
          const problem = await flush();
          if (problem !== undefined) return problem;
        }
        batch.push(deed);
        continue;
      }
      const problem = await flush();
      if (problem !== undefined) return problem;
      await (deed.kind === 'failover' ? this.failOver() : this.stopReplica());
    }
    return (await flush()) ?? this.differentKeys(world);
  }

  /** A server keeps the scripts that it has. */
  private isLoaded(words: Words): boolean {
    if (words[0] === 'SCRIPT' && words[1] === 'FLUSH') this.loaded.clear();
    if (words[0] !== 'SCRIPT' || words[1] !== 'LOAD') return false;
    if (this.loaded.has(words[2] as string)) return true;
    this.loaded.add(words[2] as string);
    return false;
  }

  private async differentKeys(world: World): Promise<string | undefined> {
    this.real.setTime(world.db.nowUs);
    const commands = [['KEYS', '*'], ...world.db.keys().flatMap((key) => readsOf(key, world.db.get(key) as Value))];
    const replies = await this.real.connection.send(commands);
    for (const [index, words] of commands.entries()) {
      const memory = encode(world.reply(words), 2);
      const real = replies[index] ?? '';
      if (memory === real) continue;
      if (/^(?:HGETALL|SMEMBERS|KEYS)$/.test(words[0] as string) && sorted(memory) === sorted(real)) continue;
      return `at the end, ${words.join(' ')}: ${JSON.stringify(memory)} in memory, ${JSON.stringify(real)} in Redis`;
    }
    return undefined;
  }

  private async stopReplica(): Promise<void> {
    const [listed = ''] = await this.real.connection.send([['KEYS', '*']]);
    const keys = bulks(listed);
    const dumps = await this.real.connection.send(
      keys.flatMap((key) => [
        ['PEXPIRETIME', key],
        ['DUMP', key],
      ]),
    );
    this.replica = keys.map((key, index) => ({
      key,
      expiresAtMs: String(Math.max(0, Number((dumps[2 * index] as string).slice(1)))),
      dump: bulks(`*1\r\n${dumps[2 * index + 1]}`)[0] as string,
    }));
  }

  private async failOver(): Promise<void> {
    const restores = this.replica.map(({ key, expiresAtMs, dump }) => ['RESTORE', key, expiresAtMs, dump, 'ABSTTL']);
    await this.real.connection.send([['FLUSHALL'], ...restores]);
  }
}

/** Returns commands that show a key. */
function readsOf(key: string, value: Value): string[][] {
  const expiry = ['PEXPIRETIME', key];
  switch (typeOfValue(value)) {
    case 'string':
      return [expiry, ['GET', key]];
    case 'hash':
      return [expiry, ['HGETALL', key]];
    case 'list':
      return [expiry, ['LRANGE', key, '0', '-1']];
    case 'set':
      return [expiry, ['SMEMBERS', key]];
    case 'zset':
      return [expiry, ['ZRANGE', key, '0', '-1', 'WITHSCORES']];
    case 'stream': {
      const groups = typeof value === 'string' || value.type !== 'stream' ? [] : [...value.groups.keys()];
      return [
        expiry,
        ['XRANGE', key, '-', '+'],
        ['XINFO', 'GROUPS', key],
        ...groups.map((group) => ['XPENDING', key, group, '-', '+', '100']),
      ];
    }
  }
}

function sorted(reply: string): string {
  return bulks(reply).sort().join('\n');
}

/** Returns the texts of an array of texts. */
function bulks(reply: string): string[] {
  const texts: string[] = [];
  for (let at = reply.indexOf('\r\n') + 2; at < reply.length;) {
    const line = reply.indexOf('\r\n', at);
    const length = Number(reply.slice(at + 1, line));
    texts.push(reply.slice(line + 2, line + 2 + length));
    at = line + 4 + length;
  }
  return texts;
}
