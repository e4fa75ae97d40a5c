import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { JwtService } from '@nestjs/jwt';
import { RateLimitModule } from 'luanest/rate-limit';
import { LuanestTestingModule } from 'luanest/testing';
import { RedPacketController } from 'luanest/red-packet';
import { ConsoleApiGuard, ConsolePageGuard } from '../../libs/console/src/console.guard';
import { RedPacketAdminGuard } from '../../libs/red-packet/src/red-packet.guard';
import { AppModule } from '../../src/app.module';
import { checkConfig } from '../../src/platform/config/config';
import { crowdArgs } from '../../src/simulation/crowd/crowd.service';
import { AdminGuard, AdminToken } from '../../src/visitors/identity/admin.guard';
import type { LedgerHost } from '../../src/ledger/ledger-host';
import { LedgerReader } from '../../src/ledger/ledger-reader';
import { LedgerPayer } from '../../src/ledger/payout/ledger-payer';
import { fastifyOptions } from '../../src/platform/fastify-options';
import { PagesController } from '../../src/visitors/pages/pages.controller';
import { parseRainOptions } from '../../src/simulation/rain/rain-options';
import { HOSTILE_IDS } from '../support/hostile';
import { guardsOf, routesOf } from '../support/routes';
import { adminTokenOf, api, createActivity, guestToken } from './support/api';
import { endOrphan, startAppProcess } from './support/processes';
import { makeDataFolder, removeFolder } from './support/temp-folder';

/** Guards that ask for the admin token. Those of the console ask ConsoleGuard. */
const OF_ADMINS: readonly unknown[] = [AdminGuard, RedPacketAdminGuard, ConsolePageGuard, ConsoleApiGuard];

/** Public routes. All other routes of the app need the admin token. */
const PUBLIC = [
  'PagesController GET ',
  'PagesController GET operator',
  // Of the guest who asks.
  'PointsController GET ',
  'PointsController POST :activityId',
  'PagesController GET assets/:name',
  'GuestsController POST ',
  'HealthController GET ',
  // What a visitor is shown of a rain.
  'LiveController GET :activityId',
  'LiveController GET latest',
  'RedPacketController GET :activityId',
  'RedPacketController GET :activityId/mine',
  // For those who won something in it; ids of users are not in it.
  'RedPacketController GET :activityId/results',
  'RedPacketController POST :activityId/grab',
];

type Part = DynamicModule | Type<unknown>;

/** The controllers of a module and of all that it imports. */
function controllersOf(part: Part): Type<unknown>[] {
  const { module, imports = [], controllers = [] } = 'module' in part ? part : { module: part };
  const own = (key: string): unknown[] => (Reflect.getMetadata(key, module) as unknown[] | undefined) ?? [];
  const all = [...imports, ...own('imports')].filter(
    (each): each is Part => typeof each === 'function' || 'module' in (each as object),
  );
  return [...controllers, ...(own('controllers') as Type<unknown>[]), ...all.flatMap(controllersOf)];
}

it('every route of the app is for admins but those that are named here', () => {
  const redis = { host: '127.0.0.1' };
  const secrets = { guestSecret: 'g'.repeat(16), adminToken: 'a'.repeat(16) };
  const app = AppModule.forRoot({ config: checkConfig({}), secrets, redis, host: {} as LedgerHost });
  const controllers = [...new Set(controllersOf(app))];
  expect(controllers).toContain(RedPacketController);
  const open: string[] = [];
  for (const route of controllers.flatMap((controller) => routesOf(controller))) {
    const guards = guardsOf(route);
    if (guards.some((guard) => OF_ADMINS.includes(guard))) continue;
    open.push(`${route.controller.name} ${route.name.includes(' ') ? route.name : `${route.name} `}`);
  }
  expect(open.sort()).toEqual([...PUBLIC].sort());
});

/** Asks for a path as it is: no client tidies it up. */
function get(url: string, path: string): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });
}

