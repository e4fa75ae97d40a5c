import { Inject } from '@nestjs/common';
import { isObservable, lastValueFrom } from 'rxjs';
import { type KnownOptions, methodDecorator } from '../../internal/src';
import { InvalidOnceInputError, OnceInProgressError } from './once.errors';
import { OnceService } from './once.service';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms } from './once.terms';
import type { ClaimTerms, RunAnswer } from './once.types';

/** What `@Once()` takes. */
export interface OnceHandlerOptions extends ClaimTerms {
  /** The id of a message, from the handler's arguments; text of 1 to 512 characters that redeliveries share. */
  // A handler's arguments are whatever its transport gives: any lets the function name their type itself.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly id: (...args: any[]) => string;
  /** Keeps apart handlers that get the same messages; text of 1 to 256 characters. Default `<Class>.<method>`. */
  readonly scope?: string;
  /**
   * What happens while another is at the message: `throw` an OnceInProgressError, so that it is delivered again, or `skip`.
   * Default `throw`, and `skip` with `delivery: 'at-most-once'`.
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

/** Where an instance holds the service that Nest injected. */
const SERVICE = Symbol('luanest:once-service');
type Holder = Record<typeof SERVICE, OnceService | undefined>;

/**
 * Runs a method once per message, whatever the number of workers that get it: a microservice handler, or any method of a
 * provider or controller that Nest has made. A duplicate resolves with what the first run returned.
 *
 * It may stand above or below the other decorators of the method. Of an Observable the last value counts.
 *
 * @throws InvalidOptionError when the class is loaded, for an unknown option, an invalid value, and on anything but an instance method
 * @throws InvalidOnceInputError when the message has no usable id, OnceInProgressError while another is at it
 */
export function Once(options: OnceHandlerOptions) {
  return methodDecorator('@Once', ({ where, checks, target, method, descriptor }) => {
    const original = method as Method;
    const scope = checks.options('', options, KNOWN).scope ?? where;
    resolveTerms(options, DEFAULT_TERMS, checks);
    if (!Object.prototype.hasOwnProperty.call(target, SERVICE)) {
      Inject(OnceService)(target, SERVICE);
      Object.defineProperty(target, SERVICE, { value: undefined, writable: true });
    }
    const wrapper = async function (this: Holder, ...args: never[]): Promise<unknown> {
      const service = this[SERVICE];
      if (service === undefined) {
        throw new TypeError(`${scope} was called on an object that Nest has not made. @Once() needs OnceModule.`);
      }
      const answer = await service.runMessage(scope, idOf(scope, options, args), termsOf(options), () => {
        const returned: unknown = original.apply(this, args);
        return isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : returned;
      });
      return outcome(answer, options);
    };
    copyIdentity(original, wrapper);
    // See DECISIONS.md: once-wraps-at-class-load
    descriptor.value = wrapper;
  }) as OnceDecorator;
}

function termsOf({ id: _id, scope: _scope, onInProgress: _when, ...terms }: OnceHandlerOptions): ClaimTerms {
  return terms;
}

function idOf(scope: string, options: OnceHandlerOptions, args: readonly unknown[]): string {
  const id: unknown = options.id(...args);
  if (typeof id !== 'string' || id === '' || id.length > 512) {
    throw new InvalidOnceInputError(`The id of a message for ${scope} is not a text of 1 to 512 characters.`);
  }
  return id;
}

function outcome<T>(answer: RunAnswer<T>, options: OnceHandlerOptions): T | undefined {
  if (answer.status !== 'in-progress') return answer.result;
  const onInProgress = options.onInProgress ?? (options.delivery === 'at-most-once' ? 'skip' : 'throw');
  if (onInProgress === 'throw') throw new OnceInProgressError(answer.retryAfterMs);
  return undefined;
}

/** What decorators below have said of the method, Nest finds on the function: it moves with it. */
function copyIdentity(from: Method, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to);
  }
  for (const property of Reflect.ownKeys(from)) {
    if (property === 'prototype') continue;
    Object.defineProperty(to, property, Object.getOwnPropertyDescriptor(from, property) as PropertyDescriptor);
  }
}
