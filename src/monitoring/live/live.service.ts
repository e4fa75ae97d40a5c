import { Injectable } from '@nestjs/common';
import { DelayedTaskService, type QueueStats } from 'luanest/delayed-task';
import type { LockStatus } from 'luanest/lock';
import { type JobRecord, ScheduledLockService } from 'luanest/scheduled-lock';
import { catchError, EMPTY, exhaustMap, finalize, from, type Observable, share, takeWhile, timer } from 'rxjs';
import { RedisClock } from '../../platform/redis-clock';
import { type NodeReport, NodeService } from '../nodes/node.service';
import { type PayoutFigures, PayoutFiguresService } from '../figures/payout-figures';
import { AccountsService } from '../audit/accounts.service';
import { AUDIT_JOB } from '../audit/audit.job';
import { type Books, BooksService, faultsOf } from '../audit/books.service';
import type { CountRecord } from '../audit/count-records';
import { CountService } from '../audit/count.service';

const EVERY_MS = 500;
const MOST_JOBS = 30;

/** A rain, and the processes of the app, at one moment. */
export interface LiveView extends Books {
  /** Time of the view, ms since 1970, by the clock of the process that made it. */
  readonly atMs: number;
  /** Redis' time, ms since 1970, as this process knows it. */
  readonly redisNowMs: number;
  /** Granted packets less the payouts that the ledger paid or refused, at least 0; undefined if the ledger could not be read. */
  readonly payoutsBehind: number | undefined;
  /** Differences between the counters, the ledger, its accounts and the last count of all records, in words; empty if all agree. */
  readonly faults: readonly string[];
  /** Last count of all records, which is stored for seven days; undefined if no count is stored. */
  readonly counted: CountRecord | undefined;
  /** State of the lock under which records are counted, with the process that counts now. */
  readonly counting: LockStatus;
  readonly nodes: readonly NodeReport[];
  /** Last outcomes of the audit job on all processes, the newest first; at most 30. */
  readonly jobs: readonly JobRecord[];
  /** Counts of the queue of delayed tasks, including tasks of the libs. */
  readonly tasks: QueueStats;
  readonly payouts: PayoutFigures;
}

/** Reads each watched rain up to twice a second. All subscribers of this process share the views of a rain. */
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
    private readonly accounts: AccountsService,
  ) {}

  /** Returns the views of a rain. Reads only while there are subscribers. Completes when the rain does not exist. */
  watch(activityId: string): Observable<LiveView> {
    const known = this.views.get(activityId);
    if (known !== undefined) return known;
    const view = timer(0, EVERY_MS).pipe(
      // A failed read is left out, because the next one may succeed.
      exhaustMap(() => from(this.look(activityId)).pipe(catchError(() => EMPTY))),
      takeWhile((seen) => seen !== undefined),
      finalize(() => this.views.delete(activityId)),
      share(),
    );
    this.views.set(activityId, view);
    return view;
  }

  private async look(activityId: string): Promise<LiveView | undefined> {
    const books = await this.books.read(activityId);
    if (books === undefined) return undefined;
    const [counted, payouts, counting, jobs, tasks, accounts] = await Promise.all([
      this.counts.last(books.status),
      this.payouts.of(books.status, books.ledger),
      this.counts.lock(),
      this.locks.history(AUDIT_JOB),
      this.tasks.stats(),
      this.accounts.faults(),
    ]);
    return {
      ...books,
      atMs: Date.now(),
      redisNowMs: this.clock.nowMs(),
      payoutsBehind: payouts.behind,
      faults: [...new Set([...faultsOf(books), ...accounts, ...(counted?.problems ?? [])])],
      counted,
      counting,
      nodes: this.nodes.all(),
      jobs: jobs.slice(0, MOST_JOBS),
      tasks,
      payouts,
    };
  }
}
