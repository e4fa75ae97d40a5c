import type { CanActivate, Type } from '@nestjs/common';
import { Checks, type KnownOptions } from '../../internal/src';
import type { ClosedActivity } from './red-packet.types';

/** Returns the id of the user who sends a request; undefined, null or '' for an unknown user, who may not grab. */
export type IdentityResolver = (request: unknown) => string | null | undefined | Promise<string | null | undefined>;

/** Returns true if a user may take part in an activity. */
export type EligibilityCheck = (activityId: string, userId: string) => boolean | Promise<boolean>;

/** Returns the name under which other winners see a user; undefined for no name. */
export type ParticipantName = (userId: string, activityId: string) => string | undefined | Promise<string | undefined>;

/** Receives the refund of a closed activity. */
export type ClosedListener = (closed: ClosedActivity) => void | Promise<void>;

/** Options of RedPacketModule. */
export interface RedPacketModuleOptions {
  /** Returns the user of a request, from a session or a signed token. The lib never reads a user from the body. Required. */
  readonly identity: IdentityResolver;
  /** Guard of the admin routes: an instance, or a class that Nest can build. Default: none, and admin routes return 403. */
  readonly adminGuard?: CanActivate | Type<CanActivate>;
  /**
   * How long Redis keeps an activity after its end, or without an end after it opens, ms; integer from 60,000 to 10 years.
   * Redis keeps it longer until it is closed and its payouts are settled. Default 7 days.
   */
  readonly retentionMs?: number;
  /** Called before each grab that goes to Redis. If it throws, the grab rejects with its error. Default: every user may grab. */
  readonly eligibility?: EligibilityCheck;
  /** Replicas of the shard that must have a win before the user sees it (WAIT); integer from 0 to 10. Default 0. */
  readonly replicas?: number;
  /** How long to wait for the replicas, ms; integer from 1 to 60,000, less than the registry's deadline. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /** How long a grab may wait for packets of other buckets, ms; integer from 0 to 60,000. Default 1,000. */
  readonly transferWaitMs?: number;
  /**
   * Called after an activity was closed, by its task at its end or by `close`. Give back what is refunded, less what you gave
   * back before: it is called at least once, each time with the sum of all refunds. It is called again if it throws, after a
   * crash, and if `conflict` turns a payout into a refund later. Needs `DelayedTaskModule`. Default: none.
   */
  readonly onClosed?: ClosedListener;
  /**
   * Returns the name of a user in the results that winners see; called for each row. If it throws, `results` rejects with its
   * error. User ids are never shown. Default: none, and rows have no name.
   */
  readonly participantName?: ParticipantName;
}

/** Options with every default filled in. */
export interface ResolvedRedPacketModuleOptions extends Required<
  Omit<RedPacketModuleOptions, 'adminGuard' | 'eligibility' | 'onClosed' | 'participantName'>
> {
  readonly adminGuard: RedPacketModuleOptions['adminGuard'];
  readonly eligibility: RedPacketModuleOptions['eligibility'];
  readonly onClosed: RedPacketModuleOptions['onClosed'];
  readonly participantName: RedPacketModuleOptions['participantName'];
  /** How long a process may remember that an activity is sold out, ms. Not an option; each activity keeps it. */
  readonly soldOutMs: number;
}

/** Options that the service uses; the others belong to the controllers. */
export type RedPacketServiceOptions = Omit<ResolvedRedPacketModuleOptions, 'identity' | 'adminGuard'>;

const KNOWN: KnownOptions<RedPacketModuleOptions> = {
  identity: true,
  adminGuard: true,
  retentionMs: true,
  eligibility: true,
  replicas: true,
  replicasTimeoutMs: true,
  transferWaitMs: true,
  onClosed: true,
  participantName: true,
};
// See DECISIONS.md: losers-known-by-filter
const SOLD_OUT_MS = 1_000;
const DAY_MS = 86_400_000;
const MIN_RETENTION_MS = 60_000;
const MAX_RETENTION_MS = 3_650 * DAY_MS;
const MINUTE_MS = 60_000;
const checks = new Checks('RedPacketModule');

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, its value and what is allowed
 */
export function resolveOptions(options: RedPacketModuleOptions): ResolvedRedPacketModuleOptions {
  checks.options('', options, KNOWN);
  const { adminGuard } = options;
  if (adminGuard !== undefined && typeof adminGuard !== 'function' && typeof adminGuard?.canActivate !== 'function') {
    checks.refuse(
      'adminGuard',
      adminGuard,
      'a class or an object with canActivate(), or undefined to close the admin routes',
    );
  }
  return Object.freeze({
    identity: checks.fn('identity', options.identity, "from the request to the user's id or undefined"),
    adminGuard,
    eligibility: checks.optionalFn('eligibility', options.eligibility, 'from an activity and a user to a boolean'),
    onClosed: checks.optionalFn('onClosed', options.onClosed, 'of a closed activity'),
    participantName: checks.optionalFn('participantName', options.participantName, "from a user's id to a name"),
    retentionMs: checks.integer('retentionMs', options.retentionMs ?? 7 * DAY_MS, MIN_RETENTION_MS, MAX_RETENTION_MS),
    replicas: checks.integer('replicas', options.replicas ?? 0, 0, 10),
    replicasTimeoutMs: checks.integer('replicasTimeoutMs', options.replicasTimeoutMs ?? 1_000, 1, MINUTE_MS),
    transferWaitMs: checks.integer('transferWaitMs', options.transferWaitMs ?? 1_000, 0, MINUTE_MS),
    soldOutMs: SOLD_OUT_MS,
  });
}
