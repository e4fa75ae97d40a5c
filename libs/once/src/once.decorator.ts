import { isObservable, lastValueFrom } from 'rxjs';
import {
  Checks,
  InvalidInputError,
  isUndecorated,
  type KnownOptions,
  methodDecorator,
  MethodService,
} from '../../internal/src';
import { OnceInProgressError } from './once.errors';
import { OnceService } from './once.service';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms } from './once.terms';
import type { ClaimTerms, RunResult } from './once.types';

/** Options of `@Once()`. */
export interface OnceHandlerOptions extends ClaimTerms {
  /**
   * Returns the id of a message from the arguments of the handler; 1 to 512 characters. The id must be the same each time the message is
   * delivered.
   */
  // With `any`, the app can declare the types of the arguments, which depend on the transport.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly id: (...args: any[]) => string;
  /**
   * Name under which handled messages are remembered, 1 to 256 characters. If you rename the class or the method, set the scope to the old
   * name first, or old messages may be handled again. Default `<Class>.<method>`.
   */
  readonly scope?: string;
  /**
   * Reaction to a call while another call handles the same message. `throw`: throws an OnceInProgressError, so that the transport
   * delivers the message again. `skip`: returns undefined. Default `throw`, or `skip` if this decorator has the option
   * `delivery: 'at-most-once'`.
   */
  readonly onInProgress?: 'throw' | 'skip';
}

const KNOWN: KnownOptions<OnceHandlerOptions> = {
  id: true,
  scope: true,
  onInProgress: true,
  ...KNOWN_TERMS,
};

type Method = (...args: never[]) => unknown;

type OnceDecorator = <M extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

const ONCE = 'luanest:once';

/** Brings OnceService into the objects that have methods with `@Once()`. */
export const onceService = new MethodService(OnceService, 'OnceModule');

/**
 * Runs a method once for each message, even if several workers receive the message. After a crash, the option `delivery` decides
 * if the method runs again. The method can be a microservice handler, or any method of a provider or controller that Nest
 * creates. When the message has been handled, a further call within `retentionMs` does not run the method: it resolves with the
 * stored result, if there is one.
 *
 * If other decorators only set metadata, as those of Nest do, the order of `@Once()` and these decorators does not matter. If the
 * method returns an Observable, its last value is the result.
 *
 * @throws InvalidOptionError when the class is loaded: for an unknown option, an invalid value, or if the member is not an
 * instance method
 * @throws InvalidInputError when the method is called: for an invalid result of `id`; OnceInProgressError while another call
 * handles the message, unless `onInProgress` is `skip`; SetupError if Nest did not create the object (objects from
 * `undecorated()` of `luanest/testing` run the method without `@Once()`); the errors of `OnceService.run`
 *
 * @example
 * `@Once({ id: (order: Order) => order.id }) async handle(order: Order) { await ship(order); }`
 */
export function Once(options: OnceHandlerOptions) {
  return methodDecorator('@Once', ({ where, checks, target, method, descriptor }) => {
    const original = method as Method;
    const { scope = where } = checks.options('', options, KNOWN);
    checks.id('scope', scope, 256);
    resolveTerms(options, DEFAULT_TERMS, checks);
    const input = new Checks(checks.where, (message) => new InvalidInputError(message));
    const serviceOf = onceService.injectInto(target, checks.where);
    Reflect.defineMetadata(ONCE, true, target);
    const wrapper = function (this: object, ...args: never[]): unknown {
      return isUndecorated(this) ? original.apply(this, args) : handled(this, args);
    };
    const handled = async (instance: object, args: never[]): Promise<unknown> => {
      const service = serviceOf(instance);
      const message = { scope, id: idOf(input, options, args) };
      const answer = await service.run(message, termsOf(options), () => {
        const returned: unknown = original.apply(instance, args);
        return isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : returned;
      });
      return resultOf(answer, options);
    };
    copyIdentity(original, wrapper);
    // The method must be replaced when the class is loaded; at boot, other code may hold it already.
    // See DECISIONS.md: once-wraps-at-class-load
    descriptor.value = wrapper;
  }) as OnceDecorator;
}

/** Returns true if a method of the class has `@Once()`. */
export function hasOnce(prototype: object): boolean {
  return Reflect.hasMetadata(ONCE, prototype);
}

function termsOf({ id: _id, scope: _scope, onInProgress: _when, ...terms }: OnceHandlerOptions): ClaimTerms {
  return terms;
}

function idOf(input: Checks, options: OnceHandlerOptions, args: readonly unknown[]): string {
  return input.text('id', options.id(...args), /^[^]{1,512}$/, '1 to 512 characters');
}

function resultOf<T>(answer: RunResult<T>, options: OnceHandlerOptions): T | undefined {
  if (answer.status !== 'in-progress') return answer.result;
  const onInProgress = options.onInProgress ?? (options.delivery === 'at-most-once' ? 'skip' : 'throw');
  if (onInProgress === 'throw') throw new OnceInProgressError(answer.retryAfterMs);
  return undefined;
}

/** Copies the metadata of a method to its wrapper, where Nest looks for it. Decorators that ran earlier have set it on the method. */
function copyIdentity(from: Method, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to);
  }
  for (const property of Reflect.ownKeys(from)) {
    if (property === 'prototype') continue;
    Object.defineProperty(to, property, Object.getOwnPropertyDescriptor(from, property) as PropertyDescriptor);
  }
}
