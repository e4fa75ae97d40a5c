import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { globOf, scanPage, taggedKeys, type ScanPage } from '../src/sections/scan';

async function open(client: Redis | Cluster, prefix = uniquePrefix()): Promise<ScriptRegistry> {
  return openRegistry(client, { prefix }, []);
}

describe.each([
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
] as const)('scanPage on %s', (_, connect) => {
  let client: Redis | Cluster;
  let registry: ScriptRegistry;
  let pages: number;
  beforeEach(async () => {
    client = connect();
    registry = await open(client);
  });
  afterEach(() => {
    registry.close();
    client.disconnect();
  });

  const write = (tags: readonly string[], name = 'kind') =>
    Promise.all(tags.map((tag) => client.set(registry.keySpace('x').tag(tag).key(name), tag, 'PX', 60_000)));
  const all = async (limit: number, keep: (tag: string) => boolean = () => true): Promise<string[]> => {
    const { pattern, tagOf } = taggedKeys(registry, 'x', 'kind');
    const items: string[] = [];
    let page: ScanPage<string> | undefined;
    pages = 0;
    do {
      page = await scanPage(registry, pattern, { cursor: page?.nextCursor, limit }, (keys) =>
        Promise.resolve(keys.map(tagOf).filter(keep)),
      );
      items.push(...page.items);
      pages += 1;
    } while (page.nextCursor !== undefined);
    return items.sort();
  };

  it('finds each key of the name, on all masters, and no other key', async () => {
    const tags = Array.from({ length: 40 }, (_, i) => `id-${i}`).concat(['a{b}c', 'a:b%7D', '*', 'ä']);
    await write(tags);
    await write(['other'], 'kind-of');
    expect(new Set(await all(10))).toEqual(new Set(tags));
    expect(pages).toBeGreaterThan(1);
    expect(new Set(await all(1_000, (tag) => tag === '*'))).toEqual(new Set(['*']));
  });

  it('a page ends with a cursor when it has visited enough keys, even if it found none', async () => {
    const load = Array.from({ length: 12_000 }, (_, i) => `noise-${i}`);
    await write(load, 'noise');
    await write(['one']);
    expect(await all(50)).toEqual(['one']);
    expect(pages).toBeGreaterThan(2);
  });
});

it('an unknown cursor begins at the first page, and one of a node that is gone at the next node', async () => {
  const client = standaloneClient();
  const registry = await open(client);
  await client.set(registry.keySpace('x').tag('a').key('kind'), '1', 'PX', 60_000);
  const { pattern } = taggedKeys(registry, 'x', 'kind');
  const page = (cursor: string) =>
    scanPage(registry, pattern, { cursor, limit: 1_000 }, (keys) => Promise.resolve(keys));
  const until = async (cursor: string): Promise<number> => {
    const { items, nextCursor } = await page(cursor);
    return items.length + (nextCursor === undefined ? 0 : await until(nextCursor));
  };
  expect(await until('nonsense')).toBe(1);
  expect(await until('!|77')).toBe(1);
  expect(await until('~|77')).toBe(0);
  registry.close();
  client.disconnect();
});

it('a prefix with the characters of patterns is matched word for word', async () => {
  expect(globOf('a*b?c[d]\\')).toBe('a\\*b\\?c\\[d\\]\\\\');
  const client = standaloneClient();
  const prefix = `${uniquePrefix()}[x]*`;
  const [registry, other] = [await open(client, prefix), await open(client, `${prefix}y`)];
  for (const each of [registry, other]) await client.set(each.keySpace('x').tag('a').key('kind'), '1', 'PX', 60_000);
  const { pattern } = taggedKeys(registry, 'x', 'kind');
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await scanPage(registry, pattern, { cursor, limit: 1_000 }, (keys) => Promise.resolve(keys));
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(found).toEqual([`${prefix}:x:{a}:kind`]);
  for (const each of [registry, other]) each.close();
  client.disconnect();
});

it('says which permission is missing, and which node did not reply', async () => {
  const client = standaloneClient();
  const user = uniquePrefix();
  await client.acl('SETUSER', user, 'on', '>password', '~*', '&*', '+@all', '-scan');
  const limited = standaloneClient({ username: user, password: 'password' });
  const registry = await open(limited);
  const { pattern } = taggedKeys(registry, 'x', 'kind');
  const page = () => scanPage(registry, pattern, { limit: 10 }, (keys) => Promise.resolve(keys));
  await expect(page()).rejects.toMatchObject({
    code: 'SETUP',
    message: expect.stringContaining('Allow this command: ACL SETUSER <user> +scan.') as string,
  });
  limited.disconnect();
  await once(limited, 'end');
  await expect(page()).rejects.toMatchObject({
    code: 'NOT_SENT',
    message: expect.stringMatching(/^SCAN on .*:\d+ failed: /) as string,
  });
  registry.close();
  await client.acl('DELUSER', user);
  client.disconnect();
});
