import { Checks } from '../../internal/src';
import { RateLimit, SkipRateLimit } from '../src/rate-limit.decorator';
import { named, resolveRule } from '../src/rules/resolve-rule';
import { RoutePlans, RULES_METADATA, SKIP_METADATA } from '../src/rules/route-rules';
import type { Handler } from '../src/rules/route-names';
import type { RateLimitRule } from '../src/rules/rule';

const rule = (options: Partial<RateLimitRule> = {}) =>
  resolveRule({ limit: 5, windowMs: 1_000, ...options }, new Checks('Test'));

interface Declared {
  readonly ofClass?: Partial<RateLimitRule>[];
  readonly ofMethod?: Partial<RateLimitRule>[];
  readonly skippedByClass?: string[];
  readonly skippedByMethod?: string[];
  /** False: the class is not a controller. */
  readonly routed?: boolean;
}

/** A class with a route `GET /a/b`, and the decorators that are given. */
function routeWith({ ofClass, ofMethod, skippedByClass, skippedByMethod, routed = true }: Declared) {
  class Cats {
    find(): void {
      // Nobody calls it.
    }
  }
  // eslint-disable-next-line @typescript-eslint/unbound-method -- a key of metadata
  const handler: Handler = Cats.prototype.find;
  const define = (key: string, value: unknown, on: object): void => {
    if (value !== undefined) Reflect.defineMetadata(key, value, on);
  };
  if (routed) {
    define('__controller__', true, Cats);
    define('path', 'a', Cats);
    define('path', 'b', handler);
    define('method', 0, handler);
  }
  define(RULES_METADATA, ofClass?.map(rule), Cats);
  define(RULES_METADATA, ofMethod?.map(rule), handler);
  define(SKIP_METADATA, skippedByClass, Cats);
  define(SKIP_METADATA, skippedByMethod, handler);
  return { target: Cats, handler };
}

function planOf(declared: Declared, module: Partial<RateLimitRule>[] = []) {
  const plans = new RoutePlans(module.map((options) => named(rule(options), String(options.name))));
  const { target, handler } = routeWith(declared);
  return plans.of(target, handler);
}

const namesOf = (declared: Declared, module?: Partial<RateLimitRule>[]): string[] =>
  planOf(declared, module).rules.map(({ name, limit }) => `${name} ${String(limit)}`);

describe('the rules of a route', () => {
  it('are those of the module, the class and the method', () => {
    expect(namesOf({ ofClass: [{ name: 'c' }], ofMethod: [{ name: 'm' }] }, [{ name: 'all' }])).toEqual([
      'all 5',
      'c 5',
      'm 5',
    ]);
    expect(namesOf({})).toEqual([]);
  });

  it('of the method replace those of the class with the same name, and these those of the module', () => {
    const declared = { ofClass: [{ name: 'x', limit: 2 }, { name: 'y', limit: 2 }], ofMethod: [{ name: 'x', limit: 3 }] }; // prettier-ignore
    expect(namesOf(declared, [{ name: 'x', limit: 1 }, { name: 'y', limit: 1 }])).toEqual(['x 3', 'y 2']); // prettier-ignore
  });

  it('are left out if the class or the method skips them', () => {
    const declared = { ofClass: [{ name: 'c' }], ofMethod: [{ name: 'm' }] };
    const module = [{ name: 'all' }];
    expect(namesOf({ ...declared, skippedByMethod: ['c', 'unknown'] }, module)).toEqual(['all 5', 'm 5']);
    expect(namesOf({ ...declared, skippedByClass: ['all'] }, module)).toEqual(['c 5', 'm 5']);
    expect(namesOf({ ...declared, skippedByClass: ['all'], skippedByMethod: ['m'] }, module)).toEqual(['c 5']);
    expect(namesOf({ ...declared, skippedByMethod: [] }, module)).toEqual([]);
    expect(namesOf({ ...declared, skippedByClass: [] }, module)).toEqual([]);
  });

  it('are made once', () => {
    const plans = new RoutePlans([]);
    const { target, handler } = routeWith({ ofMethod: [{}] });
    const other = routeWith({ ofMethod: [{}] });
    const plan = plans.of(target, handler);
    expect(plans.of(target, handler)).toBe(plan);
    expect(plans.of(target, other.handler)).not.toBe(plan);
    expect(plans.of(other.target, handler)).not.toBe(plan);
    expect(plans.of(target, handler)).toBe(plan);
  });
});

