/** Between the test and its pods. */

export interface PodJob {
  readonly url: string;
  readonly pod: string;
  readonly leaseMs: number;
}

/** Work that a pod does for the test, and answers. */
export type Order =
  | { readonly do: 'schedule'; readonly id: string; readonly delayMs: number }
  | { readonly do: 'publish'; readonly id: string; readonly key: string }
  | { readonly do: 'once'; readonly id: string }
  | { readonly do: 'lock'; readonly id: string }
  | { readonly do: 'limit'; readonly rule: string };

export interface Asked {
  readonly number: number;
  readonly order: Order;
}

export interface Reply {
  readonly number: number;
  readonly result?: unknown;
  /** The call failed, or the pod closes: the order may be repeated on another pod. */
  readonly failed?: string;
}

export type Kind = 'task' | 'message' | 'once' | 'lock' | 'tick';

/** Entry of the list NOTES in Redis, which has the order of all pods. */
export interface Note {
  readonly kind: Kind;
  readonly what: 'begin' | 'end';
  readonly id: string;
  readonly pod: string;
  /** Number of the attempt, of tasks and messages. */
  readonly attempt?: number;
  /** Fencing token, of locks and ticks. */
  readonly fence?: number;
}

/** Entry of the list TICKS: a tick of the job ended, or did not run, in a pod. */
export interface Tick {
  readonly pod: string;
  readonly slot: number;
  readonly status: string;
}

export const NOTES = 'notes';
export const TICKS = 'ticks';
export const COUNTER = 'counter';

/** Limit of each rule, over all pods. No window ends during the test. */
export const LIMIT = 150;
export const WINDOW_MS = 30 * 86_400_000;
export const RULES = ['fixed-window', 'sliding-window', 'sliding-log'] as const;
