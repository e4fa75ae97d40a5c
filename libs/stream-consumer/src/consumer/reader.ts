import type { ScriptRegistry } from 'luanest/script-registry';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import { events } from '../stream-consumer.events';
import type { GroupKeys, Partition } from '../streams/partitions';
import { purge } from '../streams/groups';
import type { Stream } from '../streams/stream-catalog';
import {
  leaveGroup,
  mendGroup,
  openGroup,
  renewSession,
  sweepSessions,
  takeEntries,
  takeForeign,
  takeForeignOrdered,
  takeOrdered,
  tidyNotes,
} from './consumer.scripts';
import type { TakeAnswer } from './take-answer';
import { Delivery } from './delivery';
import type { Origin } from './entry-source';
import { groupCalls, type GroupCalls } from './group-calls';
import { Session, type Held } from './session';
import { Settler } from './settler';
import { Wakeup } from './wakeup';

const SWEPT_A_CALL = 100;
const MENDED_A_CALL = 500;
/** Most calls of one look: what is left waits for the next one. */
const MEND_CALLS = 100;
const DIED = 'The consumer died, or lost its lease, during the attempt';

/** One group's way of reading one partition: takes, keeps its lease, takes over what others left. */
export class Reader {
  readonly keys: GroupKeys;
  readonly origin: Origin;
  readonly calls: GroupCalls;
  readonly settler: Settler;
  readonly wakeup: Wakeup;
  session = new Session();
  /** Whether a take is out. */
  busy = false;
  private mendFrom = { pending: '0-0', waiting: '-', parked: '' };
  private tidyFrom = { triesAfter: '0', headsAfter: '0' };
  private purgeAfter = '-';
  /** The entry after which the group begins, if it has to be made. */
  private from: string;

