import { type DynamicModule } from '@nestjs/common';
import { InvalidOptionError } from '../libs/internal/src';
import { boot, closeAll, libs, type Configurable, type Lib } from './support/every-option';

afterEach(closeAll);

/** Returns the error of a refused boot. `make` may throw, as the decorator of a module would. */
async function refusalOf(make: () => DynamicModule, lib: Lib): Promise<unknown> {
  try {
    await boot({ imports: [...(lib.beside?.() ?? []), make()] }, lib.name !== 'script-registry');
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Config service of a user: a class with the options and members of its own. */
class Config {
  readonly isOurs = true;
  constructor(options: object) {
    Object.assign(this, options);
  }
}

describe.each(libs)('options of $name at boot', (lib) => {
  const module = lib.module as Configurable;
  const name = module.name;
  const expected = 'Expected an object; a factory of forRootAsync must return one.';

  it.each<[unknown, string]>([
    [null, 'null'],
    ['leaseMs', '"leaseMs"'],
    [5, '5'],
    [[], 'an array of 0'],
    [new Map(), 'of the type Map'],
    [Promise.resolve({}), 'of the type Promise'],
    [() => ({}), 'a function'],
  ])('%p in their place is refused', async (value, seen) => {
    const error = { code: 'INVALID_OPTION', message: `${name}: The options are ${seen}. ${expected}` };
    expect(await refusalOf(() => module.forRoot(value), lib)).toMatchObject(error);
    if (value instanceof Promise) return;
    const made = await refusalOf(() => module.forRootAsync({ useFactory: () => value }), lib);
    expect(made).toMatchObject(error);
    expect(made).toBeInstanceOf(InvalidOptionError);
  });

  it('undefined is for a factory to give no more than anything else', async () => {
    const error = { code: 'INVALID_OPTION', message: `${name}: The options are undefined. ${expected}` };
    expect(await refusalOf(() => module.forRootAsync({ useFactory: () => undefined }), lib)).toMatchObject(error);
    if (lib.needed !== undefined) return;
    await boot({ imports: [...(lib.beside?.() ?? []), module.forRoot()] });
  });

  it('an unknown name is refused, with the known names', async () => {
    for (const unknown of ['leasMs', 'constructor', '__proto__']) {
      const given = { ...lib.needed, [unknown]: 1 };
      const message = expect.stringMatching(
        new RegExp(`^${name}: There is no option "${unknown}"\\. Known: (.*, )?${Object.keys(lib.every)[0]}, .*\\.$`),
      ) as string;
      for (const make of [() => module.forRoot(given), () => module.forRootAsync({ useFactory: () => given })]) {
        // What Nest copies without a thought sets a prototype instead of a property.
        if (unknown === '__proto__' && make.toString().includes('forRoot(given)')) continue;
        expect(await refusalOf(make, lib)).toMatchObject({ code: 'INVALID_OPTION', message });
      }
    }
  });

  it.each(lib.nested.map(([options, message]) => ({ options, message })))('$message', async ({ options, message }) => {
    const error = (await refusalOf(() => module.forRoot({ ...lib.needed, ...options }), lib)) as InvalidOptionError;
    expect(error).toMatchObject({ code: 'INVALID_OPTION' });
    expect(error.message.slice(0, name.length + 2)).toBe(`${name}: `);
    const sentence = error.message.slice(name.length + 2);
    if (typeof message === 'string') expect(sentence).toBe(message);
    else expect(sentence).toMatch(message);
  });

  it('every option is accepted, with forRoot and forRootAsync, next to the options of the module itself', async () => {
    const ways: (() => DynamicModule)[] = [
      () => module.forRoot({ ...lib.every, ...lib.extras }),
      () => module.forRootAsync({ ...lib.extras, useFactory: async () => Promise.resolve(lib.every) }),
      () => module.forRootAsync({ ...lib.extras, useFactory: () => new Config(lib.every) }),
    ];
    for (const make of ways) expect(await refusalOf(make, lib)).toBeUndefined();
  });
});