it('pages hand out their own files, and nothing that a path leads to', async () => {
  class Pages {}
  const token = new AdminToken('hunter2hunter2hunter2');
  Module({
    imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot()],
    controllers: [PagesController],
    providers: [{ provide: AdminToken, useValue: token }],
  })(Pages);
  const app = await NestFactory.create(Pages, new FastifyAdapter(fastifyOptions({ trustProxy: undefined })), {
    logger: false,
    abortOnError: false,
  });
  await app.listen(0, '127.0.0.1');
  try {
    const url = await app.getUrl();
    const steps = ['../', '..%2f', '%2e%2e/', '%2e%2e%2f', '..%5c', '....//', '%252e%252e%252f', '..%c0%af'];
    const names = ['page-files.ts', 'pages.controller.ts', '../package.json', '../../package.json', 'etc/passwd'];
    const paths = steps.flatMap((step) =>
      names.flatMap((name) => [1, 2, 5, 9].map((n) => `/assets/${step.repeat(n)}${name}`)),
    );
    paths.push('/assets/', '/assets/.', '/assets/..', '/assets/%00', '/assets/__proto__', '/assets/constructor');
    paths.push(
      '/assets/visitor.html%00.js',
      '/assets/http:%2f%2f127.0.0.1',
      '/assets//etc/passwd',
      '//127.0.0.1/assets/x',
    );
    for (const path of paths) {
      const { status, body } = await get(url, path);
      if (![400, 404].includes(status)) throw new Error(`${path} was answered ${status}: ${body.slice(0, 200)}`);
      expect(body).not.toMatch(/root:|readPageFiles|"dependencies"/);
    }
    for (const [path, type] of [
      ['/', 'text/html'],
      ['/assets/visitor.js', 'text/javascript'],
    ] as const) {
      const { status, headers } = await get(url, path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': expect.stringContaining(type),
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'self'"),
      });
    }
    expect((await get(url, '/operator/session')).status).toBe(401);
    // fetch unpacks what it gets.
    const script = await (
      await fetch(`${url}/assets/visitor.js`, { headers: { 'accept-encoding': 'identity' } })
    ).text();
    const tags = new Set<string>();
    for (const encoding of ['br', 'gzip', 'identity']) {
      const headers = { 'accept-encoding': encoding };
      const packed = await fetch(`${url}/assets/visitor.js`, { headers });
      expect(packed.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
      expect(packed.headers.get('vary')).toBe('accept-encoding');
      expect(await packed.text()).toBe(script);
      const etag = packed.headers.get('etag') as string;
      tags.add(etag);
      const same = await fetch(`${url}/assets/visitor.js`, { headers: { ...headers, 'if-none-match': etag } });
      expect(same.status).toBe(304);
    }
    expect(tags.size).toBe(3);
  } finally {
    await app.close();
  }
});

