import { Inject } from '@nestjs/common';
import { isObservable, lastValueFrom } from 'rxjs';
import { Checks, type KnownOptions, methodDecorator } from '../../internal/src';
import { InvalidOnceInputError, OnceInProgressError, OnceSetupError } from './once.errors';
import { OnceService } from './once.service';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms } from './once.terms';
import type { ClaimTerms, RunAnswer } from './once.types';

/** Options of `@Once()`. */
export interface OnceHandlerOptions extends ClaimTerms {
  /** Returns a message's id from the handler's arguments: 1 to 512 characters, the same for each redelivery. */
  // `any` lets the function name the types of its arguments, which depend on the transport.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly id: (...args: any[]) => string;
  /**
   * Name of the handler: handlers of different scopes both handle a message with the same id. 1 to 256 characters.
   * Default `<Class>.<method>`.
   */
  readonly scope?: string;
  /**
   * Reaction while another process handles the message: `throw` an OnceInProgressError, so that the transport delivers the
   * message again, or `skip` the message. Default `throw`; `skip` with `delivery: 'at-most-once'`.
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

/** Property of an instance that holds the OnceService that Nest injects. */
const SERVICE = Symbol('luanest:once-service');
type Holder = Record<typeof SERVICE, OnceService | undefined>;

/**
 * Runs a method once for each message, no matter how many workers receive the message. The method can be a microservice
 * handler, or any method of a provider or controller that Nest creates. A duplicate resolves with the result of the first
 * run.
 *
 * The order of `@Once()` and other decorators of the method does not matter. If the method returns an Observable, its last
 * value is the result.
 *
 * @throws InvalidOptionError when the class is loaded: for an unknown option, an invalid value, or anything but an instance method
 * @throws InvalidOnceInputError when the method is called and `id` returns an invalid id; OnceInProgressError while another
 * process handles the message; OnceSetupError on an object that Nest did not create
 */
export function Once(options: OnceHandlerOptions) {
  return methodDecorator('@Once', ({ where, checks, target, method, descriptor }) => {
    const original = method as Method;
    const scope = checks.options('', options, KNOWN).scope ?? where;
    resolveTerms(options, DEFAULT_TERMS, checks);
    const input = new Checks(checks.where, (message) => new InvalidOnceInputError(message));
    if (!Object.prototype.hasOwnProperty.call(target, SERVICE)) {
      Inject(OnceService)(target, SERVICE);
      Object.defineProperty(target, SERVICE, { value: undefined, writable: true });
    }
    const wrapper = async function (this: Holder, ...args: never[]): Promise<unknown> {
      const service = this[SERVICE];
      if (service === undefined) {
        throw new OnceSetupError(
          `@Once on ${where}: It was called on an object that Nest did not create, so it has no OnceService. ` +
            'Inject the object, and import OnceModule.',
        );
      }
      const answer = await service.runMessage(scope, idOf(input, options, args), termsOf(options), () => {
        const returned: unknown = original.apply(this, args);
        return isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : returned;
      });
      return resultOf(answer, options);
    };
    copyIdentity(original, wrapper);
    // See DECISIONS.md: once-wraps-at-class-load
    descriptor.value = wrapper;
  }) as OnceDecorator;
}

function termsOf({ id: _id, scope: _scope, onInProgress: _when, ...terms }: OnceHandlerOptions): ClaimTerms {
  return terms;
}

function idOf(input: Checks, options: OnceHandlerOptions, args: readonly unknown[]): string {
  return input.text('id', options.id(...args), /^[^]{1,512}$/, '1 to 512 characters');
}

function resultOf<T>(answer: RunAnswer<T>, options: OnceHandlerOptions): T | undefined {
  if (answer.status !== 'in-progress') return answer.result;
  const onInProgress = options.onInProgress ?? (options.delivery === 'at-most-once' ? 'skip' : 'throw');
  if (onInProgress === 'throw') throw new OnceInProgressError(answer.retryAfterMs);
  return undefined;
}

/** Copies metadata and properties: decorators that ran before have left them on the original, and Nest reads them from the wrapper. */
function copyIdentity(from: Method, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to);
  }
  for (const property of Reflect.ownKeys(from)) {
    if (property === 'prototype') continue;
    Object.defineProperty(to, property, Object.getOwnPropertyDescriptor(from, property) as PropertyDescriptor);
  }
}
