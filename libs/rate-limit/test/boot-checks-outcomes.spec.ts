import { UseInterceptors, type Type } from '@nestjs/common';
import { RateLimit, SkipRateLimit } from '../src/rate-limit.decorator';
import { RateLimitInterceptor } from '../src/rate-limit.interceptor';
import type { RateLimitRule } from '../src/rules/rule';
import { handlerOf, minute, open, refused } from './boot-checks-support';

const a: RateLimitRule = { name: 'a', ...minute };
const failures: RateLimitRule = { name: 'f', ...minute, count: 'failures' };

describe('a name that is skipped', () => {
  @RateLimit({ name: 'b', ...minute })
  class Methods {
    @SkipRateLimit('a', 'b', 'c')
    @RateLimit({ name: 'c', ...minute })
    known(): void {}

    @SkipRateLimit('a', 'x')
    @RateLimit({ name: 'c', ...minute })
    unknown(): void {}

    @SkipRateLimit('c')
    foreign(): void {}

    @SkipRateLimit()
    all(): void {}
  }

  @SkipRateLimit('a', 'c')
  class Skipping {
    @RateLimit({ name: 'c', ...minute })
    one(): void {}

    two(): void {}
  }

  it('may be of a rule of the module, the class or the method', () => {
    expect(open({ rules: [a] }).check(Methods, 'known', 'all')).toBe('accepted');
  });

  it('is refused if no rule of the method has it', () => {
    expect(open({ rules: [a] }).check(Methods, 'known', 'unknown')).toBe(
      refused('@SkipRateLimit on Methods.unknown', 'No rule named "x" applies here. Rules that apply: "a", "b", "c".'),
    );
  });

  it('is refused on a method if only another method has the rule', () => {
    expect(open({ rules: [a] }).check(Methods, 'foreign', 'known')).toBe(
      refused('@SkipRateLimit on Methods.foreign', 'No rule named "c" applies here. Rules that apply: "a", "b".'),
    );
  });

  it('may be skipped by the class if the module or any method has the rule', () => {
    expect(open({ rules: [a] }).check(Skipping, 'two', 'one')).toBe('accepted');
  });

  it('is refused on a class without the rule', () => {
    expect(open({ rules: [a] }).check(Skipping, 'two')).toBe(
      refused('@SkipRateLimit on Skipping', 'No rule named "c" applies here. Rules that apply: "a".'),
    );
  });

  it('may be of a rule of the class on the class itself', () => {
    @SkipRateLimit('b')
    @RateLimit({ name: 'b', ...minute })
    class Own {
      one(): void {}
    }
    expect(open().check(Own, 'one')).toBe('accepted');
  });

  it('is refused if there are no rules at all', () => {
    expect(open().check(Skipping, 'two')).toBe(
      refused('@SkipRateLimit on Skipping', 'No rule named "a" applies here. Rules that apply: none.'),
    );
  });
});

/** Class with a method of a message pattern. */
function handlers(key = 'microservices:pattern'): Type {
  class Jobs {
    one(): void {}
  }
  Reflect.defineMetadata(key, 'jobs', handlerOf(Jobs, 'one'));
  return Jobs;
}

describe("a rule of the module that counts outcomes, on a handler without an HTTP response's status", () => {
  const text = (rule: string, count: string): string =>
    refused(
      'RateLimitModule',
      `Rule "${rule}" has count: "${count}", but Jobs.one is not an HTTP route, so it has no status that says whether the handler succeeded. Set ` +
        'interceptor: true in RateLimitModule.forRoot().',
    );

  it.each(['microservices:pattern', 'message', 'graphql:resolver_type', 'graphql:resolve_property'])(
    'is refused on a handler with %s',
    (key) => {
      expect(open({ rules: [a, failures] }).checkOutcomes(handlers(key))).toBe(text('f', 'failures'));
    },
  );

  it('is named: the first that counts outcomes', () => {
    const successes: RateLimitRule = { name: 's', ...minute, count: 'successes' };
    expect(open({ rules: [a, successes, failures] }).checkOutcomes(handlers())).toBe(text('s', 'successes'));
  });

  it('is accepted on an HTTP route', () => {
    expect(open({ rules: [failures] }).checkOutcomes(handlers('path'))).toBe('accepted');
  });

  it('is accepted if RateLimitInterceptor is applied to every handler', () => {
    const { checkOutcomes, has } = open({ rules: [failures], interceptor: true });
    expect([checkOutcomes(handlers()), has.mock.calls]).toEqual(['accepted', []]);
  });

  it('is accepted if no guard enforces it', () => {
    expect(open({ rules: [failures], guarded: [] }).checkOutcomes(handlers())).toBe('accepted');
  });

  it('is refused if the class or the method is guarded', () => {
    const target = handlers();
    for (const guarded of [[target], [handlerOf(target, 'one')]]) {
      expect(open({ rules: [failures], guarded }).checkOutcomes(target)).toBe(text('f', 'failures'));
    }
  });

  it('is accepted if RateLimitInterceptor is applied to the class or to the method', () => {
    class Other {}
    const [ofClass, ofMethod, ofBoth] = [handlers(), handlers(), handlers()];
    Reflect.defineMetadata('__interceptors__', [Other, RateLimitInterceptor], ofClass);
    Reflect.defineMetadata('__interceptors__', [RateLimitInterceptor], handlerOf(ofMethod, 'one'));
    UseInterceptors(Other as never)(ofBoth);
    expect(open({ rules: [failures] }).checkOutcomes(ofClass)).toBe('accepted');
    expect(open({ rules: [failures] }).checkOutcomes(ofMethod)).toBe('accepted');
    expect(open({ rules: [failures] }).checkOutcomes(ofBoth)).toBe(text('f', 'failures'));
  });

  it('is accepted if the method skips it', () => {
    const target = handlers();
    Reflect.decorate([SkipRateLimit('f')], target.prototype as object, 'one', Object.getOwnPropertyDescriptor(target.prototype, 'one')); // prettier-ignore
    expect(open({ rules: [a, failures] }).checkOutcomes(target)).toBe('accepted');
  });

  it('is accepted if a rule of the method replaces it, since the decorator applies the interceptor itself', () => {
    const target = handlers();
    Reflect.decorate([RateLimit({ ...failures, limit: 9 })], target.prototype as object, 'one', Object.getOwnPropertyDescriptor(target.prototype, 'one')); // prettier-ignore
    Reflect.deleteMetadata('__interceptors__', handlerOf(target, 'one'));
    expect(open({ rules: [a, failures] }).checkOutcomes(target)).toBe('accepted');
  });

  it('is looked for only if the module has such a rule', () => {
    const { checkOutcomes, has } = open({ rules: [a] });
    expect([checkOutcomes(handlers()), has.mock.calls]).toEqual(['accepted', []]);
  });
});
