import type { CanActivate, Type } from '@nestjs/common';
import type { DelayedTaskService } from 'luanest/delayed-task';
import { Checks, KNOWN_REPLICAS, type KnownOptions, resolveReplicas } from '../../internal/src';
import type { Activities } from './activity/activities';
import type { Ledger } from './audit/audit.types';
import type { CloseResult } from './red-packet.types';

/** Options of RedPacketModule. */
export interface RedPacketModuleOptions {
  /**
   * Returns the id of the user who sends a request, for example from a session or a signed token; undefined, null or '' for an
   * unknown user, who gets 401. Required.
   */
  readonly identity: (request: unknown) => string | null | undefined | Promise<string | null | undefined>;
  /** Guard of the admin routes: an instance, or a class that Nest can build. Default: none; then admin routes return 403. */
  readonly adminGuard?: CanActivate | Type<CanActivate>;
  /**
   * How long Redis keeps an activity after its end, ms; integer from 60,000 to 10 years. For an activity without `endsAtMs`, the time
   * counts from `startsAtMs`, when grabs open. While an activity owes a payout or a refund, Redis keeps it longer. Default 7 days.
   */
  readonly retentionMs?: number;
  /**
   * Returns true if a user may take part in an activity. Called before each call of `grab` that goes to Redis. If it throws, the
   * grab rejects with this error. Default: every user may take part.
   */
  readonly eligibility?: (activityId: string, userId: string) => boolean | Promise<boolean>;
  /**
   * Number of replicas that must confirm a write (WAIT); integer from 0 to 100. They must confirm a win before `grab` returns the
   * packet, and before the packet is paid. They must confirm that an activity is closed before its refund is reported. Set it to the
   * number of replicas that each master has. Default 0.
   */
  readonly replicas?: number;
  /**
   * How long each call to Redis waits for `replicas`, ms; integer from 1 to 60,000. Must be less than `deadlineMs` of
   * ScriptRegistryModule, or grabs reject. Default 1,000.
   */
  readonly replicasTimeoutMs?: number;
  /**
   * Number of hash tags over which activities and their payouts are sharded; integer from 1 to 1,024. Give all processes the same
   * number. You can change it only while there are no activities. Default 16.
   */
  readonly partitions?: number;
  /**
   * Returns the packets of an activity that your ledger has paid, in any order. Called when an activity is closed, because a failover may
   * have lost the grant of a packet that was paid. Such a packet is not refunded. Also called for a deep audit and for
   * `repairPayouts`, unless the call has its own `ledger`. If the function throws, the closing task is tried again, and `close`,
   * `audit` and `repairPayouts` reject with this error. Default: none; then a packet that was paid is refunded too if a failover has
   * lost its grant.
   */
  readonly ledger?: Ledger;
  /**
   * Called after an activity was closed, at its end or by `close`. Gets the sum of all refunds of the activity so far. Give this sum
   * back, minus what you gave back at earlier calls. Called at least once for each closed activity. Called again after it has thrown,
   * after a crash, and when `conflict` has turned a payout into a refund. After 1,000 failed calls, about 12 hours, the closing task
   * is dead-lettered. Redis keeps the refund until `onClosed` has resolved, unless you call `forget`. Needs `DelayedTaskModule`. Set
   * it in all processes or in none. Default: none.
   */
  readonly onClosed?: (closed: CloseResult) => void | Promise<void>;
  /**
   * Returns the name under which other winners see a user in the results; undefined for no name. Called for each row of a page
   * and for the largest packet. If it throws, `results` rejects with this error. Default: no user has a name.
   */
  readonly participantName?: (userId: string, activityId: string) => string | undefined | Promise<string | undefined>;
}

/** Options of RedPacketModule after the checks. Defaults are filled in. */
export interface ResolvedRedPacketModuleOptions extends Required<
  Omit<RedPacketModuleOptions, 'adminGuard' | 'eligibility' | 'ledger' | 'onClosed' | 'participantName'>
> {
  readonly adminGuard: RedPacketModuleOptions['adminGuard'];
  readonly eligibility: RedPacketModuleOptions['eligibility'];
  readonly ledger: RedPacketModuleOptions['ledger'];
  readonly onClosed: RedPacketModuleOptions['onClosed'];
  readonly participantName: RedPacketModuleOptions['participantName'];
  /**
   * How long a process may remember that an activity is sold out, ms. Fixed, not an option. Each activity stores the value at its creation.
   */
  readonly soldOutMs: number;
  /**
   * How long a grab waits for packets from other buckets (shards of the activity) if the user's bucket is empty, ms, approximately. Fixed,
   * not an option.
   */
  readonly transferWaitMs: number;
}

/** Options for the service. The controllers and guards use the other options. */
export type RedPacketServiceOptions = Omit<ResolvedRedPacketModuleOptions, 'identity' | 'adminGuard'>;

/** Further objects for the constructor of RedPacketService. */
export interface RedPacketHelpers {
  /** Objects that RedPacketService and RedPacketPayouts share. Default: RedPacketService creates its own ones. */
  readonly activities?: Activities;
  /** Service that schedules the end of each activity; undefined without DelayedTaskModule. */
  readonly tasks?: DelayedTaskService | undefined;
  /** Name of the ScriptRegistry; '' for the registry without a name. */
  readonly registryName?: string;
}

const KNOWN: KnownOptions<RedPacketModuleOptions> = {
  identity: true,
  adminGuard: true,
  retentionMs: true,
  eligibility: true,
  ...KNOWN_REPLICAS,
  partitions: true,
  ledger: true,
  onClosed: true,
  participantName: true,
};
// See DECISIONS.md: losers-known-by-filter
const SOLD_OUT_MS = 1_000;
const TRANSFER_WAIT_MS = 1_000;
const DAY_MS = 86_400_000;
const MIN_RETENTION_MS = 60_000;
const MAX_RETENTION_MS = 3_650 * DAY_MS;
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
      'a class or an object with canActivate(). Without adminGuard, admin routes return 403',
    );
  }
  return Object.freeze({
    identity: checks.fn(
      'identity',
      options.identity,
      "that returns the id of a request's user, and undefined for a request without a user",
    ),
    adminGuard,
    eligibility: checks.optionalFn(
      'eligibility',
      options.eligibility,
      'that returns true if a user may take part in an activity',
    ),
    ledger: checks.optionalFn('ledger', options.ledger, 'that returns the packets that the ledger has paid'),
    onClosed: checks.optionalFn('onClosed', options.onClosed, 'that is called with a closed activity'),
    participantName: checks.optionalFn('participantName', options.participantName, 'that returns the name of a user'),
    retentionMs: checks.integer('retentionMs', options.retentionMs ?? 7 * DAY_MS, MIN_RETENTION_MS, MAX_RETENTION_MS),
    ...resolveReplicas(options, checks),
    partitions: checks.integer('partitions', options.partitions ?? 16, 1, 1_024),
    soldOutMs: SOLD_OUT_MS,
    transferWaitMs: TRANSFER_WAIT_MS,
  });
}
