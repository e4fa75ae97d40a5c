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
  /** Redis' time, ms since 1970, as this process knows it. */
  readonly redisNowMs: number;
  /** Packets granted per second since the previous view. */
  readonly grantsPerSecond: number;
  /** Granted packets that the ledger has not booked yet; undefined without a ledger. */
  readonly payoutsBehind: number | undefined;
  /** Differences found by the counters, the ledger and the last count, in words; empty if there are none. */
  readonly faults: readonly string[];
  /** Last count of all records; undefined before the first. */
  readonly counted: CountRecord | undefined;
  /** State of the lock: the process that counts now. */
  readonly counting: LockStatus;
  readonly nodes: readonly NodeReport[];
  /** Last ticks of the audit job on all processes, the newest first. */
  readonly jobs: readonly JobRecord[];
  /** Queue of the delayed tasks, those of the libs included. */
  readonly tasks: QueueStats;
  readonly payouts: PayoutFigures;
}

/** Reads watched rains twice a second, once for all that watch the same rain. */
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

  /** Views of a rain, while somebody subscribes. Completes when the rain no longer exists. */
  watch(activityId: string): Observable<LiveView> {
    const known = this.views.get(activityId);
    if (known !== undefined) return known;
    let last: LiveView | undefined;
    const view = timer(0, EVERY_MS).pipe(
      // Redis or the ledger may be unavailable for a while. The next read may succeed.
      exhaustMap(() => from(this.look(activityId, last)).pipe(catchError(() => EMPTY))),
      // The stream ends if the rain does not exist or no longer exists.
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
