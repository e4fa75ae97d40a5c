import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { unifiedDiff } from '../src/migrate/code/diff';
import { luanest } from './support';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'luanest-migrate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
const read = (path = 'a.ts'): string => readFileSync(join(folder, path), 'utf8');

/** Migrates one file. @returns its new text, and the list of what is left, without the file's name */
async function migrated(words: string, text: string): Promise<{ after: string; notes: string }> {
  write('a.ts', text);
  const { status, complained } = await luanest(['migrate', ...words.split(' '), folder, '--write']);
  expect(status).toBe(0);
  const after = read();
  await luanest(['migrate', ...words.split(' '), folder, '--write']);
  expect(read()).toBe(after);
  return { after, notes: complained };
}

it.each([
  ['throttler', '@nestjs/throttler'],
  ['redlock', 'redlock'],
  ['schedule', '@nestjs/schedule'],
])('%s names a file that imports the whole module', async (words, module) => {
  const text = `import * as all from '${module}';\nexport const names = Object.keys(all);\n`;
  const { after, notes } = await migrated(words, text);
  expect(after).toBe(text);
  expect(notes).toContain(`Import names from ${module} instead of the whole module, then run luanest migrate again`);
});

describe('the difference', () => {
  it('is what git apply takes, for any two texts', () => {
    const line = fc.constantFrom('a', 'b', 'c', '', '{', '}');
    const text = fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff('a.txt', before, after);
        expect(diff === '').toBe(before === after);
        if (diff === '') return;
        write('a.txt', before);
        execFileSync('git', ['apply', '-'], { cwd: folder, input: diff });
        expect(read('a.txt')).toBe(after);
      }),
      { numRuns: 60 },
    );
  });

  it('of a migration is printed without a change, and can be applied', async () => {
    const before =
      "import { SkipThrottle } from '@nestjs/throttler';\n\nexport class A {\n  @SkipThrottle()\n  b() {}\n}\n";
    write('src/a.ts', before);
    const { printed, complained } = await luanest(['migrate', 'throttler', folder]);
    expect(read('src/a.ts')).toBe(before);
    expect(complained).toMatch(/^Would change 1 file: run this again with --write\./);
    execFileSync('git', ['apply', '-'], { cwd: folder, input: `${printed}\n` });
    expect(read('src/a.ts')).toBe(
      "import { SkipRateLimit } from 'luanest/rate-limit';\n\nexport class A {\n  @SkipRateLimit()\n  b() {}\n}\n",
    );
  });
});

