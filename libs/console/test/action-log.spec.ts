import type { Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { UnknownOutcomeError } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { ActionLog, type Begin } from '../src/action-log';
import { beginAction, consoleScripts, endAction } from '../src/console.scripts';
import { DROP_ONE, get, openConsole, post, type ConsoleApp } from './support';

const ENTRY: Begin = { actor: 'ann', section: 'things', action: 'drop', target: { address: ['things', 'all', 'a'] } };

describe.each([
  ['a single Redis', standaloneClient],
  ['a Cluster', clusterClient],
] as const)('the log of actions on %s', (_name, client) => {
  let raw: Redis;
  let registry: ScriptRegistry;
  let log: ActionLog;
  let keys: { order: string; entries: string };

  beforeEach(async () => {
    raw = client() as Redis;
    registry = await openRegistry(raw, { prefix: uniquePrefix() }, consoleScripts);
    log = new ActionLog(registry);
    const tag = registry.keySpace('console').tag('log');
    keys = { order: tag.key('order'), entries: tag.key('entries') };
  });
  afterEach(() => {
    registry.close();
    raw.disconnect();
  });

  it('has what begins and what came out, the newest first, in pages', async () => {
    expect(await log.list('', 10)).toEqual({ items: [] });
    const first = await log.begin({ ...ENTRY, input: { to: 'x' } });
    expect((await log.list('', 10)).items).toEqual([
      { ...ENTRY, input: { to: 'x' }, atMs: expect.any(Number), result: 'started' },
    ]);
    expect(await first({ result: 'done', count: 3 })).toBe(true);
    await (
      await log.begin({ ...ENTRY, actor: 'bob' })
    )({ result: 'failed', message: 'no' });
    await log.begin({ ...ENTRY, actor: 'eve' });
    const page = await log.list('', 2);
    expect(page.items.map(({ actor, result }) => [actor, result])).toEqual([
      ['eve', 'started'],
      ['bob', 'failed'],
    ]);
    const rest = await log.list(page.nextCursor as string, 2);
    expect(rest).toEqual({ items: [expect.objectContaining({ actor: 'ann', result: 'done', count: 3 })] });
    const [newest] = (await log.list('', 1)).items;
    expect(Math.abs((newest?.atMs as number) - Date.now())).toBeLessThan(60_000);
  });

  it('keeps the 1,000 newest entries, and none that is older than 30 days', async () => {
    const input = (token: string, keep = 3) => ({ keys, args: { token, text: '{}', keep, retentionMs: 1_000_000 } });
    for (const token of ['a', 'b', 'c', 'd', 'e']) {
      await registry.run(beginAction, input(token));
      await registry.run(endAction, { keys, args: { token, text: '{}' } });
    }
    expect(await raw.zrange(keys.order, '0', '-1')).toEqual(['c', 'd', 'e']);
    expect((await raw.hkeys(keys.entries)).sort()).toEqual(['bc', 'bd', 'be', 'ec', 'ed', 'ee']);
    expect(await registry.run(endAction, { keys, args: { token: 'a', text: '{}' } })).toBe(false);
    await raw.zadd(keys.order, (Date.now() - 1_000_001) * 1_000, 'c');
    await registry.run(beginAction, input('f', 100));
    expect(await raw.zrange(keys.order, '0', '-1')).toEqual(['d', 'e', 'f']);
    for (const key of Object.values(keys)) {
      expect(await raw.pttl(key)).toBeGreaterThan(900_000);
      expect(await raw.pttl(key)).toBeLessThanOrEqual(1_000_000);
    }
    const args = jest.spyOn(registry, 'run');
    await log.begin(ENTRY);
    expect(args.mock.calls[0]?.[1].args).toMatchObject({ keep: 1_000, retentionMs: 30 * 86_400_000 });
    args.mockRestore();
  });

  it('has one entry for a call that was sent twice, and its first end', async () => {
    const input = { keys, args: { token: 't', text: JSON.stringify(ENTRY), keep: 9, retentionMs: 60_000 } };
    const at = await registry.run(beginAction, input);
    expect(await registry.run(beginAction, input)).toBe(at);
    expect(await registry.run(endAction, { keys, args: { token: 't', text: '{"result":"done"}' } })).toBe(true);
    expect(await registry.run(endAction, { keys, args: { token: 't', text: '{"result":"failed"}' } })).toBe(false);
    expect((await log.list('', 9)).items).toEqual([{ ...ENTRY, atMs: expect.any(Number), result: 'done' }]);
  });

  it('has later entries later, even if the clock went back', async () => {
    await log.begin(ENTRY);
    const future = (Date.now() + 3_600_000) * 1_000;
    await raw.zadd(keys.order, future, (await raw.zrange(keys.order, '0', '0'))[0] as string);
    await log.begin({ ...ENTRY, actor: 'bob' });
    expect((await log.list('', 9)).items.map(({ actor }) => actor)).toEqual(['bob', 'ann']);
    expect((await raw.zrange(keys.order, '-1', '-1', 'WITHSCORES'))[1]).toBe(String(future + 1));
  });

  it('changes nothing if another program has its keys', async () => {
    await raw.set(keys.entries, 'x');
    await expect(log.begin(ENTRY)).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(await raw.exists(keys.order)).toBe(0);
  });

  it('cuts long texts', async () => {
    await log.begin({ ...ENTRY, input: { to: 'x'.repeat(5_000) } });
    const [entry] = (await log.list('', 1)).items;
    expect(entry?.input?.['to']).toHaveLength(501);
  });
});

describe('an action', () => {
  let app: ConsoleApp;
  let url: string;
  beforeEach(async () => {
    app = await openConsole();
    url = `${app.url}/console`;
    await get(`${url}/api/me`);
  });
  afterEach(() => app.close());

  const logged = async (): Promise<unknown[]> => (await get(`${url}/api/log`)).body['items'] as unknown[];
  const entry = { actor: 'ann', section: 'things', action: 'drop', target: DROP_ONE.target, input: {} };

  it('is in the log while it runs, and with its result after it', async () => {
    let during: unknown[] = [];
    app.things.during = async () => (during = await logged());
    await post(url, 'act', DROP_ONE);
    expect(during).toEqual([{ ...entry, atMs: expect.any(Number), result: 'started' }]);
    expect(await logged()).toEqual([{ ...entry, atMs: expect.any(Number), result: 'done', count: 1 }]);
  });

  it('that is refused has the sentence, and a preview is not logged', async () => {
    const refused = { code: 'other-fence', text: 'It is another one by now.', level: 'warning' } as const;
    app.things.done = { count: 0, refused };
    await post(url, 'preview', DROP_ONE);
    const { status, body } = await post(url, 'act', DROP_ONE);
    expect([status, body]).toEqual([200, { count: 0, refused }]);
    expect(await logged()).toEqual([expect.objectContaining({ result: 'refused', count: 0, refused })]);
  });

  it.each([
    [new UnknownOutcomeError('The reply was lost.'), 503, 'The reply was lost.'],
    [new TypeError('a defect'), 500, 'a defect'],
  ])('that fails is logged, too: %s', async (error, status, message) => {
    app.things.error = error;
    expect((await post(url, 'act', DROP_ONE)).status).toBe(status);
    expect(await logged()).toEqual([expect.objectContaining({ ...entry, result: 'failed', message })]);
  });

  it('does not run if the log cannot be written', async () => {
    const key = logKey(app);
    await app.client.set(key, 'in the way');
    expect((await post(url, 'act', DROP_ONE)).status).toBe(503);
    expect(app.things.ran).toEqual([]);
  });

  it('gives its result if only its end cannot be written, and the log says that it has started', async () => {
    app.things.during = async () => {
      await app.client.rename(logKey(app), `${logKey(app)}-kept`);
      await app.client.set(logKey(app), 'in the way');
    };
    const { status, body } = await post(url, 'act', DROP_ONE);
    expect([status, body]).toEqual([200, { count: 1 }]);
    await app.client.rename(`${logKey(app)}-kept`, logKey(app));
    expect(await logged()).toEqual([expect.objectContaining({ ...entry, result: 'started' })]);
  });
});

function logKey({ prefix }: ConsoleApp): string {
  return `${prefix}:console:{log}:entries`;
}
