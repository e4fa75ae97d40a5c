import type { Provider } from '@nestjs/common';
import type { Lock, LockService } from 'luanest/lock';
import type { OnceRun, OnceService } from 'luanest/once';
import type { RateLimitDecision, RateLimitService } from 'luanest/rate-limit';
import type { ScheduledLockService } from 'luanest/scheduled-lock';
import type { IdempotencyParts } from '../../../once/src/internal';
import type { RateLimitEnforcer } from '../../../rate-limit/src/internal';

/* eslint-disable @typescript-eslint/no-require-imports -- a lib is loaded only if the test replaces its service */

type Methods<T, Names extends keyof T> = { readonly [Name in Names]: T[Name] };

const ALLOWED: RateLimitDecision = Object.freeze({
  allowed: true,
  source: 'none',
  reason: undefined,
  retryAfterMs: 0,
  rules: Object.freeze([]),
  policies: Object.freeze([]),
});

/**
 * Returns providers for a unit test of a controller: RateLimitGuard allows all requests, and RateLimitService counts nothing.
 * Use `...allowAll()` in `providers`, instead of RateLimitModule.
 */
export function allowAll(): Provider[] {
  const lib = require('luanest/rate-limit') as typeof import('luanest/rate-limit');
  const internal = require('../../../rate-limit/src/internal') as typeof import('../../../rate-limit/src/internal');
  const service: Methods<RateLimitService, 'consume' | 'peek' | 'refund' | 'reset' | 'block'> = {
    consume: () => Promise.resolve(ALLOWED),
    peek: () => Promise.resolve(ALLOWED),
    refund: () => Promise.resolve(0),
    reset: () => Promise.resolve(false),
    block: () => Promise.resolve(),
  };
  const enforcer: Methods<RateLimitEnforcer, 'admit' | 'takeDecision' | 'settle'> = {
    admit: () => true,
    takeDecision: () => undefined,
    settle: () => Promise.resolve(),
  };
  return [
    { provide: lib.RateLimitService, useValue: service },
    { provide: internal.RateLimitEnforcer, useValue: enforcer },
  ];
}

/**
 * Returns providers for a unit test: LockService grants each lock at once, and jobs and handlers with `@ScheduledLock()` always run. Use
 * `...noLock()` in `providers`, instead of LockModule and ScheduledLockModule.
 */
export function noLock(): Provider[] {
  const { LockService } = require('luanest/lock') as typeof import('luanest/lock');
  const { ScheduledLockService } = require('luanest/scheduled-lock') as typeof import('luanest/scheduled-lock');
  const locks: Methods<LockService, 'acquire' | 'tryAcquire' | 'withLock'> = {
    acquire: (names) => Promise.resolve(lockOf(names)),
    tryAcquire: (names) => Promise.resolve(lockOf(names)),
    withLock: async <T>(names: string | readonly string[], _options: object, work: (lock: Lock) => T | Promise<T>) =>
      work(lockOf(names)),
  };
  const jobs: Methods<ScheduledLockService, 'run' | 'current' | 'assertHeld'> = {
    run: async (_name, work) => ({ ran: true, status: 'ran', value: await work() }),
    current: () => undefined,
    assertHeld: () => undefined,
  };
  return [
    { provide: LockService, useValue: locks },
    { provide: ScheduledLockService, useValue: jobs },
  ];
}

/**
 * Returns providers for a unit test: OnceService and handlers with `@Once()` run each call, and routes with `@Idempotent()` run each
 * request, even a repeated one. Use `...noOnce()` in `providers`, instead of OnceModule.
 */
export function noOnce(): Provider[] {
  const { OnceService } = require('luanest/once') as typeof import('luanest/once');
  const internal = require('../../../once/src/internal') as typeof import('../../../once/src/internal');
  const service: Methods<OnceService, 'run' | 'first' | 'current'> = {
    run: async <T>(
      target: string | { readonly id: string },
      _terms: object,
      work: (run: OnceRun) => T | Promise<T>,
    ) => {
      const result = await work(runOf(typeof target === 'string' ? target : target.id));
      return { status: 'ran', result, confirmed: true } as const;
    },
    first: () => Promise.resolve(true),
    current: () => undefined,
  };
  const parts: Pick<IdempotencyParts, 'routes'> & { readonly settings: Pick<IdempotencyParts['settings'], 'header'> } =
    {
      settings: { header: 'Idempotency-Key' },
      routes: () => ({ of: () => undefined }),
    };
  return [
    { provide: OnceService, useValue: service },
    { provide: internal.IdempotencyParts, useValue: parts },
  ];
}

function lockOf(names: string | readonly string[]): Lock {
  return {
    names: [...new Set([names].flat())].sort(),
    fence: 1,
    signal: new AbortController().signal,
    held: true,
    fenceOf: () => 1,
    assertHeld: () => undefined,
    extend: () => Promise.resolve(),
    release: () => Promise.resolve('released'),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function runOf(id: string): OnceRun {
  return { id, fence: 1, signal: new AbortController().signal, assertHeld: () => undefined };
}