it('the admin token is sent to the ledger’s route and to no other, whatever a rain is called', async () => {
  const asked: string[] = [];
  const owner = createServer((incoming, response) => {
    asked.push(incoming.url ?? '');
    response.setHeader('content-type', 'application/json').end('{"payouts":[],"next":null}');
  });
  await new Promise<void>((resolve) => owner.listen(0, '127.0.0.1', resolve));
  try {
    const ownerUrl = `http://127.0.0.1:${(owner.address() as AddressInfo).port}`;
    const host = { current: () => undefined, problem: () => Promise.resolve({ message: '', ownerUrl }) };
    const reader = new LedgerReader(host as unknown as LedgerHost, new AdminToken('t'.repeat(16)));
    for (const id of HOSTILE_IDS) {
      const key = `${encodeURIComponent(id)}@1`;
      await reader.totals(key);
      const payouts = (await reader.payouts(key)) as AsyncIterableIterator<unknown>;
      expect(await payouts.next()).toMatchObject({ done: true });
    }
  } finally {
    owner.close();
  }
  expect(asked.length).toBe(2 * HOSTILE_IDS.length);
  for (const path of asked) expect(path).toMatch(/^\/ledger\/[^/?#]+(\/payouts\?after=)?$/);
});

it('a crowd is let loose on the rain that was named, also where that looks like an option', () => {
  for (const activityId of ['--users', '--url', '-', '--', '--json', '__proto__', 'a']) {
    const options = parseRainOptions(crowdArgs('http://127.0.0.1:1', { activityId, users: 5, taps: 2 }));
    expect(options).toMatchObject({ activityId, users: 5, taps: 2, url: 'http://127.0.0.1:1', json: false });
  }
  for (const id of ['.', '..', 'a/b', 'a?b'])
    expect(() => parseRainOptions([`--activity=${id}`])).toThrow(/--activity/);
});

it('a payout that is refused is logged without its user', async () => {
  const lines: string[] = [];
  const row = {
    activityKey: 'a@1',
    activityId: 'a',
    packetId: '1',
    userId: 'ann@example.org',
    amountCents: 1,
    grantedAtMs: 1,
  };
  const conflict = { row, reason: 'user' as const };
  const payer = new LedgerPayer(
    { conflict: () => Promise.resolve({ voided: true, now: { status: 'sold-out' } }) } as never,
    { credit: () => Promise.resolve({ conflicts: [conflict] }) } as never,
    { warn: (line) => void lines.push(line) },
  );
  await payer.pay({
    ...row,
    idempotencyKey: 'a@1:1',
    attempt: 3,
    signal: new AbortController().signal,
  });
  expect(lines).toEqual([expect.stringContaining('Did not pay packet "1" of "a"')]);
  expect(lines.join()).not.toContain('ann');
});

describe('a process of the app', () => {
  // A first boot makes a database.
  jest.setTimeout(180_000);

  it('answers strangers with 4xx, takes no large body, and keeps its secrets out of its log', async () => {
    const dataDir = await makeDataFolder();
    const { program, url } = await startAppProcess(dataDir);
    try {
      const admin = await adminTokenOf(dataDir);
      const guest = await guestToken(url);
      await createActivity(url, admin, 'rain', 5, '1.00');
      const grab = (token: string, id: string) =>
        fetch(`${url}/red-packets/${encodeURIComponent(id)}/grab`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
        });
      for (const id of HOSTILE_IDS) {
        const { status } = await grab(guest, id);
        if (![200, 400, 404, 414].includes(status)) throw new Error(`${JSON.stringify(id)} was answered ${status}.`);
      }
      for (const token of ['x', `${guest}.`, guest.slice(0, -1), `.${guest}`, `${guest.split('.')[0]}.`, admin]) {
        expect((await grab(token, 'rain')).status).toBe(401);
      }
      const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' };
      const large = JSON.stringify({ activityId: 'big', packets: 1, total: '1.00', seed: 'a'.repeat(100_000) });
      expect((await fetch(`${url}/red-packets`, { method: 'POST', headers, body: large })).status).toBe(413);
      for (const body of ['{"__proto__":{"activityId":"x"}}', '{"constructor":{"prototype":{}}}', '[]', '{']) {
        expect((await fetch(`${url}/red-packets`, { method: 'POST', headers, body })).status).toBe(400);
      }
      const jwt = new JwtService({ secret: (await readFile(join(dataDir, 'guest-secret'), 'utf8')).trim() });
      for (const claims of [{}, { sub: '' }]) {
        const token = jwt.sign({ aud: 'guest', ...claims }, { algorithm: 'HS256' });
        for (const path of ['points', 'red-packets/rain/mine']) {
          expect((await api(`${url}/${path}`, 'GET', token)).status).toBe(401);
        }
        expect((await api(`${url}/points/rain`, 'POST', token)).status).toBe(401);
        expect((await grab(token, 'rain')).status).toBe(401);
      }
      const live = await fetch(`${url}/rains/rain/live`, { headers });
      expect(live.headers.get('x-content-type-options')).toBe('nosniff');
      await live.body?.cancel();

      // A browser sends a name and a password by itself, also for requests that other sites start. So only the console takes them.
      const basic = (password: string) => ({
        authorization: `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`,
      });
      const signIn = await fetch(`${url}/console/`);
      expect([signIn.status, signIn.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic /)]);
      for (const path of ['console/', 'console/assets/console.js', 'console/api/me', 'console/api/overview']) {
        expect((await fetch(`${url}/${path}`, { headers: basic('wrong') })).status).toBe(401);
        expect((await fetch(`${url}/${path}`, { headers: basic(admin) })).status).toBe(200);
      }
      const me = await (await fetch(`${url}/console/api/me`, { headers: basic(admin) })).json();
      expect(me).toMatchObject({ actor: 'ann', role: 'act' });
      expect((await fetch(`${url}/rains`, { headers: basic(admin) })).status).toBe(401);

      // All admin routes count together, those of the libs, too.
      const routes = ['rains', 'ledger/x', 'red-packets/rain/records', 'operator/session', 'rains/rain/live'];
      const beganMs = performance.now();
      const tries = await Promise.all(
        Array.from({ length: 60 }, (_, i) => api(`${url}/${routes[i % 5]}`, 'GET', `wrong-${i}`)),
      );
      const refused = tries.filter(({ status }) => status === 429).length;
      // The limit is 30 a minute, so each 2 s that the requests take allow one more.
      expect(refused).toBeGreaterThanOrEqual(30 - Math.ceil((performance.now() - beganMs) / 2_000));
      expect(tries.filter(({ status }) => status === 401)).toHaveLength(60 - refused);
      expect((await api(`${url}/rains`, 'GET', admin)).status).toBe(429);

      const password = (await readFile(join(dataDir, 'redis', 'password'), 'utf8')).trim();
      const secret = (await readFile(join(dataDir, 'guest-secret'), 'utf8')).trim();
      await program.end('SIGTERM');
      for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        expect([path, (await stat(path)).mode & 0o077]).toEqual([path, 0]);
      }
      for (const hidden of [admin, guest, password, secret]) {
        expect(hidden.length).toBeGreaterThan(20);
        expect(program.stdout + program.stderr).not.toContain(hidden);
      }
    } finally {
      await program.end('SIGTERM');
      await endOrphan(dataDir);
      await removeFolder(dataDir);
    }
  });
});
