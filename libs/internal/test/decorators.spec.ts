import { classOrMethodDecorator, InvalidOptionError, methodDecorator } from '../src';

type AnyDecorator = (target: object, key?: string, descriptor?: PropertyDescriptor) => void;

describe.each<[string, AnyDecorator, string]>([
  ['a decorator of methods', methodDecorator('@Mark', () => undefined) as AnyDecorator, 'an instance method'],
  [
    'a decorator of classes and methods',
    classOrMethodDecorator('@Mark', () => undefined),
    'a class or an instance method',
  ],
])('%s', (_, decorate, expected) => {
  class Jobs {
    static now(): void {
      // Never called.
    }
    send(): void {
      // Never called.
    }
    get url(): string {
      return '';
    }
  }
  const own = (name: string) => Object.getOwnPropertyDescriptor(Jobs.prototype, name) as PropertyDescriptor;

  it.each<[string, string, () => void]>([
    ['url', 'a getter or setter', () => decorate(Jobs.prototype, 'url', own('url'))],
    // TypeScript and esbuild give a field no descriptor, swc and Babel one with an initializer.
    ['field', 'a field', () => decorate(Jobs.prototype, 'field')],
    ['field', 'a field', () => decorate(Jobs.prototype, 'field', { initializer: () => 1 } as PropertyDescriptor)],
    ['now', 'a static member', () => decorate(Jobs, 'now', Object.getOwnPropertyDescriptor(Jobs, 'now'))],
    ['value', 'a value that is not a function', () => decorate(Jobs.prototype, 'value', { value: 5 })],
  ])('refuses Jobs.%s: it is %s', (name, kind, decorating) => {
    expect(decorating).toThrow(InvalidOptionError);
    expect(decorating).toThrow(
      new InvalidOptionError(`@Mark on Jobs.${name}: The decorator is applied to ${kind}. Expected ${expected}.`),
    );
  });

  it('takes a method', () => {
    expect(() => decorate(Jobs.prototype, 'send', own('send'))).not.toThrow();
  });
});

it('a decorator of methods refuses a class', () => {
  class Jobs {}
  const decorate = methodDecorator('@Mark', () => undefined) as AnyDecorator;
  expect(() => decorate(Jobs)).toThrow(
    '@Mark on Jobs: The decorator is applied to a class. Expected an instance method.',
  );
});

it('metadata goes to the class or to the function', () => {
  const seen: [string, object][] = [];
  const mark = classOrMethodDecorator('@Mark', ({ where, on }) => void seen.push([where, on]));
  @mark
  class Jobs {
    @mark
    send(): void {
      // Never called.
    }
  }
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const { send } = Jobs.prototype;
  expect(seen).toEqual([
    ['Jobs.send', send],
    ['Jobs', Jobs],
  ]);
});
