import {
  Injectable,
  Module,
  Scope,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { of } from 'rxjs';
import { Test } from '@nestjs/testing';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';
import { ConsoleModule } from '../src/console.module';
import type { ConsoleModuleOptions } from '../src/console.options';
import {
  ANN,
  DROP_ONE,
  everybody,
  get,
  openConsole,
  platforms,
  post,
  type AppOptions,
  type ConsoleApp,
} from './support';

const BOB = { 'x-user': 'bob', 'x-role': 'read' };

let opened: ConsoleApp | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

/** Opens an app, and returns the URL of its console. */
async function open(options: AppOptions = {}): Promise<string> {
  opened = await openConsole(options);
  return `${opened.url}/console`;
}

describe('an app without a guard', () => {
  const client = standaloneClient();
  afterAll(() => client.disconnect());

  function boot(options: ConsoleModuleOptions): Promise<void> {
    const imports = [ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }), ConsoleModule.forRoot(options)];
    return Test.createTestingModule({ imports })
      .compile()
      .then((app) => app.close());
  }

  it.each(['production', 'development', undefined])('does not boot if NODE_ENV is %s', async (environment) => {
    const before = process.env['NODE_ENV'];
    if (environment === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = environment;
    try {
      for (const options of [{}, { guard: [] }]) {
        await expect(boot(options)).rejects.toMatchObject({
          code: 'INVALID_OPTION',
          message:
            'ConsoleModule: There is no guard, so everybody could see and change what is in Redis. Set the option guard to a guard that knows your operators.',
        });
      }
      await boot({ guard: { canActivate: () => false } });
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });

  it('boots in a test, read-only', () => boot({}));

  it.each(['/a b', 'a/../b', '', '/', 'https://x'])('is refused with the path %j', (path) => {
    expect(() => ConsoleModule.forRoot({ path })).toThrow(/^ConsoleModule: path is ".*"\. Expected a path such as/);
  });
});

/** Knows users by a header, as an app's login would. */
@Injectable()
class Logins {
  readonly asked: string[] = [];
  knows(name: string | undefined): boolean {
    this.asked.push(name ?? '');
    return name !== undefined;
  }
}

@Injectable()
class LoginGuard implements CanActivate {
  constructor(private readonly logins: Logins) {}
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    if (this.logins.knows(headers['x-user'])) return true;
    throw new UnauthorizedException('Who are you?');
  }
}

@Module({ providers: [Logins, LoginGuard] })
class LoginModule {}

@Injectable({ scope: Scope.REQUEST })
class EachRequestGuard implements CanActivate {
  static made = 0;
  constructor(private readonly logins: Logins) {
    EachRequestGuard.made += 1;
  }
  canActivate(): Promise<boolean> {
    return Promise.resolve(this.logins.asked.length >= 0);
  }
}

@Module({ providers: [Logins, EachRequestGuard] })
class EachRequestModule {}

const ROUTES = [
  '',
  '/',
  '/assets/console.js',
  '/api/me',
  '/api/overview',
  '/api/list?address=things/all',
  '/api/show?address=things/all/a',
  '/api/find?id=a',
  '/api/log',
  '/api/history',
  '/api/live',
];

