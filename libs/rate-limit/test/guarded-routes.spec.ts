import type { Type } from '@nestjs/common';
import { RateLimitGuard } from '../src/rate-limit.guard';
import { GuardedRoutes } from '../src/rules/guarded-routes';

class OwnGuard extends RateLimitGuard {}
class OtherGuard {}

/** Class that injects something, by metadata that Nest and TypeScript set. */
function injecting(key: string, value: unknown): Type {
  class Injecting {}
  Reflect.defineMetadata(key, value, Injecting);
  return Injecting;
}

function routes(parts: { guards?: unknown[]; requestScoped?: unknown[]; provided?: unknown } = {}): GuardedRoutes {
  const { guards = [], requestScoped = [], provided = {} } = parts;
  const config = {
    getGlobalGuards: () => guards,
    getGlobalRequestGuards: () => requestScoped.map((metatype) => ({ metatype })),
  };
  return new GuardedRoutes(config as never, provided);
}

const ofParameter = injecting('design:paramtypes', [OtherGuard, RateLimitGuard]);
const ofToken = injecting('self:paramtypes', [
  { index: 0, param: 'text' },
  { index: 1, param: OwnGuard },
]);
const ofProperty = injecting('self:properties_metadata', [
  { key: 'one', type: undefined },
  { key: 'two', type: RateLimitGuard },
]);

const guarding: [name: string, guard: unknown][] = [
  ['RateLimitGuard', RateLimitGuard],
  ['a class that extends it', OwnGuard],
  ['an instance of it', new RateLimitGuard({} as never)],
  ['an instance of a class that extends it', new OwnGuard({} as never)],
  ['a class that gets it as a parameter', ofParameter],
  ['a class that gets it by a token', ofToken],
  ['a class that gets it as a property', ofProperty],
  ['an instance of a class that gets it as a parameter', new ofParameter()],
  ['an instance of a class that gets it by a token', new ofToken()],
  ['an instance of a class that gets it as a property', new ofProperty()],
];
const others: [name: string, guard: unknown][] = [
  ['another class', OtherGuard],
  ['an instance of another class', new OtherGuard()],
  ['a class that gets another', injecting('design:paramtypes', [OtherGuard])],
  ['a class whose parameters have no known type', injecting('design:paramtypes', [undefined, null, 'text', {}])],
  ['a class whose token is text', injecting('self:paramtypes', [{ index: 0, param: 'RateLimitGuard' }])],
  ['a function', () => true],
  ['an object without a class', Object.create(null)],
  ['nothing', undefined],
  ['null', null],
  ['text', 'RateLimitGuard'],
];

describe('the guards of an app', () => {
  it('are missing by default', () => {
    const guarded = routes();
    expect([guarded.everywhere, guarded.has(class {}), guarded.has(() => undefined)]).toEqual([false, false, false]);
  });

  it.each(guarding)('enforce rules everywhere with %s as a global guard', (_name, guard) => {
    const guarded = routes({ guards: [new OtherGuard(), guard] });
    expect([guarded.everywhere, guarded.has(class {}), guarded.has(() => undefined)]).toEqual([true, true, true]);
  });

  it.each(guarding)('enforce rules everywhere with %s as a guard of each request', (_name, guard) => {
    const guarded = routes({ requestScoped: [OtherGuard, guard] });
    expect([guarded.everywhere, guarded.has(class {})]).toEqual([true, true]);
  });

  it.each(others)('enforce no rules with %s', (_name, guard) => {
    const target = class {};
    Reflect.defineMetadata('__guards__', [guard], target);
    const guarded = routes({ guards: [guard], requestScoped: [guard] });
    expect([guarded.everywhere, guarded.has(target)]).toEqual([false, false]);
  });

  it('enforce rules with what the app provides as RateLimitGuard', () => {
    const provided = { canActivate: () => true };
    expect(routes({ guards: [provided], provided }).everywhere).toBe(true);
    expect(routes({ guards: [{ ...provided }], provided }).everywhere).toBe(false);
  });
});

describe('the guards of a route', () => {
  it.each(guarding)('enforce its rules with %s', (_name, guard) => {
    const [target, handler] = [class {}, () => undefined];
    Reflect.defineMetadata('__guards__', [OtherGuard, guard], target);
    Reflect.defineMetadata('__guards__', [guard], handler);
    const guarded = routes();
    expect([guarded.has(target), guarded.has(handler), guarded.everywhere]).toEqual([true, true, false]);
  });

  it('are those of the class itself and of the method itself', () => {
    const [target, handler] = [class {}, () => undefined];
    Reflect.defineMetadata('__guards__', [RateLimitGuard], target);
    Reflect.defineMetadata('__guards__', [OtherGuard], handler);
    expect([routes().has(target), routes().has(handler)]).toEqual([true, false]);
  });
});