describe('a rule without a name', () => {
  it('gets that of its route, and further ones a number', () => {
    expect(namesOf({ ofClass: [{}], ofMethod: [{}, { name: 'own' }, {}] })).toEqual([
      '/a 5',
      'GET /a/b 5',
      'own 5',
      'GET /a/b #2 5',
    ]);
  });

  it('gets the path of its module', () => {
    const plans = new RoutePlans([]);
    const { target, handler } = routeWith({ ofClass: [{}], ofMethod: [{}] });
    plans.addModulePath(target, '/api');
    plans.addModulePath(target, '/api');
    expect(plans.of(target, handler).rules.map(({ name }) => name)).toEqual(['/api/a', 'GET /api/a/b']);
  });

  it('is refused for a class that two modules have at two paths', () => {
    for (const declared of [{ ofClass: [{}] }, { ofMethod: [{}] }]) {
      const plans = new RoutePlans([]);
      const { target, handler } = routeWith(declared);
      plans.addModulePath(target, '/api');
      plans.addModulePath(target, '/v2');
      expect(() => plans.of(target, handler)).toThrow(
        `@RateLimit on ${'ofClass' in declared ? 'Cats' : 'Cats.find'}: A rule has no name. Set the option \`name\` of the ` +
          'rule. A rule gets the name of its route only if the route has exactly one address.',
      );
    }
  });

  it('is refused outside of a route', () => {
    expect(() => planOf({ ofMethod: [{}], routed: false })).toThrow('@RateLimit on Cats.find: A rule has no name');
    expect(() => planOf({ ofClass: [{}], routed: false })).toThrow('@RateLimit on Cats: A rule has no name');
  });

  it('is known as such', () => {
    const plans = new RoutePlans([]);
    const { target, handler } = routeWith({ ofClass: [{ name: 'own' }], ofMethod: [{}], skippedByClass: ['x'] });
    expect(plans.declarations(target, handler)).toEqual({
      ofClass: [{ rule: expect.objectContaining({ name: 'own' }) as unknown, derived: false }],
      ofMethod: [{ rule: expect.objectContaining({ name: 'GET /a/b' }) as unknown, derived: true }],
      skippedByClass: ['x'],
      skippedByMethod: undefined,
    });
  });
});

describe('two rules with one name', () => {
  it('are refused on a class and on a method', () => {
    const twice = [{ name: 'x' }, { name: 'y' }, { name: 'x' }];
    expect(() => planOf({ ofClass: twice })).toThrow(
      '@RateLimit on Cats: Two rules have the name "x". Rename one of them.',
    );
    expect(() => planOf({ ofMethod: twice })).toThrow('@RateLimit on Cats.find: Two rules have the name "x".');
  });
});

describe('a plan', () => {
  const async5 = () => Promise.resolve(5);

  it.each<[string, Partial<RateLimitRule>, boolean]>([
    ['numbers only', {}, true],
    ['a function for the limit', { limit: async5 }, false],
    ['a function for the cost', { cost: async5 }, false],
    ['a subject', { subject: () => 'u' }, false],
    ['a function to skip', { skip: () => false }, false],
  ])('is fixed only if all rules have: %s', (_, options, fixed) => {
    expect(planOf({ ofMethod: [{ name: 'plain' }, { name: 'x', ...options }] }).fixed).toBe(fixed);
  });

  it('may refund if a rule does not count all outcomes', () => {
    expect(planOf({ ofMethod: [{ name: 'x' }, { name: 'y', count: 'failures' }] }).refunds).toBe(true);
    expect(planOf({ ofMethod: [{ name: 'x' }, { name: 'y', count: 'all' }] }).refunds).toBe(false);
  });
});

describe('the decorators', () => {
  it('write under keys of metadata that no other package has, and plans read them', () => {
    @RateLimit({ name: 'own', limit: 5, windowMs: 1_000 }, { name: 'skipped', limit: 5, windowMs: 1_000 })
    @SkipRateLimit('skipped')
    class Cats {}
    const { rules } = new RoutePlans([]).of(Cats, () => undefined);
    expect(rules.map(({ name }) => name)).toEqual(['own']);
    expect(Reflect.getMetadataKeys(Cats)).toEqual(
      expect.arrayContaining(['luanest:rate-limit:rules', 'luanest:rate-limit:skip']),
    );
  });
});