describe('what is left to the user has its line, its remedy and the guide', () => {
  it.each([
    [
      'a subclass of the guard',
      'throttler',
      "import { ThrottlerGuard } from '@nestjs/throttler';\nclass G extends ThrottlerGuard {\n  getTracker() {}\n}",
      2,
      'Replace getTracker with the option `subject`',
    ],
    [
      '@Throttle of version 4',
      'throttler',
      "import { Throttle } from '@nestjs/throttler';\nclass A {\n  @Throttle(10, 60)\n  b() {}\n}",
      3,
      'Only @Throttle({ name',
    ],
    [
      'a rule without its ttl',
      'throttler',
      "import { Throttle } from '@nestjs/throttler';\nclass A {\n  @Throttle({ default: { limit: 3 } })\n  b() {}\n}",
      3,
      'needs both limit and ttl',
    ],
    [
      'a skip that is turned off',
      'throttler',
      "import { SkipThrottle } from '@nestjs/throttler';\nclass A {\n  @SkipThrottle({ default: false })\n  b() {}\n}",
      3,
      'The class skips this rule',
    ],
    [
      'options elsewhere',
      'throttler',
      "import { ThrottlerModule } from '@nestjs/throttler';\nexport const m = ThrottlerModule.forRoot(options);",
      2,
      'The throttlers of this call of forRoot are not a literal list',
    ],
    [
      'options elsewhere',
      'throttler --storage-only',
      "import { ThrottlerModule } from '@nestjs/throttler';\nexport const m = ThrottlerModule.forRoot(options);",
      2,
      'Add `storage` by hand',
    ],
    [
      'another name of throttler',
      'throttler',
      "import { InjectThrottlerStorage } from '@nestjs/throttler';\nclass A {\n  constructor(@InjectThrottlerStorage() s) {}\n}",
      3,
      'InjectThrottlerStorage has no equivalent',
    ],
    [
      'a quorum',
      'redlock',
      "import Redlock from 'redlock';\nexport const r = new Redlock([a, b, c]);",
      2,
      'it uses 3 servers',
    ],
    [
      'a Redlock outside of Nest',
      'redlock',
      "import Redlock from 'redlock';\nexport const r = new Redlock([a]);",
      2,
      'This Redlock was not converted, because Nest does not inject it',
    ],
    [
      'two schedules',
      'schedule',
      "import { Cron } from '@nestjs/schedule';\nclass A {\n  @Cron('1 * * * *')\n  @Cron('2 * * * *')\n  b() {}\n}",
      3,
      'two schedules',
    ],
    [
      'a request-scoped job',
      'schedule',
      "import { Cron } from '@nestjs/schedule';\n@Injectable({ scope: Scope.REQUEST })\nclass A {\n  @Cron('1 * * * *')\n  b() {}\n}",
      4,
      'request-scoped',
    ],
    [
      'a job at run time',
      'schedule',
      "import { SchedulerRegistry } from '@nestjs/schedule';\nthis.registry.addCronJob('a', job);",
      2,
      'added at run time',
    ],
  ])('%s (%s)', async (_what, words, text, line, remedy) => {
    const { after, notes } = await migrated(words, `${text}\n`);
    expect(after).toBe(`${text}\n`);
    const [listed] = notes.split('\n').filter((one) => one.startsWith(`  a.ts:${line}  `));
    expect(listed).toContain(remedy);
    expect(notes).toMatch(/Guide: node_modules\/luanest\/docs\/from-[\w-]+\.md$/);
  });
});

describe('throttler', () => {
  it('keeps what it does not understand, next to what it converts', async () => {
    const { after, notes } = await migrated(
      'throttler',
      `// A licence that stays.
import { SkipThrottle as Skip, Throttle, ThrottlerGuard } from '@nestjs/throttler'

export class Guard extends ThrottlerGuard {}

export class A {
  @Skip() /* no limit */
  a() {}

  @Throttle({ default: { limit: () => 3, ttl: 1000 * 60, blockDuration: 5000, skipIf: isAdmin, getTracker: byUser } })
  b() {}

  @Throttle({
    long: {
      // Twice an hour.
      limit: 2,
      ttl: 3_600_000,
    },
  })
  c() {}
}
`,
    );
    expect(after).toBe(
      `// A licence that stays.
import { ThrottlerGuard } from '@nestjs/throttler'
import { SkipRateLimit, RateLimit } from 'luanest/rate-limit'

export class Guard extends ThrottlerGuard {}

export class A {
  @SkipRateLimit() /* no limit */
  a() {}

  @SkipRateLimit('default')
  @RateLimit({ limit: () => 3, windowMs: 1000 * 60, blockMs: 5000, skip: isAdmin, getTracker: byUser })
  b() {}

  @SkipRateLimit('long')
  @RateLimit({
      // Twice an hour.
      limit: 2,
      windowMs: 3_600_000,
    })
  c() {}
}
`.replace('SkipRateLimit, RateLimit', 'RateLimit, SkipRateLimit'),
    );
    expect(notes).toContain('a.ts:10  Replace getTracker');
  });

  it('takes the address of Redis from a storage, and removes the storage', async () => {
    const { after } = await migrated(
      'throttler',
      `import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { ThrottlerModule } from '@nestjs/throttler';
@Module({
  imports: [
    ThrottlerModule.forRoot({
      throttlers: [{ name: 'a', limit: 1, ttl }],
      setHeaders: false,
      storage: new ThrottlerStorageRedisService(process.env.REDIS),
    }),
  ],
})
export class AppModule {}
`,
    );
    expect(after).toContain(
      '    ScriptRegistryModule.forRoot({ url: process.env.REDIS }),\n    RateLimitModule.forRoot({\n',
    );
    expect(after).toContain(
      "rules: [{ name: 'a', limit: 1, windowMs: ttl }],\n      responses: { headers: false },\n    }),",
    );
    expect(after).not.toContain('torage');
  });

  it('stores the hits of forRootAsync in Redis, after what it already injects', async () => {
    const { after } = await migrated(
      'throttler --storage-only',
      `import { ThrottlerModule } from '@nestjs/throttler';
export const limits = ThrottlerModule.forRootAsync({
  imports: [ConfigModule],
  inject: [ConfigService],
  useFactory: (config: ConfigService) => [{ ttl: 1, limit: config.get('LIMIT') }],
});
`,
    );
    expect(after).toContain(`  imports: [ConfigModule, RateLimitThrottlerStorageModule.forRoot()],
  inject: [ConfigService, RateLimitThrottlerStorage],
  useFactory: (config: ConfigService, storage: RateLimitThrottlerStorage) => ({ throttlers: [{ ttl: 1, limit: config.get('LIMIT') }], storage }),
`);
  });
});