describe.each(platforms)('guards on %s', (_name, adapter) => {
  it('of a module hold for every route, reads and actions', async () => {
    const url = await open({ adapter: adapter(), console: { guard: LoginGuard }, imports: [LoginModule] });
    for (const route of ROUTES) {
      const { status, text, headers } = await get(url + route, {});
      expect([route, status, text]).toEqual([route, 401, expect.stringContaining('Who are you?')]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    for (const route of ['preview', 'act'] as const) {
      expect((await post(url, route, DROP_ONE, { 'x-user': '' })).status).toBe(401);
    }
    expect((await get(`${url}/api/me`)).status).toBe(200);
    expect(opened?.app.get(Logins).asked.filter((name) => name === '')).toHaveLength(ROUTES.length + 2);
    expect(opened?.things.ran).toEqual([]);
  });

  it('are asked in their order, whether instances, classes without a module, or made for each request', async () => {
    const order: string[] = [];
    class Free implements CanActivate {
      canActivate(): boolean {
        order.push('class');
        return true;
      }
    }
    const last = { canActivate: () => of(order.push('instance') < 5) };
    const made = EachRequestGuard.made;
    const url = await open({
      adapter: adapter(),
      console: { guard: [Free, EachRequestGuard, last] },
      imports: [EachRequestModule],
    });
    expect((await get(`${url}/api/me`)).status).toBe(200);
    expect((await get(`${url}/api/me`)).status).toBe(200);
    expect(order).toEqual(['class', 'instance', 'class', 'instance']);
    expect(EachRequestGuard.made - made).toBe(2);
    expect((await get(`${url}/api/me`)).status).toBe(403);
  });

  it('of the whole app hold, too', async () => {
    const url = await open({
      adapter: adapter(),
      prepare: (app) => app.useGlobalGuards({ canActivate: () => false }),
    });
    for (const route of ROUTES) expect([route, (await get(url + route)).status]).toEqual([route, 403]);
  });
});

it('a guard that needs what the app lacks stops the boot', async () => {
  await expect(open({ console: { guard: LoginGuard } })).rejects.toMatchObject({
    code: expect.any(String),
    message: expect.stringMatching(
      /^ConsoleModule: Nest could not create the guard LoginGuard: .*Add the guard to the providers/,
    ),
  });
});

describe('roles', () => {
  it('nobody is refused, and a reader may look and not act', async () => {
    const url = await open();
    const nobody = await get(`${url}/api/me`, {});
    expect([nobody.status, nobody.body['message']]).toEqual([403, expect.stringContaining('returned nobody for it')]);
    expect((await get(`${url}/api/me`, BOB)).body).toMatchObject({ role: 'read', actor: 'bob', csrf: '' });
    const { csrf } = (await get(`${url}/api/me`)).body;
    for (const route of ['preview', 'act'] as const) {
      const refused = await post(url, route, DROP_ONE, { 'x-luanest-console': csrf as string }, BOB);
      expect([refused.status, refused.body['message']]).toEqual([
        403,
        'Your role lets you read, but not run actions. Ask somebody with a role that may act.',
      ]);
    }
    expect(opened?.things.ran).toEqual([]);
    expect((await get(`${url}/api/log`, BOB)).body).toEqual({ items: [] });
  });

  it('a console that is read-only refuses everybody', async () => {
    const url = await open({ console: { readOnly: true } });
    expect((await get(`${url}/api/me`)).body).toMatchObject({ role: 'act', readOnly: true, csrf: '' });
    for (const route of ['preview', 'act'] as const) {
      const refused = await post(url, route, DROP_ONE);
      expect([refused.status, refused.body['message']]).toEqual([403, expect.stringContaining('is read-only')]);
    }
    expect(opened?.things.ran).toEqual([]);
  });

  it.each([[{ name: '', role: 'act' }], [{ name: 'a', role: 'admin' }], ['ann'], [{ name: 5, role: 'read' }]])(
    'an invalid actor, %j, is refused',
    async (actor) => {
      const url = await open({ console: { actor: () => actor as never } });
      const { status, text } = await get(`${url}/api/me`);
      expect(status).toBe(500);
      expect(text).not.toContain('things');
    },
  );
});

describe.each(platforms)('a request for an action on %s', (_name, adapter) => {
  let app: ConsoleApp;
  let url: string;
  beforeAll(async () => {
    app = await openConsole({ adapter: adapter() });
    url = `${app.url}/console`;
  });
  afterAll(() => app.close());

  it.each<[string, Record<string, string>, number]>([
    ['without the token', { 'x-luanest-console': '' }, 403],
    ['with a wrong token', { 'x-luanest-console': 'x'.repeat(43) }, 403],
    ['with a part of a token', { 'x-luanest-console': 'x' }, 403],
    ['of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['of a sibling', { 'sec-fetch-site': 'same-site' }, 403],
    ['of an address bar', { 'sec-fetch-site': 'none' }, 403],
    ['of no page', { 'sec-fetch-site': '' }, 403],
    ['of another origin, by an old browser', { 'sec-fetch-site': '', origin: 'https://evil.example' }, 403],
    ['of an opaque origin', { 'sec-fetch-site': '', origin: 'null' }, 403],
    ['of a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['of plain text', { 'content-type': 'text/plain' }, 415],
  ])('%s is refused', async (_what, headers, status) => {
    for (const route of ['preview', 'act'] as const) {
      const { status: seen } = await post(url, route, DROP_ONE, headers);
      expect([route, seen]).toEqual([route, status]);
    }
    expect(app.things.ran).toEqual([]);
  });

  it('with the token of another user is refused', async () => {
    const eve = (await get(`${url}/api/me`, { 'x-user': 'eve' })).body['csrf'] as string;
    expect((await post(url, 'act', DROP_ONE, { 'x-luanest-console': eve })).status).toBe(403);
    expect(app.things.ran).toEqual([]);
  });

  it('of an old browser is let through from its own origin, and a token of one process is known to another', async () => {
    const other = await openConsole({ adapter: adapter(), prefix: app.prefix });
    const { csrf } = (await get(`${other.url}/console/api/me`)).body;
    await other.close();
    const headers = { 'sec-fetch-site': '', origin: app.url, 'x-luanest-console': csrf as string };
    expect((await post(url, 'act', DROP_ONE, headers)).status).toBe(200);
    expect(app.things.ran).toHaveLength(1);
  });

  it('is the only one that needs a token, and reads of other sites are refused', async () => {
    for (const [site, status] of [
      ['same-origin', 200],
      ['none', 200],
      ['same-site', 403],
      ['cross-site', 403],
    ] as const) {
      const reply = await get(`${url}/api/overview`, { ...ANN, 'sec-fetch-site': site });
      expect([site, reply.status]).toEqual([site, status]);
      // A link of another page may open the console.
      expect((await get(`${url}/`, { ...ANN, 'sec-fetch-site': site })).status).toBe(200);
    }
  });
});

it('forRootAsync takes the path next to the factory', async () => {
  const useFactory = (): ConsoleModuleOptions => ({ actor: everybody });
  await open({ module: ConsoleModule.forRootAsync({ path: 'deep/ops/', useFactory }) });
  expect((await get(`${opened?.url}/deep/ops/api/me`)).body).toMatchObject({ actor: 'ann', readOnly: true });
  const page = await get(`${opened?.url}/deep/ops`);
  expect([page.status, page.headers.get('location')]).toEqual([302, 'ops/']);
});

it('payloads are shown only if asked, through redact, and cut', async () => {
  const shown = async (options: ConsoleModuleOptions): Promise<unknown> => {
    const url = await open({ console: options });
    const { body } = await get(`${url}/api/list?address=things/all`);
    await opened?.close();
    opened = undefined;
    return body['rows'][0].cells[2];
  };
  const redact = (): unknown => ({ secret: '***' });
  expect(await shown({ redact })).toEqual({});
  expect(await shown({ showPayloads: true })).toEqual({ payload: { secret: 1 } });
  expect(await shown({ showPayloads: true, redact })).toEqual({ payload: { secret: '***' } });
  expect(await shown({ showPayloads: true, redact: () => Reflect.ownKeys(1 as never) })).toEqual({});
  expect(await shown({ showPayloads: true, redact: () => 1n })).toEqual({});
  const { payload } = (await shown({ showPayloads: true, redact: () => 'x'.repeat(20_000) })) as { payload: string };
  expect(payload).toHaveLength(10_001);
});
