import { ConsoleLogger, Logger } from '@nestjs/common';
import { LuanestError, InvalidInputError } from 'luanest/script-registry';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { eventually } from '../../../test/support/wait';
import { resolveOptions } from '../src/stream-consumer.options';
import { define, group, openBench, servers } from './support';

const CONTROL = /\p{Cc}/u;
const IDS = HOSTILE_IDS.filter((id) => !CONTROL.test(id));

describe.each(servers)('messages of strangers, on %s', (_name, connect) => {
  it('with hostile keys and operation ids are different messages, and keep both', async () => {
    const bench = await openBench(connect());
    const seen = new Map<string, unknown>();
    const ordered = group('any', 'g', { ordered: true });
    const handle = await bench.streams.handle(ordered, ({ key, operationId, payload }) => {
      seen.set(JSON.stringify([key, operationId]), payload);
    });
    const payload = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    ) as object;
    for (const repeat of [false, true]) {
      const sent = await Promise.all(
        IDS.map((id) => bench.streams.publish('any', payload, { key: id, operationId: id })),
      );
      expect(sent.map((each) => each.status === 'published' && each.replayed)).toEqual(IDS.map(() => repeat));
    }
    await eventually(() => expect([...seen.keys()].sort()).toEqual(IDS.map((id) => JSON.stringify([id, id])).sort()));
    for (const each of seen.values()) {
      expect(JSON.stringify(each)).toBe(JSON.stringify(payload));
      expect((each as { polluted?: boolean }).polluted).toBeUndefined();
    }
    expect(isPolluted()).toBe(false);
    await handle.stop();
    await bench.close();
  });

  it('that another program writes bring no names that all objects have', async () => {
    const bench = await openBench(connect());
    const key = `${bench.prefix}-foreign`;
    define(bench.streams, { name: 'foreign', keys: [key], deleteAfter: ['g'] });
    await bench.raw.xadd(key, '*', '__proto__', '{"polluted":true}', 'constructor', 'x', 'luanest', '"}\n{"a\0');
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group('foreign', 'g'), ({ payload }) => void seen.push(payload));
    await eventually(() => expect(seen).toHaveLength(1));
    expect(Object.entries(seen[0] as object)).toEqual([
      ['__proto__', '{"polluted":true}'],
      ['constructor', 'x'],
      ['luanest', '"}\n{"a\0'],
    ]);
    expect(Object.getPrototypeOf(seen[0])).toBe(Object.prototype);
    expect(isPolluted()).toBe(false);
    await handle.stop();
    await bench.raw.del(key);
    await bench.close();
  });

  it('are refused where they can be none, in one short line and before anything is sent', async () => {
    const bench = await openBench(connect());
    const control = HOSTILE_IDS.filter((id) => CONTROL.test(id));
    const refusalOf = async (call: () => Promise<unknown>): Promise<string> => {
      const error = await (async () => call())().then(
        () => 'nothing',
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(LuanestError);
      return (error as Error).message;
    };
    for (const value of [...IMPOSSIBLE_IDS, ...control, ...hostileValues()] as string[]) {
      const messages = [
        await refusalOf(() => bench.streams.publish('any', 1, { key: value })),
        await refusalOf(() => bench.streams.publish('any', 1, { operationId: value })),
        await refusalOf(() => bench.streams.publish(value, 1)),
        await refusalOf(() => bench.streams.drop('any', 'g', [value])),
        await refusalOf(() => bench.streams.deadLetters('any', 'g', { cursor: value })),
      ];
      for (const message of messages) expect(message).toMatch(/^[^\p{Cc}]{1,400}$/u);
    }
    await bench.close();
  });

  it('name no partition and no entry that there cannot be', async () => {
    const bench = await openBench(connect());
    const key = `${bench.prefix}-few`;
    define(bench.streams, { name: 'few', keys: [key], deleteAfter: ['g'] });
    for (const id of [
      '0:99999999999999999999-0',
      '0:1-18446744073709551616',
      `0:${'1'.repeat(400)}-1`,
      '99999:1-1',
      '-1:1-1',
    ]) {
      await expect(bench.streams.replay('few', 'g', [id])).rejects.toThrow(InvalidInputError);
      await expect(bench.streams.deadLetters('few', 'g', { cursor: id })).rejects.toThrow(InvalidInputError);
    }
    // A stream with keys has one partition for each key: a higher index is not one of luanest's own partitions.
    const own = bench.keys('few', 'g', 7);
    await bench.raw.xadd(own.dead, '1-1', 'payload', '1', 'id', '1-1');
    expect(await bench.streams.replay('few', 'g', ['7:1-1'])).toBe(0);
    expect(await bench.streams.drop('few', 'g', ['7:1-1'])).toBe(0);
    expect(await bench.raw.xlen(own.dead)).toBe(1);
    await bench.raw.del(own.dead);
    await bench.close();
  });
});

it('logs hold no payload, and nobody’s words on a line of their own', async () => {
  const lines: string[] = [];
  const logger = new ConsoleLogger();
  for (const level of ['log', 'warn', 'error', 'debug', 'verbose'] as const) {
    jest.spyOn(logger, level).mockImplementation((...[message]: unknown[]) => void lines.push(String(message)));
  }
  Logger.overrideLogger(logger);
  const [, connect] = servers[0] as (typeof servers)[number];
  const bench = await openBench(connect(), { attempts: 2 });
  try {
    await bench.raw.xadd(bench.keys('any', 'g').stream, '*', 'payload', '{"password":"hunter2"');
    await bench.streams.publish('any', { password: 'hunter2' }, { key: 'user-hunter2' });
    const handle = await bench.streams.handle(group('any', 'g'), () => {
      throw new Error('cannot reach ann\r\nFATAL forged\u2028line');
    });
    await eventually(async () => expect((await bench.streams.deadLetters('any', 'g')).items).toHaveLength(2));
    await handle.stop();
  } finally {
    await bench.close();
    Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));
  }
  expect(lines.filter((line) => line.includes('is a dead letter'))).toHaveLength(2);
  expect(lines.join()).not.toMatch(/cannot reach|forged/);
  for (const line of lines) {
    expect(line).not.toContain('hunter2');
    expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  }
});

it('options of any kind are taken or refused by name, and change no other object', () => {
  for (const option of Object.keys(resolveOptions({}))) {
    for (const value of hostileValues()) {
      try {
        resolveOptions({ [option]: value });
      } catch (error) {
        expect([option, error]).toEqual([option, expect.any(LuanestError)]);
      }
    }
  }
  expect(isPolluted()).toBe(false);
});
