import { Inject, Injectable, Module, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Checks, constructed, defineLuanestModule, InvalidOptionError } from '../src';

const OPTIONS = Symbol('options');
const checks = new Checks('CounterModule');

@Injectable()
class Counter {
  constructor(@Inject(OPTIONS) readonly options: { readonly limit: number }) {}
}

let resolved = 0;
@Module({})
class CounterModule extends defineLuanestModule<
  { readonly limit?: number },
  { readonly isGlobal?: boolean; readonly registry?: string; readonly loud?: boolean },
  { readonly limit: number }
>({
  name: 'CounterModule',
  optionsToken: OPTIONS,
  extras: { loud: false },
  resolve: ({ limit = 5 }) => {
    resolved += 1;
    return { limit: checks.integer('limit', limit, 1, 9) };
  },
  parts: ({ registry, loud }, options) => ({
    providers: [constructed(Counter, options), { provide: 'extras', useValue: [registry, loud] }],
    exports: [Counter, 'extras'],
  }),
}) {}

const boot = async (...imports: DynamicModule[]) => Test.createTestingModule({ imports }).compile();

describe('a module of defineLuanestModule', () => {
  it('takes options from forRoot, from a factory, or none, and resolves them once', async () => {
    resolved = 0;
    for (const [made, limit] of [
      [CounterModule.forRoot(), 5],
      [CounterModule.forRoot({ limit: 3 }), 3],
      [CounterModule.forRootAsync({ useFactory: () => Promise.resolve({ limit: 4 }) }), 4],
    ] as const) {
      expect((await boot(made)).get(Counter).options).toEqual({ limit });
    }
    expect(resolved).toBe(3);
  });

  it('gives its parts the extras, and keeps them out of the options', async () => {
    const app = await boot(CounterModule.forRootAsync({ registry: 'other', loud: true, useFactory: () => ({}) }));
    expect(app.get<unknown>('extras')).toEqual(['other', true]);
    expect(CounterModule.forRoot({ isGlobal: false })).toMatchObject({ module: CounterModule, global: false });
    expect(CounterModule.forRoot()).toMatchObject({ global: true });
  });

  it('refuses a second import before it resolves the options of either', async () => {
    resolved = 0;
    const booting = boot(CounterModule.forRoot({ limit: 1 }), CounterModule.forRoot({ limit: 2 }));
    await expect(booting).rejects.toThrow(
      new InvalidOptionError(
        'CounterModule: forRoot() or forRootAsync() is imported 2 times. Import it once, in the root module, without ' +
          'isGlobal: false. Every other module can then inject what it exports.',
      ),
    );
    expect(resolved).toBe(0);
  });

  it.each<[string, () => DynamicModule, string]>([
    [
      'a value',
      () => CounterModule.forRoot({ limit: 0 }),
      'CounterModule: limit is 0. Expected an integer from 1 to 9.',
    ],
    [
      'isGlobal',
      () => CounterModule.forRoot({ isGlobal: 1 as never }),
      'CounterModule: isGlobal is 1. Expected true or false.',
    ],
    [
      'registry',
      () => CounterModule.forRoot({ registry: '' }),
      'CounterModule: registry is "". Expected the name of a ScriptRegistry.',
    ],
  ])('refuses %s', async (_, make, message) => {
    await expect((async () => boot(make()))()).rejects.toThrow(new InvalidOptionError(message));
  });
});
