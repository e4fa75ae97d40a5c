import type { ScriptRegistry } from 'luanest/script-registry';
import { type LeaseBook, time } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import { events } from '../stream-consumer.events';
import type { GroupKeys, Partition } from '../streams/partitions';
import { purge, PURGE_START } from '../streams/groups';
import type { Stream } from '../streams/stream-catalog';
import {
  leaveGroup,
  openGroup,
  renewSession,
  repairGroup,
  sweepSessions,
  takeEntries,
  takeForeign,
  takeForeignOrdered,
  takeOrdered,
  tidyNotes,
  type TakeAnswer,
} from './consumer.scripts';
import { Delivery } from './handler-runner';
import { LEASE_LOST, Session, Settler, type Held, type Origin, type Step } from './session';
import { Wakeup } from './wakeup';

/**
 * With `ordered`, a group reads no new messages of a partition while this many keys have unfinished messages. The limit keeps repairs
 * short: they list a Redis consumer for each key with waiting messages, which takes 14 ms for 10,000 keys.
 * See DECISIONS.md: keys-bounded-not-messages
 */
const MAX_KEYS = 10_000;
const SWEPT_A_CALL = 100;
const CHECKED_A_CALL = 500;
/**
 * Maximum number of calls to Redis in one repair (a search for messages that would never be delivered again). The next repair continues
 * where the last one has ended.
 */
const REPAIR_CALLS = 100;
/**
 * Maximum number of calls to Redis in one purge (the deletion of old messages), each for 100 messages. The next purge continues where the
 * last one has ended.
 */
const PURGE_CALLS = 2_000;
/**
 * Error text of an attempt whose message was taken over by another process. Redis stores it unless an earlier attempt has left an error.
 */
const DIED = 'The consumer died, lost its lease or shut down during the attempt';

/** Members of a Consumer that its Readers use. */
interface ReaderOwner {
  readonly calls: Calls<Step>;
  /** Leases of the messages that all readers hold. */
  readonly leases: LeaseBook<Session>;
  /** Called when the reader may be able to take messages or to acknowledge some. */
  changed(): void;
  forget(delivery: Delivery): void;
}

/** Result of a repair: numbers of messages that another client of Redis has removed. `restored` were put back, `deleted` are lost. */
interface Repaired {
  readonly restored: number;
  readonly deleted: number;
}

/**
 * Reads one partition for one group: takes messages, renews the lease for them, and takes over messages of processes whose lease has ended.
 */
export class Reader {
  readonly keys: GroupKeys;
  readonly origin: Origin;
  readonly calls: Calls<Step>;
  readonly settler: Settler;
  readonly wakeup: Wakeup;
  readonly changed = (): void => this.owner.changed();
  session: Session;
  busy = false;
  /** True if the last read got no new messages because of MAX_KEYS. The reader then reads again when messages have been handled. */
  blocked = false;
  private repairFrom = { pending: '0-0', waiting: '-', parked: '', unsettled: '0' };
  private tidyFrom = { triesAfter: '0', headsAfter: '0' };
  private purgeFrom = PURGE_START;
  /** Where the group begins if `open` creates it: after the entry with this id; `$`: after the last entry of the stream. */
  private from: string;

