import { Injectable } from '@nestjs/common';
import { DelayedTaskService, type QueueStats } from 'luanest/delayed-task';
import type { LockStatus } from 'luanest/lock';
import { type JobRecord, ScheduledLockService } from 'luanest/scheduled-lock';
import { catchError, EMPTY, exhaustMap, finalize, from, type Observable, share, takeWhile, tap, timer } from 'rxjs';
import { RedisClock } from '../../platform/redis-clock';
import { type NodeReport, NodeService } from '../nodes/node.service';
import { type PayoutFigures, PayoutFiguresService } from '../figures/payout-figures';
import { AUDIT_JOB } from '../audit/audit.job';
import { type Books, BooksService, faultsOf } from '../audit/books.service';
import type { CountRecord } from '../audit/count-records';
import { CountService } from '../audit/count.service';

const EVERY_MS = 500;
const MOST_JOBS = 30;

/** A rain at one moment. */
export interface LiveView extends Books {
  readonly atMs: number;
  /** Redis' time, ms since the epoch, as well as this process knows it. */
  readonly redisNowMs: number;
  /** Packets granted a second, since the view before this one. */
  readonly grantsPerSecond: number;
  /** Payouts that the ledger has not booked yet; undefined without a ledger. */
  readonly payoutsBehind: number | undefined;
  /** What does not add up, by the counters, the ledger and the last count; empty when all is well. */
  readonly faults: readonly string[];
  /** The last count of every record; undefined before the first. */
  readonly counted: CountRecord | undefined;
  /** Who counts now. */
  readonly counting: LockStatus;
  readonly nodes: readonly NodeReport[];
  /** The last ticks of the audit job on all nodes, the newest first: which node ran which slot. */
  readonly jobs: readonly JobRecord[];
  /** The queue of delayed tasks, those of the libs among them. */
  readonly tasks: QueueStats;
  readonly payouts: PayoutFigures;
}

/** Looks at rains that somebody watches, twice a second, however many watch. */
@Injectable()
export class LiveService {
  private readonly views = new Map<string, Observable<LiveView>>();

  constructor(
    private readonly books: BooksService,
    private readonly counts: CountService,
    private readonly nodes: NodeService,
    private readonly clock: RedisClock,
    private readonly locks: ScheduledLockService,
    private readonly tasks: DelayedTaskService,
    private readonly payouts: PayoutFiguresService,
  ) {}

  /** Views of a rain for as long as somebody looks. */
  watch(activityId: string): Observable<LiveView> {
    const known = this.views.get(activityId);
    if (known !== undefined) return known;
    let last: LiveView | undefined;
    const view = timer(0, EVERY_MS).pipe(
      // Redis or the ledger may be away for a while; the next look may succeed.
      exhaustMap(() => from(this.look(activityId, last)).pipe(catchError(() => EMPTY))),
      // A rain that is not there, or not any more, has no further views: the stream ends.
      takeWhile((seen) => seen !== undefined),
      tap((seen) => (last = seen)),
      finalize(() => this.views.delete(activityId)),
      share(),
    );
    this.views.set(activityId, view);
    return view;
  }

  private async look(activityId: string, last: LiveView | undefined): Promise<LiveView | undefined> {
    const books = await this.books.read(activityId);
    if (books === undefined) return undefined;
    const [counted, payouts, counting, jobs, tasks] = await Promise.all([
      this.counts.last(books.status),
      this.payouts.of(books.status, books.ledger),
      this.counts.lock(),
      this.locks.history(AUDIT_JOB),
      this.tasks.stats(),
    ]);
    return {
      ...books,
      atMs: Date.now(),
      redisNowMs: this.clock.nowMs(),
      grantsPerSecond: rateSince(last, books),
      payoutsBehind: payouts.behind,
      faults: [...new Set([...faultsOf(books), ...(counted?.problems ?? [])])],
      counted,
      counting,
      nodes: this.nodes.all(),
      jobs: jobs.slice(0, MOST_JOBS),
      tasks,
      payouts,
    };
  }
}

function rateSince(last: LiveView | undefined, { status }: Books): number {
  if (last === undefined) return 0;
  const granted = status.grantedPackets - last.status.grantedPackets;
  return Math.round((granted / Math.max(1, Date.now() - last.atMs)) * 1_000);
}