describe('redlock', () => {
  it('converts a class that makes its Redlock itself, with the settings of each call', async () => {
    const { after, notes } = await migrated(
      'redlock',
      `import Redlock from 'redlock';
@Injectable()
export class A {
  private readonly locks = new Redlock([redis]);

  async a(abort) {
    await this.locks.using(['a', 'b'], ttl, { retryCount: 3, retryDelay: 100 }, async s => {
      if (s.aborted) throw s.error;
    });
    const l = await this.locks.acquire(names, 1000, { retryCount: -1 });
    await this.locks.release(l);
  }
}
`,
    );
    expect(after).toBe(`import { LockService } from 'luanest/lock';
@Injectable()
export class A {
  constructor(private readonly locks: LockService) {}

  async a(abort) {
    await this.locks.withLock(['a', 'b'], { leaseMs: ttl, waitMs: 300 }, async ({ signal: s }) => {
      if (s.aborted) throw s.reason;
    });
    const l = await this.locks.acquire(names, { leaseMs: 1000, renew: false });
    await l.release();
  }
}
`);
    expect(notes).toContain('a.ts:10  Set `waitMs`');
    expect(notes).toContain(
      'No root module was found, so nothing was added. Add this to the imports of your root module: ScriptRegistryModule.forRoot(',
    );
  });
});

describe('the compiler of the app', () => {
  it('is named if it has no parser', async () => {
    write('node_modules/typescript/package.json', '{ "name": "typescript", "main": "index.js" }');
    write('node_modules/typescript/index.js', "exports.version = '7.0.1';");
    const { status, complained } = await luanest(['migrate', 'throttler', folder]);
    expect(status).toBe(2);
    expect(complained).toMatch(/typescript 7\.0\.1 in .* has no parser .* npx -p luanest -p typescript@6/);
  });
});

describe('the command line', () => {
  it.each([
    [['migrate'], 'no migration from nothing'],
    [['migrate', 'bull', '.'], 'no migration from bull'],
    [['migrate', 'throttler'], 'Give one folder'],
    [['migrate', 'throttler', 'src', 'test'], 'Give one folder'],
    [['migrate', 'throttler', 'nowhere'], 'There is no folder nowhere'],
    [['migrate', 'redlock', '.', '--storage-only'], '--storage-only can be used only with luanest migrate throttler'],
  ])('%j', async (args, text) => {
    const { status, complained } = await luanest(args, { folder });
    expect(status).toBe(2);
    expect(complained).toContain(text);
  });
});