  /** @param from where a new group begins: `start`, `end`, or the id of the entry before its first one */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    readonly partition: Partition,
    readonly options: ResolvedConsumerOptions,
    private readonly owner: ReaderOwner,
    from: string,
  ) {
    const { stream, group, pollMs, ordered } = options;
    this.from = { start: '0', end: '$' }[from] ?? from;
    this.keys = partition.of(group);
    this.origin = { stream, group, idPrefix: `${partition.index}:`, isOrdered: ordered };
    this.calls = owner.calls;
    this.session = new Session(this, options.leaseMs);
    this.wakeup = new Wakeup(registry, this.origin, this.keys, source.isForeign ? pollMs : undefined, this.changed);
    this.settler = new Settler(registry, options, this, () => source.settlersOf(partition));
  }

  /**
   * Creates the group in Redis, unless it exists.
   *
   * @returns false if another program must create the stream first
   * @throws the errors of ScriptRegistry.run()
   */
  async open(): Promise<boolean> {
    const { stream, sessions, takes, due, tries, heads, unsettled } = this.keys;
    const keys = { stream, sessions, takes, due, tries, heads, unsettled };
    const args = { group: this.options.group, makes: this.source.isForeign ? 0 : 1, from: this.from };
    const answer = await this.registry.run(openGroup, { keys, args });
    this.from = answer.from;
    return answer.state !== 'no-stream';
  }

  /** Takes up to `count` messages. @param stopping returns true when a failed call should not be repeated, because the consumer stops */
  async take(count: number, stopping: () => boolean): Promise<readonly Delivery[]> {
    const session = this.session;
    const token = session.nextToken();
    this.busy = true;
    this.wakeup.begin();
    try {
      const answer = await this.calls.run(
        'take',
        () => session.over || stopping(),
        () => this.runTake(session, token, count),
      );
      if (!answer || session.over) return [];
      if (answer.state === 'taken') return this.deliver(session, answer);
      this.lose(session, answer.state === 'lost' ? LEASE_LOST : 'the group was deleted');
      const opened = answer.state === 'lost' || (await this.calls.run('take', stopping, () => this.open()));
      // The stream does not exist yet. Another program may create it at any time, so the reader polls.
      if (opened === false) this.wakeup.sleep(Infinity, Infinity);
      else this.wakeup.ring();
      return [];
    } finally {
      this.busy = false;
    }
  }

  /**
   * Ends the lease of a session without messages, so that it need not be renewed, and begins a new session. If the call to Redis fails,
   * the lease ends there by itself. Does nothing while messages are being taken.
   */
  rest(session: Session): void {
    if (this.busy || session !== this.session) return;
    this.session = new Session(this, this.options.leaseMs);
    void session.settle();
    this.owner.leases.remove(session);
    void this.calls.once('renew', () => this.endLease(session));
  }

  /** Renews the lease of a session in Redis. @returns false if the lease is lost @throws the errors of ScriptRegistry.run() */
  renew(session: Session, deadlineMs: number): Promise<boolean> {
    const call = { keys: { sessions: this.keys.sessions }, args: { session: session.name, leaseMs: session.leaseMs } };
    const renewing = this.registry.run(renewSession, call, { deadlineMs });
    this.calls.track(renewing);
    return renewing;
  }

  /** Called when Redis has stored the result of a message, or will never store it. */
  forget(delivery: Delivery): void {
    this.owner.forget(delivery);
  }

  /**
   * Repairs what a failover or another client of Redis has damaged. Redis' list of pending entries of the group (XPENDING) is taken as the
   * truth. Entries that would never be delivered again are delivered. So are entries that Redis lists for this process although it has
   * handled them, for example after a failover that lost the acknowledgement. Deletes notes about entries that are finished.
   *
   * @returns `restored`: number of messages that are in the list of pending entries again; `deleted`: number of unfinished messages that
   *   another client has deleted from the stream
   * @throws the errors of ScriptRegistry.run()
   */
  async repair(): Promise<Repaired> {
    const { stream, sessions, takes, due, tries, heads, unsettled } = this.keys;
    const { group, leaseMs } = this.options;
    let [restored, deleted] = [0, 0];
    for (let goesOn = true, calls = 0; goesOn && calls < REPAIR_CALLS; calls++) {
      const answer = await this.registry.run(repairGroup, {
        keys: { stream, sessions, due, heads, takes, unsettled },
        args: { group, leaseMs, count: CHECKED_A_CALL, ...this.repairFrom, ...this.ownEntries() },
      });
      this.repairFrom = answer.next;
      restored += answer.restored;
      deleted += answer.deleted;
      goesOn = answer.repaired > 0 || answer.next.unsettled !== '0';
      if (answer.repaired > 0) this.wakeup.ring();
    }
    this.tidyFrom = await this.registry.run(tidyNotes, {
      keys: { stream, tries, heads, unsettled },
      args: { group, count: CHECKED_A_CALL, ...this.tidyFrom },
    });
    // A program may trim its own stream, so entries that are missing there are not reported as damage.
    return { restored, deleted: this.source.isForeign ? 0 : deleted };
  }

  /**
   * Deletes entries that all groups have settled and that the option `retain` does not keep.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async purge(): Promise<void> {
    const { retain } = this.source.options;
    for (let goesOn = true, calls = 0; goesOn && calls < PURGE_CALLS; calls++) {
      const { deleted, next } = await purge(this.registry, this.source, this.partition, this.purgeFrom);
      this.purgeFrom = next;
      // Without `retain`, handled entries are usually deleted at once, so a call that finds none has no reason to continue before the next
      // check.
      goesOn = next.after !== '-' && (deleted > 0 || retain !== undefined);
    }
  }

  /**
   * Ends the lease, so that other consumers can take over the messages at once.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async leave(): Promise<void> {
    const { session } = this;
    if (!session.begun || session.over) return;
    void session.settle();
    await this.endLease(session);
  }

  private async endLease(session: Session): Promise<void> {
    const { stream, sessions, takes, due, woken } = this.keys;
    await this.registry.run(leaveGroup, {
      keys: { stream, sessions, takes, due, woken },
      args: { group: this.options.group, session: session.name },
    });
  }

  /**
   * Gives up all messages of a session, because another consumer took them over, Redis lost the lease, or the group was deleted. The next
   * read begins a new session.
   *
   * @param reason end of the sentence `This consumer may no longer have message ..., because`
   * @param more messages whose result could not be stored, and that the session no longer lists
   */
  lose(session: Session, reason: string, more: readonly Held[] = []): void {
    const ids = [...session.giveUp(reason), ...more.map((delivery) => delivery.giveUp(reason))];
    this.owner.leases.remove(session);
    if (this.session === session) this.session = new Session(this, this.options.leaseMs);
    if (ids.length > 0) events.messagesLost.publish(() => ({ ...this.named, ids, reason }));
  }

  /**
   * Returns the messages of this session, so that the script repair can compare them with Redis. While messages are being taken, the list
   * would be incomplete. Then `session` is '', and the script compares nothing.
   */
  private ownEntries(): { readonly session: string; readonly taken: number; readonly held: string[] } {
    const { session, busy } = this;
    // Also before the session has begun: a late copy of an earlier take may have taken entries for it, of which this process does not know.
    if (busy || session.over) return { session: '', taken: 0, held: [] };
    return { session: session.name, taken: session.taken, held: session.heldIds() };
  }

  private get named(): { readonly stream: string; readonly group: string } {
    return { stream: this.origin.stream, group: this.origin.group };
  }

  private async runTake(session: Session, token: string, count: number): Promise<TakeAnswer> {
    const { group, leaseMs, ordered } = this.options;
    const { stream, sessions, takes, due, tries, woken, heads, unsettled } = this.keys;
    const sentAt = time.monotonicMs();
    const begins = session.begun ? 0 : 1;
    const args = { group, session: session.name, token, count, leaseMs, begins };
    const keys = { stream, sessions, takes, due, tries, woken, unsettled };
    const { isForeign } = this.source;
    const answer = ordered
      ? await this.registry.run(isForeign ? takeForeignOrdered : takeOrdered, {
          keys: { ...keys, heads },
          args: { ...args, maxKeys: MAX_KEYS },
        })
      : await this.registry.run(isForeign ? takeForeign : takeEntries, { keys, args });
    // The lease in Redis begins only with the first messages of a session.
    if (answer.state === 'taken' && !session.over && (session.begun || answer.entries.length > 0)) {
      const { leases } = this.owner;
      if (!session.begun) leases.add(session);
      leases.restarted(session, sentAt);
    }
    return answer;
  }

  private deliver(session: Session, answer: TakeAnswer): readonly Delivery[] {
    const { entries, more, blocked, dueInMs, endInMs } = answer;
    this.blocked = blocked;
    this.wakeup.used ||= entries.length > 0;
    if (more) this.wakeup.ring();
    else this.wakeup.sleep(dueInMs, endInMs);
    if (endInMs <= 0) void this.sweep();
    const deliveries = entries.map((entry) => new Delivery(this, entry, session));
    for (const delivery of deliveries) session.messages.set(delivery.entry.id, delivery);
    // The reply may have come after the end of the lease. Then the AbortSignals are aborted before the handlers begin.
    session.check();
    return deliveries;
  }

  private async sweep(): Promise<void> {
    const { stream, sessions, takes, due, tries, unsettled } = this.keys;
    const answer = await this.calls.once('sweep', () =>
      this.registry.run(sweepSessions, {
        keys: { stream, sessions, takes, due, tries, unsettled },
        args: { group: this.options.group, count: SWEPT_A_CALL, problem: DIED },
      }),
    );
    if (answer === undefined || answer.session === '') return;
    events.sessionTakenOver.publish(() => ({ ...this.named, session: answer.session, messages: answer.taken }));
    // An operator may have deleted messages of the dead process from Redis' list of pending entries. Only the next check of the group finds
    // such messages, and `used` makes it happen.
    this.wakeup.used = true;
    // The session that was taken over may have more messages, and other leases may have ended as well.
    this.wakeup.ring();
  }
}
