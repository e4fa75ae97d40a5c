import { Injectable } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import { type JobRecord, ScheduledLockService } from 'luanest/scheduled-lock';
import { catchError, EMPTY, exhaustMap, filter, finalize, from, type Observable, share, tap, timer } from 'rxjs';
import { type NodeReport, NodeService } from '../nodes/node.service';
import { AUDIT_JOB } from './audit.job';
import { type Books, BooksService, faultsOf } from './books.service';

const EVERY_MS = 500;

/** A rain at one moment. */
export interface LiveView extends Books {
  readonly atMs: number;
  /** Packets granted a second, since the view before this one. */
  readonly grantsPerSecond: number;
  /** Payouts that the ledger has not booked yet; undefined without a ledger. */
  readonly payoutsBehind: number | undefined;
  /** What does not add up; empty when all is well. */
  readonly faults: readonly string[];
  readonly nodes: readonly NodeReport[];
  /** The last runs of the audit job, the newest first: which node ran which slot. */
  readonly jobs: readonly JobRecord[];
}

/** Looks at rains that somebody watches, twice a second, however many watch. */
@Injectable()
export class LiveService {
  private readonly views = new Map<string, Observable<LiveView>>();

  constructor(
    private readonly packets: RedPacketService,
    private readonly books: BooksService,
    private readonly nodes: NodeService,
    private readonly locks: ScheduledLockService,
  ) {}

  /** The rain that came last; undefined when there is none. */
  async latest(): Promise<string | undefined> {
    return (await this.packets.activities()).at(-1);
  }

  /** Views of a rain for as long as somebody looks. */
  watch(activityId: string): Observable<LiveView> {
    const known = this.views.get(activityId);
    if (known !== undefined) return known;
    let last: LiveView | undefined;
    const view = timer(0, EVERY_MS).pipe(
      // Redis or the ledger may be away for a while; the next look may succeed.
      exhaustMap(() => from(this.look(activityId, last)).pipe(catchError(() => EMPTY))),
      filter((seen) => seen !== undefined),
      tap((seen) => (last = seen)),
      finalize(() => this.views.delete(activityId)),
      share(),
    );
    this.views.set(activityId, view);
    return view;
  }

  private async look(activityId: string, last: LiveView | undefined): Promise<LiveView | undefined> {
    const [books, jobs] = await Promise.all([this.books.read(activityId), this.locks.history(AUDIT_JOB)]);
    if (books === undefined) return undefined;
    const atMs = Date.now();
    const granted = books.status.grantedPackets;
    const before = last?.status.grantedPackets ?? granted;
    return {
      ...books,
      atMs,
      grantsPerSecond:
        last === undefined ? 0 : Math.round(((granted - before) / Math.max(1, atMs - last.atMs)) * 1_000),
      payoutsBehind: books.ledger && granted - books.ledger.rows - books.ledger.conflicts,
      faults: faultsOf(books),
      nodes: this.nodes.all(),
      jobs: jobs.slice(0, 10),
    };
  }
}
