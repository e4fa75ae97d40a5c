import { Controller, Get, Injectable, Module, VersioningType, type NestInterceptor } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { map, type Observable } from 'rxjs';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';
import { ANN, DROP_ONE, get, openConsole, platforms, post, type ConsoleApp } from './support';

@Controller('api/things')
class Api {
  @Get()
  all(): { n: number } {
    return { n: 1 };
  }
}

/** Wraps each response, as many apps do. */
@Injectable()
class Wrapping implements NestInterceptor {
  static seen = 0;
  intercept(_context: unknown, next: { handle(): Observable<unknown> }): Observable<unknown> {
    Wrapping.seen += 1;
    return next.handle().pipe(map((data) => ({ wrapped: data })));
  }
}

@Module({ controllers: [Api] })
class Feature {}

describe.each(platforms)('on %s', (_name, adapter) => {
  let console: ConsoleApp;
  let url: string;

  beforeAll(async () => {
    console = await openConsole({
      adapter: adapter(),
      imports: [Feature],
      prepare: (app) => {
        app.setGlobalPrefix('ops');
        app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
        app.useGlobalInterceptors(new Wrapping());
      },
    });
    url = `${console.url}/ops/console`;
  });
  afterAll(() => console.close());

  it('has the prefix of the app and no version, and interceptors see requests but do not change replies', async () => {
    expect((await get(`${console.url}/ops/v1/api/things`)).body).toEqual({ wrapped: { n: 1 } });
    const before = Wrapping.seen;
    expect((await get(`${url}/api/me`)).body).toEqual({
      role: 'act',
      actor: 'ann',
      sections: [{ name: 'things', lists: console.things.lists, actions: console.things.actions }],
      readOnly: false,
      csrf: expect.stringMatching(/^[\w-]{43}$/),
      nowMs: expect.any(Number),
    });
    expect(Wrapping.seen).toBe(before + 1);
    expect((await get(`${console.url}/console/api/me`)).status).toBe(404);
    expect((await get(`${console.url}/ops/v1/console/api/me`)).status).toBe(404);
  });

  it('serves the page at a URL that ends in a slash, with a strict policy', async () => {
    const first = await get(`${url}?lang=zh`);
    expect([first.status, first.headers.get('location')]).toEqual([302, 'console/?lang=zh']);
    const page = await get(`${url}/`);
    expect([page.status, page.text]).toEqual([200, expect.stringMatching('<!doctype')]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const again = await get(`${url}/`, { ...ANN, 'if-none-match': page.headers.get('etag') as string });
    expect([again.status, again.text]).toEqual([304, '']);
    const script = await get(`${url}/assets/console.js`);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(script.headers.get('x-content-type-options')).toBe('nosniff');
    for (const wrong of ['/assets/none.js', '/assets/..%2fconsole.module.js', '/other', '/api/other']) {
      expect([wrong, (await get(url + wrong)).status]).toEqual([wrong, 404]);
    }
  });

  it('replies with JSON that no browser reads as a page', async () => {
    const address = ['things', 'all', '<script>alert(1)</script>'].map(encodeURIComponent).join('/');
    const reply = await get(`${url}/api/show?address=${encodeURIComponent(address)}`);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
    expect(reply.text).not.toContain('<');
    expect(reply.body['title']).toBe('things|all|<script>alert(1)</script>');
    const refused = await get(`${url}/api/show?address=things/%3Cb%3E/none`);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
    expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('reads addresses with slashes, filters, cursors and limits', async () => {
    const address = encodeURIComponent(['things', 'all', 'a/b', 'ü'].map(encodeURIComponent).join('/'));
    const { body } = await get(`${url}/api/list?address=${address}&filter=old&cursor=c&limit=7`);
    expect(body['rows'][0].cells).toEqual(['things|all|a/b|ü', '{"limit":7,"filter":"old","cursor":"c"}', {}]);
    const { body: bare } = await get(`${url}/api/list?address=things/all&filter=`);
    expect(bare['rows'][0].cells[1]).toBe('{"limit":50}');
    expect((await get(`${url}/api/find?id=x`)).body).toEqual({
      matches: [{ address: ['things', 'all', 'x'], kind: 'thing', title: 'x' }],
      failed: [],
    });
    expect((await get(`${url}/api/overview`)).body).toMatchObject({
      atMs: expect.any(Number),
      sections: [{ name: 'things', summary: { figures: [{ name: 'count', value: 3 }] } }],
    });
    expect((await get(`${url}/api/log`)).body).toEqual({ items: [] });
    expect((await get(`${url}/api/history?minutes=5`)).body).toEqual({ series: [] });
  });

  it.each([
    ['list?address=things/all&limit=201', 'limit is 201. Expected an integer from 1 to 200.'],
    ['list?address=things/all&limit=1e1', 'limit is "1e1". Expected an integer from 1 to 200.'],
    ['list', 'address[0] is "". Expected 1 to 1024 characters of well-formed Unicode.'],
    ['list?address=things/%25zz', 'address is "things/%zz". Expected parts that are encoded by encodeURIComponent.'],
    ['list?address=a&address=b', 'address is an array of 2. Expected 1 to 10240 characters of well-formed Unicode.'],
    [`list?address=${'a/'.repeat(20)}`, /^address is an array of 21\. Expected 1 to 10 parts\.$/],
    ['find', 'id is undefined. Expected 1 to 1024 characters.'],
    ['log?cursor=x', 'cursor is "x". Expected the nextCursor of a page.'],
    ['history?minutes=99999', 'minutes is 99999. Expected an integer from 1 to 10080.'],
  ])('refuses %s', async (path, message) => {
    const { status, body } = await get(`${url}/api/${path}`);
    expect(status).toBe(400);
    if (typeof message === 'string') expect(body['message']).toBe(message);
    else expect(body['message']).toMatch(message);
  });

  it('previews and runs an action', async () => {
    expect((await post(url, 'preview', DROP_ONE)).body).toMatchObject({ count: 2, expected: 'v1' });
    const move = { ...DROP_ONE, action: 'move', input: { to: 'there', atMs: 5 }, expected: 'v1' };
    const done = await post(url, 'act', move);
    expect([done.status, done.body]).toEqual([200, { count: 1 }]);
    const all = { section: 'things', action: 'drop', target: { list: ['things', 'all'], filter: 'old' } };
    await post(url, 'act', all);
    expect(console.things.ran).toEqual([
      ['move', { address: ['things', 'all', 'a'] }, { to: 'there', atMs: 5 }, 'v1'],
      ['drop', { list: ['things', 'all'], filter: 'old' }, {}, undefined],
    ]);
    console.things.ran.length = 0;
  });

  it.each<[unknown, string | RegExp]>([
    [{ ...DROP_ONE, section: 'others' }, 'section is "others". Expected one of things.'],
    [{ ...DROP_ONE, action: 'constructor' }, 'action is "constructor". Expected one of drop, move.'],
    [{ ...DROP_ONE, more: 1 }, /^There is no option "more"\. Known: section, action, target, input, expected\.$/],
    [{ ...DROP_ONE, target: { address: ['locks', 'a'] } }, /^target\.address\[0\] is "locks"\. Expected "things"/],
    [{ ...DROP_ONE, target: {} }, /^target\.list is undefined\. Expected an array/],
    [{ ...DROP_ONE, action: 'move', target: { list: ['things'] } }, /^The action move needs one address/],
    [{ ...DROP_ONE, action: 'move' }, /^input\.to is undefined\. Expected 1 to 10000 characters/],
    [{ ...DROP_ONE, action: 'move', input: { to: 'a', atMs: 'x' } }, /^input\.atMs is "x"\. Expected an integer >= 0/],
    [{ ...DROP_ONE, input: { to: 'a' } }, /^input\.to is "a"\. Expected no input of this name\.$/],
    [[], /^The options are an array/],
  ])('refuses the action %j', async (body, message) => {
    for (const route of ['preview', 'act'] as const) {
      const reply = await post(url, route, body);
      expect([reply.status, reply.body['message']]).toEqual([
        400,
        typeof message === 'string' ? message : expect.stringMatching(message),
      ]);
    }
    expect(console.things.ran).toEqual([]);
  });
});

it('has a section for each module that the app imports', async () => {
  const client = standaloneClient();
  const imports = [
    ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
    LockModule.forRoot(),
    DelayedTaskModule.forRoot({ work: false }),
    ConsoleModule.forRoot(),
  ];
  const app = (await Test.createTestingModule({ imports }).compile()).createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/console/api`;
  const held = await app.get(LockService).acquire('report');
  await app.get(DelayedTaskService).schedule('send', {}, { id: 'order-7', delayMs: 60_000 });
  const names = ((await get(`${url}/me`)).body['sections'] as { name: string }[]).map(({ name }) => name);
  expect(names).toEqual(['overview', 'queues', 'locks']);
  const { sections } = (await get(`${url}/overview`)).body;
  expect(sections).toEqual(names.map((name) => ({ name, summary: expect.any(Object) as unknown })));
  expect((await get(`${url}/find?id=report`)).body).toMatchObject({
    matches: [{ address: ['locks', 'held', 'report'] }],
  });
  const { matches } = (await get(`${url}/find?id=order-7`)).body;
  const address = encodeURIComponent((matches[0].address as string[]).map(encodeURIComponent).join('/'));
  expect((await get(`${url}/show?address=${address}`)).body).toMatchObject({ facts: expect.any(Array) });
  expect((await get(`${url}/show?address=locks/none/a`)).status).toBe(404);
  await held.release();
  await app.close();
  client.disconnect();
});
