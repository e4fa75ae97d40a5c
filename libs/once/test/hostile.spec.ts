import { InvalidInputError } from 'luanest/script-registry';
import { connect } from 'node:net';
import { Controller, Post, Req } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Idempotent } from 'luanest/once';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { standaloneClient } from '../../script-registry/test/support';
import { idOf, readKey } from '../src/idempotency/request-identity';
import { openHttp, platforms, type HttpApp } from './http-support';
import { claimed, openBench, type Bench } from './support';

describe('ids that strangers choose', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient());
  });
  afterAll(() => bench.close());

  it('are claimed and confirmed independently of each other', async () => {
    const { once } = bench;
    const claims = await Promise.all(HOSTILE_IDS.map((id) => once.claim(id)));
    await Promise.all(claims.map((claim, i) => claimed(claim).confirm({ of: HOSTILE_IDS[i] })));
    const repeats = await Promise.all(HOSTILE_IDS.map((id) => once.claim(id)));
    expect(repeats.map((repeat) => repeat.status === 'done' && repeat.result)).toEqual(
      HOSTILE_IDS.map((of) => ({ of })),
    );
    expect(await Promise.all(HOSTILE_IDS.map((id) => once.first(id)))).toEqual(HOSTILE_IDS.map(() => true));
  });

  it('are refused if they are invalid, with an error of one short line', async () => {
    const { once } = bench;
    for (const id of [...IMPOSSIBLE_IDS.filter((text) => text.length !== 10), ...hostileValues()] as string[]) {
      if (typeof id === 'string' && HOSTILE_IDS.includes(id)) continue;
      for (const refused of [once.claim(id), once.first(id), once.run(id, {}, () => 1), once.release(id, 't')]) {
        const error = await refused.then(
          () => undefined,
          (reason: unknown) => reason as Error,
        );
        expect(error).toBeInstanceOf(InvalidInputError);
        expect(error?.message.length).toBeLessThan(300);
      }
      const error = await once.release('a', id).then(
        () => undefined,
        (reason: unknown) => reason as Error,
      );
      expect(error).toBeInstanceOf(InvalidInputError);
    }
  });

  it('are those of requests with a fingerprint of up to 9,999 bytes', async () => {
    const claim = (fingerprint: string) => bench.once.claim({ subject: 'ann', key: 'print', fingerprint });
    await expect(claim('x'.repeat(10_000))).rejects.toThrow(
      'fingerprint has 10000 bytes. Expected a text of at most 9999 bytes in UTF-8, such as a hash.',
    );
    await expect(claim('\u00e9'.repeat(5_000))).rejects.toThrow(InvalidInputError);
    const longest = claimed(await claim('x'.repeat(9_999)));
    await expect(longest.confirm()).resolves.toMatchObject({ status: 'confirmed' });
  });

  it('are never the claim of a route or a handler', async () => {
    const { once, store } = bench;
    const request = idOf('ann', 'k1');
    const handler = JSON.stringify(['Orders.create', 'm1']);
    for (const id of [request, handler]) claimed(await once.claim(id));
    const full = {
      token: 't',
      leaseMs: 1_000,
      retentionMs: 1_000,
      delivery: 'at-least-once',
      fingerprint: '',
      replicas: 0,
      replicasTimeoutMs: 1,
    } as const;
    expect(await store.claim(store.keyOf(request, 'request'), full)).toMatchObject({ status: 'claimed' });
    expect(await once.run({ scope: 'Orders.create', id: 'm1' }, {}, () => 1)).toMatchObject({ status: 'ran' });
    // And what those have stored is not to be had by the id.
    expect(await once.claim(handler)).toMatchObject({ status: 'in-progress' });
  });

  it('results can have names that objects inherit, and change no object', async () => {
    const claim = claimed(await bench.once.claim('result'));
    await claim.confirm(JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'));
    const again = await bench.once.claim('result');
    expect(JSON.stringify(again)).toContain('"__proto__":{"polluted":true}');
    expect(isPolluted()).toBe(false);
    expect((again as unknown as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

const HEADERS = [
  ...HOSTILE_IDS.filter((id) => !/^[\x21\x23-\x2b\x2d-\x7e]+$/.test(id)),
  ...IMPOSSIBLE_IDS,
  'x'.repeat(256),
  'a,b',
  'a b',
];

it.each(HEADERS.map((text) => [text.slice(0, 20), text]))('refuses %j... as the key of a header', (_start, text) => {
  const key = readKey(text);
  // Surrounding white space and quotes are the header's, not the key's.
  expect(key === null || /^[\x21\x23-\x2b\x2d-\x7e]{1,255}$/.test(key as string)).toBe(true);
  if (/[^\t\x20-\x7e]/.test(text.trim()) || text.length > 255) expect(key).toBeNull();
});

let runs = 0;

@Controller('orders')
class Orders {
  @Post()
  @Idempotent()
  create(@Req() request: { headers: Record<string, string> }): object {
    runs += 1;
    return { run: runs, of: request.headers['x-user'] };
  }
}

describe.each(platforms)('requests of strangers on %s', (_name, adapter) => {
  let client: Redis;
  let http: HttpApp;
  beforeAll(async () => {
    client = standaloneClient();
    // As a session or a token may say it: in JSON any text is possible.
    const subjects = new Map([
      ['one', '\ud800'],
      ['two', '\ud801'],
      ['three', '\ufffd'],
    ]);
    http = await openHttp({
      adapter: adapter(),
      client,
      controllers: [Orders],
      registry: { prefix: `hostile-${_name}-${process.pid}` },
      subject: (user) => subjects.get(user) ?? user,
    });
  });
  afterAll(async () => {
    for (const key of await client.keys(`hostile-${_name}-${process.pid}:*`)) await client.del(key);
    await http.close();
  });

  it('never get the response of another subject, however its name is written', async () => {
    const users = [
      'one',
      'two',
      'three',
      '__proto__',
      'constructor',
      'ann',
      'ann:k',
      '4:ann',
      'toString',
      'a'.repeat(2_000),
    ];
    const first = await Promise.all(users.map((user) => http.post('/orders', 'k', { 'x-user': user })));
    const again = await Promise.all(users.map((user) => http.post('/orders', 'k', { 'x-user': user })));
    for (const [i, user] of users.entries()) {
      expect(first[i]).toMatchObject({ status: 201, replayed: null });
      expect(JSON.parse(first[i]?.body ?? '')).toMatchObject({ of: user });
      expect(again[i]).toMatchObject({ status: 201, replayed: 'true', body: first[i]?.body });
    }
  });

  it('are refused if their body is nested too deeply, and claim nothing', async () => {
    const body = '['.repeat(20_000) + ']'.repeat(20_000);
    const headers = { 'content-type': 'application/json', 'x-user': 'deep', 'idempotency-key': 'deep' };
    const answer = await fetch(`${http.url}/orders`, { method: 'POST', headers, body });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('nested too deeply')]);
    expect(await http.post('/orders', 'deep', { 'x-user': 'deep' })).toMatchObject({ status: 201, replayed: null });
  });

  it('get no invalid header that another program wrote to Redis, and no second response', async () => {
    const first = await http.post('/orders', 'stored', { 'x-user': 'bob' });
    const [key = ''] = (await client.keys(`hostile-${_name}-*`)).filter((each) => each.includes('bob:stored'));
    const text = await client.get(key);
    const body = text?.slice(text.indexOf('[201'));
    expect(body).toContain(first.body);
    const evil = '[201,[["x-a","1\\r\\nset-cookie: stolen=1"],["x-b\\r\\nx-c","2"]],"utf8"]\n{}';
    await client.set(key, text?.replace(body ?? '', evil) ?? '', 'KEEPTTL');
    const raw = await rawPost(http.url, 'bob', 'stored');
    expect(raw.startsWith('HTTP/1.1 500 ')).toBe(true);
    expect(raw).not.toMatch(/^(set-cookie|x-c)/im);
  });
});

/** A response as it comes over the wire. */
function rawPost(url: string, user: string, key: string): Promise<string> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''), () => {
      socket.write(
        `POST /orders HTTP/1.1\r\nHost: ${host}\r\nx-user: ${user}\r\nidempotency-key: ${key}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
    });
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}
