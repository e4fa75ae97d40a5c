import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RateLimitModule } from 'luanest/rate-limit';
import { RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import { sharedRedisUrl } from '../../../test/support/shared-servers';
import { luanest } from './support';

const APPS = join(__dirname, 'apps');
/** Each app, and the words that migrate it. */
const MIGRATIONS: readonly (readonly [app: string, ...words: string[]])[] = [
  ['cats', 'throttler'],
  ['shop', 'throttler'],
  ['proxied', 'throttler', '--storage-only'],
  ['invoices', 'redlock'],
  ['reports', 'schedule'],
];

function filesOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

/**
 * Loads the tests of an app. Its limits wait longer for Redis than the 50 ms of the default: on a busy machine, a call takes longer, and is
 * then counted in the process instead of in Redis.
 */
function loadTests(app: string, version: string): void {
  const patient = { deadlineMs: 10_000 };
  const forRoot = RateLimitModule.forRoot.bind(RateLimitModule);
  const forRootAsync = RateLimitModule.forRootAsync.bind(RateLimitModule);
  const forStorage = RateLimitThrottlerStorageModule.forRoot.bind(RateLimitThrottlerStorageModule);
  const spies = [
    jest.spyOn(RateLimitModule, 'forRoot').mockImplementation((options) => forRoot({ ...options, ...patient })),
    jest.spyOn(RateLimitModule, 'forRootAsync').mockImplementation((options) =>
      forRootAsync({
        ...options,
        useFactory: async (...injected: unknown[]) => ({ ...(await options.useFactory?.(...injected)), ...patient }),
      }),
    ),
    jest
      .spyOn(RateLimitThrottlerStorageModule, 'forRoot')
      .mockImplementation((options) => forStorage({ ...options, ...patient })),
  ];
  jest.requireActual(join(APPS, app, version, 'test', 'app.e2e-spec.ts'));
  for (const spy of spies) spy.mockRestore();
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'luanest-migrate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.each(MIGRATIONS)('the app %s', (app, ...words) => {
  const before = join(APPS, app, 'before');
  const after = join(APPS, app, 'after');

  it('becomes what is stored, and a second run changes nothing', async () => {
    cpSync(before, folder, { recursive: true });
    const first = await luanest(['migrate', ...words, folder, '--write']);
    expect(first.status).toBe(0);
    expect(filesOf(folder)).toEqual(filesOf(after));
    const second = await luanest(['migrate', ...words, folder, '--write']);
    expect(second.printed).toBe('');
    expect(second.complained).toMatch(/^There is nothing to change\./);
    expect(filesOf(folder)).toEqual(filesOf(after));
  });

  // The app's own tests, first with the library that it had. What Redis holds is in a database of the app.
  const database = MIGRATIONS.findIndex(([name]) => name === app) + 5;
  describe.each(['before', 'after'])('%s', (version) => {
    // Some of an app reads it when it is loaded, and some when it starts.
    const before = process.env.REDIS_URL;
    const setUrl = (url: string | undefined): void => {
      if (url === undefined) delete process.env.REDIS_URL;
      else process.env.REDIS_URL = url;
    };
    beforeAll(() => setUrl(`${sharedRedisUrl()}/${database}`));
    afterAll(() => setUrl(before));
    setUrl(`${sharedRedisUrl()}/${database}`);
    loadTests(app, version);
    setUrl(before);
  });
});
