import type { CanActivate, Type } from '@nestjs/common';
import { Checks, type KnownOptions } from '../../internal/src';
import type { ClosedActivity } from './red-packet.types';

/** Returns the id of the user who sends a request; undefined, null or '' for an unknown user, who may not grab. */
export type IdentityResolver = (request: unknown) => string | null | undefined | Promise<string | null | undefined>;

/** Tells whether a user may take part in an activity. */
export type EligibilityCheck = (activityId: string, userId: string) => boolean | Promise<boolean>;

/** Returns the name under which other winners see a user; undefined for none. */
export type ParticipantName = (userId: string, activityId: string) => string | undefined | Promise<string | undefined>;

/** Receives what a closed activity has left over. */
export type ClosedListener = (closed: ClosedActivity) => void | Promise<void>;

/** Options of RedPacketModule. */
export interface RedPacketOptions {
  /** Resolves the user of a request, from a session or a signed token. The body is never asked. No default. */
  readonly identity: IdentityResolver;
  /** Guards the admin routes: an instance, or a class that Nest can build. Default none: they answer 403. */
  readonly adminGuard?: CanActivate | Type<CanActivate>;
  /**
   * How long Redis keeps an activity after its end, or without an end after it opens; longer while it is not closed or a
   * payout is not settled; ms, integer of 60,000 to 10 years. Default 7 days.
   */
  readonly retentionMs?: number;
  /** Asked before each grab that goes to Redis; what it throws, grab throws. Default: everybody may. */
  readonly eligibility?: EligibilityCheck;
  /** Replicas of the shard that must have a win before it is told; integer of 0 to 10. Default 0: it is told at once. */
  readonly confirmReplicas?: number;
  /** How long to wait for them, ms; integer of 1 to 60,000, below the registry's deadline. Default 1,000. */
  readonly confirmTimeoutMs?: number;
  /** How long a grab may wait for packets of other buckets, ms; integer of 0 to 60,000. Default 1,000. */
  readonly transferWaitMs?: number;
  /**
   * How long a process may answer losers of a sold-out activity itself before it asks Redis again, ms; integer of 0 to
   * 60,000, 0 for never. An activity keeps that of the process that created it. Default 1,000.
   */
  readonly soldOutMemoryMs?: number;
  /**
   * Called when an activity was closed, by its task at its end or by `close`: give back here what is refunded, less what was
   * given back before. It is called at least once, with the sum of all refunds: again when it throws, after a crash, and
   * when `conflict` turns a payout into a refund later. Needs `DelayedTaskModule`. Default none.
   */
  readonly onClosed?: ClosedListener;
  /**
   * Names users in the results that winners see; called once for each row. What it throws, `results` throws. Default none:
   * rows have no name. User ids are never shown.
   */
  readonly participantName?: ParticipantName;
}

/** Options with every default filled in. */
export interface ResolvedRedPacketOptions extends Required<
  Omit<RedPacketOptions, 'adminGuard' | 'eligibility' | 'onClosed' | 'participantName'>
> {
  readonly adminGuard: RedPacketOptions['adminGuard'];
  readonly eligibility: RedPacketOptions['eligibility'];
  readonly onClosed: RedPacketOptions['onClosed'];
  readonly participantName: RedPacketOptions['participantName'];
}

/** The options that the service, and not the controller, goes by. */
export type RedPacketServiceOptions = Omit<ResolvedRedPacketOptions, 'identity' | 'adminGuard'>;

const KNOWN: KnownOptions<RedPacketOptions> = {
  identity: true,
  adminGuard: true,
  retentionMs: true,
  eligibility: true,
  confirmReplicas: true,
  confirmTimeoutMs: true,
  transferWaitMs: true,
  soldOutMemoryMs: true,
  onClosed: true,
  participantName: true,
};
const DAY_MS = 86_400_000;
const MIN_RETENTION_MS = 60_000;
const MAX_RETENTION_MS = 3_650 * DAY_MS;
const MINUTE_MS = 60_000;
const checks = new Checks('RedPacketModule');

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: RedPacketOptions): ResolvedRedPacketOptions {
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
    confirmReplicas: checks.integer('confirmReplicas', options.confirmReplicas ?? 0, 0, 10),
    confirmTimeoutMs: checks.integer('confirmTimeoutMs', options.confirmTimeoutMs ?? 1_000, 1, MINUTE_MS),
    transferWaitMs: checks.integer('transferWaitMs', options.transferWaitMs ?? 1_000, 0, MINUTE_MS),
    soldOutMemoryMs: checks.integer('soldOutMemoryMs', options.soldOutMemoryMs ?? 1_000, 0, MINUTE_MS),
  });
}
