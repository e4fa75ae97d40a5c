import { inspect } from 'node:util';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { defineScript, int, KeySpace, LuanestError, str } from 'luanest/script-registry';
import { ReplyDecodeError } from '../src/script-registry.errors';
import { oneLine, shown } from '../../internal/src';
import { hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { FIXED } from '../src/script-registry.options';
import { limitCallsInFlight, limiter, openRegistry, quiet, standaloneClient } from './support';

class AnyError extends LuanestError {
  readonly code = 'ANY';
}

describe('messages about hostile values', () => {
  it('are short, one line, and contain no text of an object', () => {
    const speaking = {
      toString: () => 'secret',
      toJSON: () => 'secret',
      [inspect.custom]: () => 'secret',
      token: 'secret',
    };
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const values = [...hostileValues(), speaking, revoked.proxy, () => 'secret', 5n, Symbol('s'), 'x'.repeat(10_240)];
    for (const value of values) {
      expect(shown(value).length).toBeLessThan(120);
      expect(shown(value)).not.toContain('secret');
    }
    expect([undefined, null, -0, 'a\nb', 5n, ['a'], {}].map(shown)).toEqual([
      ...['undefined', 'null', '0', '"a\\nb"', '5n', 'an array of 1', 'an object'],
    ]);
    expect(isPolluted()).toBe(false);
  });

  it('cannot forge a line of a log', () => {
    const message = 'Lock a\r\nFATAL all is lost\u2028\u0085\0\u001b[31m was lost';
    expect(new AnyError(message).message).toBe('Lock a FATAL all is lost [31m was lost');
    expect(oneLine('a b\u00e9\u{1f9e7}')).toBe('a b\u00e9\u{1f9e7}');
  });

  it.each(IMPOSSIBLE_IDS.map((id) => [shown(id), id]))(
    '%s is refused as a key, not changed into another',
    (_name, id) => {
      const space = new KeySpace('p', 'lib');
      expect(() => space.tag(id)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
      expect(() => space.tag('a').key('k', id)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
      expect(() => space.tag('a').series('k')(id)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
      if (!id.isWellFormed())
        expect(() => str.encode(id, 'id')).toThrow(expect.objectContaining({ code: 'INVALID_CALL' }) as Error);
    },
  );

  it('values that are not text are refused with an error of this lib', () => {
    const space = new KeySpace('p', 'lib');
    for (const value of hostileValues()) {
      expect(() => space.tag(value as string)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }) as Error);
      if (typeof value !== 'string')
        expect(() => str.encode(value as string, 'id')).toThrow(
          expect.objectContaining({ code: 'INVALID_CALL' }) as Error,
        );
    }
  });
});

it('a reply function may throw anything: each call is REPLY_DECODE, and those behind it go on', async () => {
  const throws: (() => unknown)[] = [
    () => Object.create(null) as unknown,
    () => ({
      toString: () => {
        throw new Error('not me either');
      },
    }),
    () =>
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error('no message');
        },
      }),
    () =>
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error('no prototype');
          },
        },
      ),
    () => Symbol('thrown'),
    () => undefined,
  ];
  const thrower = defineScript({
    name: 'test.thrower',
    keys: ['any'],
    args: { which: int },
    source: `return tonumber(ARGV[1])`,
    reply: (which: number) => {
      if (which >= 0) throw (throws[which] as () => unknown)();
      return 'fine';
    },
  });
  const client = standaloneClient();
  const registry = await openRegistry(client, {}, [thrower]);
  limitCallsInFlight(registry, 1);
  const run = (which: number): Promise<string> =>
    registry.run(thrower, { keys: { any: uniquePrefix() }, args: { which } });
  try {
    for (let which = 0; which < throws.length; which++) {
      await expect(run(which)).rejects.toThrow(ReplyDecodeError);
      const outcomes = await Promise.allSettled([run(which), run(-1), run(which), run(-1)]);
      const refused = { reason: expect.any(ReplyDecodeError) };
      expect(outcomes).toMatchObject([refused, { value: 'fine' }, refused, { value: 'fine' }]);
    }
  } finally {
    registry.close();
    client.disconnect();
  }
});

it('a password that Redis refuses is in no error and no log', async () => {
  const lines: string[] = [];
  const logger = new ConsoleLogger();
  for (const level of ['log', 'warn', 'error', 'debug', 'verbose', 'fatal'] as const) {
    jest.spyOn(logger, level).mockImplementation((...args: unknown[]) => void lines.push(inspect(args, { depth: 9 })));
  }
  Logger.overrideLogger(logger);
  const url = new URL(sharedRedisUrl());
  url.username = 'nobody';
  url.password = 'hunter2hunter2';
  const client = quiet(new Redis(url.href, { maxRetriesPerRequest: 0 }));
  const failures: unknown[] = [];
  const timeout = jest.replaceProperty(FIXED, 'preloadTimeoutMs', 500);
  try {
    const options = { prefix: uniquePrefix() };
    await openRegistry(client, { ...options, preload: 'required' }, [limiter]).catch((error: unknown) =>
      failures.push(error),
    );
    const registry = await openRegistry(client, { ...options, preload: 'best-effort' }, [limiter]);
    const input = { keys: { counter: `${options.prefix}:c` }, args: { limit: 1, windowMs: 1, cost: 1 } };
    await registry.run(limiter, input, { deadlineMs: 200 }).catch((error: unknown) => failures.push(error));
    failures.push(await registry.health(200));
    registry.close();
  } finally {
    timeout.restore();
    client.disconnect();
    Logger.overrideLogger(true);
  }
  expect(failures).toHaveLength(3);
  expect(lines.length).toBeGreaterThan(0);
  expect(inspect(failures, { depth: 12, showHidden: true }) + lines.join()).not.toContain('hunter2');
});
