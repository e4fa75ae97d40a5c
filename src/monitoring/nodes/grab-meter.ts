import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { RedPacketController, type GrabResult } from 'luanest/red-packet';
import { type Observable, tap } from 'rxjs';

const KEPT = 2_048;

/** Grabs of one process. */
export interface GrabFigures {
  /** Grabs that returned a result, won or not, since the process started. Refused and failed requests are not counted. */
  readonly grabs: number;
  /** Grabs with the status `won`. Repeated grabs of a winner are not counted. */
  readonly won: number;
  /** Median latency of the last 2,048 grabs, ms; 0 before the first. */
  readonly p50Ms: number;
  /** 99th percentile of the same latencies, ms. */
  readonly p99Ms: number;
}

/** Measures the grabs of this process, from after the guards until the result is there. */
@Injectable()
export class GrabMeter implements NestInterceptor {
  private readonly latest = new Float64Array(KEPT);
  private grabs = 0;
  private won = 0;

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    if (context.getHandler() !== RedPacketController.prototype.grab) return next.handle();
    const started = performance.now();
    return next.handle().pipe(
      tap((answer) => {
        this.latest[this.grabs % KEPT] = performance.now() - started;
        this.grabs += 1;
        if ((answer as GrabResult).status === 'won') this.won += 1;
      }),
    );
  }

  figures(): GrabFigures {
    const sorted = this.latest.slice(0, Math.min(this.grabs, KEPT)).sort();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { grabs: this.grabs, won: this.won, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
