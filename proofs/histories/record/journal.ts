import { closeSync, existsSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/** An operation as a process recorded it. Times are of `nowMs`. */
export interface Recorded {
  /** Key of the history. */
  readonly key: string;
  /** `<process>-<number>` */
  readonly id: string;
  readonly client: string;
  readonly call: number;
  readonly input: unknown;
  /** Undefined: the process died before it knew the outcome. */
  readonly end?: End;
}

/**
 * How an operation ended. `wallMs`: the same moment as `at`, by the time of day. `closes`: how often the connection was closed
 * meanwhile, so that the call may have been sent again.
 */
export type End = { readonly at: number; readonly wallMs: number; readonly closes: number } & (
  | { readonly how: 'returned'; readonly output: unknown }
  | { readonly how: 'unknown' | 'no effect' }
  /** An error that no fault explains. */
  | { readonly how: 'failed'; readonly error: string }
);

/** A line of a journal. */
type Line = (Omit<Recorded, 'end'> & { readonly end?: End }) | { readonly id: string; readonly end: End };

/** Monotonic time of this machine, which all its processes share, ms. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns the same moment by both clocks. Reads them again if the process stood still in between. */
export function now(): { readonly at: number; readonly wallMs: number } {
  for (;;) {
    const at = nowMs();
    const wallMs = Date.now();
    if (nowMs() - at < 1) return { at, wallMs };
  }
}

/**
 * Records the operations of one process in a file. A call is in the file before it is made: a process that dies loses nothing that
 * may have had an effect.
 */
export class Journal {
  private readonly file: number;
  private count = 0;

  /** @param process name of the process, unique in the run */
  constructor(
    path: string,
    readonly process: string,
  ) {
    this.file = openSync(path, 'a');
  }

  newId(): string {
    this.count += 1;
    return `${this.process}-${this.count}`;
  }

  call(key: string, client: string, input: unknown, id = this.newId()): string {
    this.write({ key, id, client, call: nowMs(), input });
    return id;
  }

  end(id: string, end: End): void {
    this.write({ id, end });
  }

  /** Records an operation that this process only observes. */
  observed(operation: Recorded): void {
    this.write(operation);
  }

  private write(line: Line): void {
    writeSync(this.file, `${JSON.stringify(line)}\n`);
  }
}

/** Reads the journal of a process, also while the process writes it. */
export class JournalReader {
  private offset = 0;

  constructor(private readonly path: string) {}

  /** Returns the operations that were called since the last reading. */
  read(): Recorded[] {
    const bytes = this.newBytes();
    // A process that was killed may have left its last line unfinished.
    const end = bytes.lastIndexOf('\n') + 1;
    this.offset += end;
    const operations = new Map<string, Recorded>();
    for (const text of bytes.subarray(0, end).toString().split('\n').slice(0, -1)) {
      const line = JSON.parse(text) as Line;
      const called = 'call' in line ? line : operations.get(line.id);
      // Operations of an earlier reading may end after it.
      if (called !== undefined) operations.set(line.id, { ...called, ...(line.end && { end: line.end }) });
    }
    return [...operations.values()];
  }

  private newBytes(): Buffer {
    if (!existsSync(this.path)) return Buffer.alloc(0);
    const file = openSync(this.path, 'r');
    const bytes = Buffer.alloc(fstatSync(file).size - this.offset);
    const count = readSync(file, bytes, 0, bytes.length, this.offset);
    closeSync(file);
    return bytes.subarray(0, count);
  }
}