  /** @param changed called when there may be something to take */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    readonly partition: Partition,
    private readonly options: ResolvedConsumerOptions,
    readonly changed: () => void,
  ) {
    const { stream, group, pollMs, ordered, from } = options;
    this.from = { start: '0', end: '$' }[from] ?? from;
    this.keys = partition.of(group);
    this.origin = { stream, group, idPrefix: `${partition.index}:`, isOrdered: ordered };
    this.calls = groupCalls(stream, group);
    this.wakeup = new Wakeup(registry, this.origin, this.keys.waiters, pollMs, changed);
    this.settler = new Settler(registry, options, this, source);
  }

  /** Makes sure that the group is there. Answers whether the stream is. @throws errors of the registry */
  async open(): Promise<boolean> {
    const { stream, sessions, takes, due, tries, heads } = this.keys;
    const keys = { stream, sessions, takes, due, tries, heads };
    const args = { group: this.options.group, makes: this.source.isForeign ? 0 : 1, from: this.from };
    const answer = await this.registry.run(openGroup, { keys, args });
    this.from = answer.from;
    return answer.state !== 'no-stream';
  }

  /** Takes up to `count` entries. @param stopping whether to give up when Redis does not answer */
  async take(count: number, stopping: () => boolean): Promise<readonly Delivery[]> {
    const session = this.session;
    const token = session.nextToken();
    this.busy = true;
    this.wakeup.begin();
    try {
      const answer = await this.calls.run(
        'take',
        () => session.lost || stopping(),
        () => this.ask(session, token, count),
      );
      if (!answer || session.lost) return [];
      if (answer.state === 'taken') return this.taken(session, answer);
      this.lose(session, answer.state === 'lost' ? 'another consumer took it over' : 'the group was gone');
      const opened = answer.state === 'lost' || (await this.calls.run('take', stopping, () => this.open()));
      // Whoever writes it may make it at any time.
      if (opened === false) this.wakeup.sleep(-1, Infinity);
      else this.wakeup.ring();
      return [];
    } finally {
      this.busy = false;
    }
  }

  /** Extends the lease where that is due. */
  async renew(now: number): Promise<void> {
    const { session, options } = this;
    session.doubt(now);
    if (!session.begun || session.lost || now - session.extendedAt < options.leaseMs / 4) return;
    // Once at a time: the next round asks again.
    session.extendedAt = now;
    const args = { session: session.name, leaseMs: options.leaseMs };
    const alive = await this.calls.once('renew', () =>
      this.registry.run(renewSession, { keys: { sessions: this.keys.sessions }, args }),
    );
    if (alive === undefined) session.extendedAt = 0;
    else if (alive) session.extended(now, options.leaseMs);
    else this.lose(session, 'another consumer took it over');
  }

  /** Makes takeable what nobody would ever take, goes on while it finds such, and drops old notes. @throws errors of the registry */
  async mend(): Promise<void> {
    const { stream, sessions, due, tries, heads } = this.keys;
    const { group, leaseMs } = this.options;
    for (let mended = 1, calls = 0; mended > 0 && calls < MEND_CALLS; calls++) {
      const answer = await this.registry.run(mendGroup, {
        keys: { stream, sessions, due, heads },
        args: { group, leaseMs, count: MENDED_A_CALL, ...this.mendFrom },
      });
      this.mendFrom = answer.next;
      ({ mended } = answer);
      if (mended > 0) this.wakeup.ring();
    }
    this.tidyFrom = await this.registry.run(tidyNotes, {
      keys: { stream, tries, heads },
      args: { group, count: MENDED_A_CALL, ...this.tidyFrom },
    });
  }

  /** Deletes what every group has settled and is still there, as far as there is such. @throws errors of the registry */
  async purge(): Promise<void> {
    for (let deleted = 1; deleted > 0;) {
      const answer = await purge(this.registry, this.source, this.partition, this.purgeAfter);
      this.purgeAfter = answer.after;
      deleted = answer.after === '-' ? 0 : answer.deleted;
    }
  }

  /** Ends the session; what it still has may be taken over at once. @throws errors of the registry */
  async leave(): Promise<void> {
    const { session, keys, options } = this;
    if (!session.begun || session.lost) return;
    await this.registry.run(leaveGroup, {
      keys: { stream: keys.stream, sessions: keys.sessions, takes: keys.takes },
      args: { group: options.group, session: session.name },
    });
  }

  /**
   * Gives up a session that another consumer has taken over, and begins a new one.
   *
   * @param more that it no longer holds, and could not settle
   */
  lose(session: Session, reason: string, more: readonly Held[] = []): void {
    const ids = [...session.lose(reason), ...more.map((delivery) => delivery.forsake(reason))];
    if (this.session === session) this.session = new Session();
    if (ids.length > 0) events.lost.publish(() => ({ ...this.named, ids, reason }));
  }

  private get named(): { readonly stream: string; readonly group: string } {
    return { stream: this.origin.stream, group: this.origin.group };
  }

  private async ask(session: Session, token: string, count: number): Promise<TakeAnswer> {
    const { group, leaseMs, pollMs, ordered, maxKeys } = this.options;
    const { stream, sessions, takes, due, tries, waiters, heads } = this.keys;
    const sentAt = performance.now();
    const begins = session.begun ? 0 : 1;
    const args = { group, session: session.name, token, count, leaseMs, begins, waitMs: 2 * pollMs };
    const keys = { stream, sessions, takes, due, tries, waiters };
    const { isForeign } = this.source;
    const answer = ordered
      ? await this.registry.run(isForeign ? takeForeignOrdered : takeOrdered, {
          keys: { ...keys, heads },
          args: { ...args, maxKeys },
        })
      : await this.registry.run(isForeign ? takeForeign : takeEntries, { keys, args });
    if (answer.state === 'taken') {
      session.begun = true;
      session.extended(sentAt, leaseMs);
    }
    return answer;
  }

  private taken(session: Session, { entries, more, dueInMs, endInMs }: TakeAnswer): readonly Delivery[] {
    if (more) this.wakeup.ring();
    else this.wakeup.sleep(dueInMs, endInMs);
    if (endInMs <= 0) void this.sweep();
    return entries.map((entry) => new Delivery(this, entry, session));
  }

  private async sweep(): Promise<void> {
    const { stream, sessions, takes, due, tries } = this.keys;
    const answer = await this.calls.once('sweep', () =>
      this.registry.run(sweepSessions, {
        keys: { stream, sessions, takes, due, tries },
        args: { group: this.options.group, count: SWEPT_A_CALL, problem: DIED },
      }),
    );
    if (answer === undefined || answer.session === '') return;
    events.takenOver.publish(() => ({ ...this.named, session: answer.session, messages: answer.taken }));
    // There may be more of it, or of others.
    this.wakeup.ring();
  }
}
